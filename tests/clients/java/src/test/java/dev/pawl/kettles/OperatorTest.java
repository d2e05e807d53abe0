package dev.pawl.kettles;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.javaoperatorsdk.operator.junit.LocallyRunOperatorExtension;
import java.time.Duration;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An operator of the Java operator SDK, run by its extension: a namespace and a definition for each test, gone afterwards. */
class OperatorTest {
  private final KettleReconciler reconciler = new KettleReconciler();

  @RegisterExtension
  final LocallyRunOperatorExtension operator =
      LocallyRunOperatorExtension.builder().withReconciler(reconciler).build();

  private static void soon(ThrowingRunnable holds) {
    await().ignoreExceptions().atMost(Duration.ofSeconds(20)).pollInterval(Duration.ofMillis(50)).untilAsserted(holds);
  }

  private String water(String kettle) {
    return operator.get(ConfigMap.class, kettle + "-water").getData().get("cups");
  }

  @Test
  void reconcilesUntilItIsGone() {
    var made = operator.create(Kettle.of("tea", 2));
    soon(() -> assertEquals("Filled", operator.get(Kettle.class, "tea").getStatus().phase));
    assertEquals(1, operator.get(Kettle.class, "tea").getMetadata().getFinalizers().size());
    assertEquals(made.getMetadata().getUid(),
        operator.get(ConfigMap.class, "tea-water").getMetadata().getOwnerReferences().get(0).getUid());
    assertEquals("2", water("tea"));

    var read = operator.get(Kettle.class, "tea");
    read.getSpec().cups = 5;
    operator.replace(read);
    soon(() -> assertEquals("5", water("tea")));
    soon(() -> assertEquals(2L, operator.get(Kettle.class, "tea").getStatus().observedGeneration));

    // What somebody else changes of what it owns is put right.
    var spoiled = new ConfigMapBuilder(operator.get(ConfigMap.class, "tea-water")).addToData("cups", "99").build();
    operator.replace(spoiled);
    soon(() -> assertEquals("5", water("tea")));

    assertTrue(operator.delete(operator.get(Kettle.class, "tea")));
    soon(() -> assertEquals(null, operator.get(Kettle.class, "tea")));
    assertTrue(reconciler.emptied.contains("tea"));
    soon(() -> assertEquals(null, operator.get(ConfigMap.class, "tea-water")));
  }

  @Test
  void triesAgain() {
    operator.create(Kettle.of("flaky", 1));
    soon(() -> assertEquals("Filled", operator.get(Kettle.class, "flaky").getStatus().phase));
    assertTrue(reconciler.attempts.get("flaky").get() >= 2);
  }
}

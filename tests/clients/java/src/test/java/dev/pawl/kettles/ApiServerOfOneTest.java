package dev.pawl.kettles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.fabric8.kubeapitest.junit.EnableKubeAPIServer;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import org.junit.jupiter.api.RepeatedTest;

/** A server for each test, with a version and flags: nothing is left of the one before. */
class ApiServerOfOneTest {
  KubernetesClient client;

  @RepeatedTest(2)
  @EnableKubeAPIServer(kubeAPIVersion = "1.36.*", apiServerFlags = {"--min-request-timeout", "15"})
  void isFresh() {
    assertEquals("36", client.getKubernetesVersion().getMinor());
    assertNull(client.configMaps().inNamespace("default").withName("left").get());
    client.resource(new ConfigMapBuilder().withNewMetadata().withName("left").endMetadata().build()).inNamespace("default").create();
  }
}

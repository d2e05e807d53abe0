package dev.pawl.kettles;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fabric8.kubeapitest.KubeAPIServer;
import io.fabric8.kubeapitest.KubeAPIServerConfigBuilder;
import io.fabric8.kubeapitest.junit.EnableKubeAPIServer;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.javaoperatorsdk.operator.Operator;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** fabric8's API-server test module, which starts etcd and kube-apiserver out of KUBE_API_TEST_DIR: both are Pawl. */
@EnableKubeAPIServer
class ApiServerTest {
  static KubernetesClient client;

  private static KubernetesClient connect(String kubeconfig) {
    return new KubernetesClientBuilder().withConfig(Config.fromKubeconfig(kubeconfig)).build();
  }

  @BeforeAll
  static void define() {
    Definition.install(client);
  }

  @Test
  void theServerIsPawlAndServesCustomResources() {
    assertTrue(client.getKubernetesVersion().getGitVersion().contains("+pawl."), client.getKubernetesVersion().getGitVersion());
    client.resource(Kettle.of("one", 3)).inNamespace("default").create();
    assertEquals(12, client.resources(Kettle.class).inNamespace("default").withName("one").get().getSpec().limit);
  }

  /** An operator as it is started in production, and beside it what no kube-apiserver does alone: the namespace goes away. */
  @Test
  void anOperatorLooksAfterANamespaceUntilItIsGone() {
    var reconciler = new KettleReconciler();
    var operator = new Operator(settings -> settings.withKubernetesClient(client).withCloseClientOnStop(false));
    operator.register(reconciler, settings -> settings.settingNamespace("kitchen"));
    client.resource(new NamespaceBuilder().withNewMetadata().withName("kitchen").endMetadata().build()).create();
    operator.start();
    try {
      var kettles = client.resources(Kettle.class).inNamespace("kitchen");
      kettles.resource(Kettle.of("tea", 2)).create();
      kettles.withName("tea").waitUntilCondition(
          kettle -> kettle.getStatus() != null && "Filled".equals(kettle.getStatus().phase), 20, TimeUnit.SECONDS);
      ConfigMap water = client.configMaps().inNamespace("kitchen").withName("tea-water").get();
      assertEquals("2", water.getData().get("cups"));
      client.namespaces().withName("kitchen").delete();
      client.namespaces().withName("kitchen").waitUntilCondition(Objects::isNull, 30, TimeUnit.SECONDS);
      // The finalizer was the operator's to take away.
      await().atMost(Duration.ofSeconds(5)).until(() -> reconciler.emptied.contains("tea"));
    } finally {
      operator.stop();
    }
  }

  @Test
  void serversSideBySide() {
    var offline = KubeAPIServerConfigBuilder.anAPIServerConfig().withOfflineMode(true).build();
    var first = new KubeAPIServer(offline);
    var second = new KubeAPIServer(offline);
    first.start();
    second.start();
    try (var one = connect(first.getKubeConfigYaml()); var two = connect(second.getKubeConfigYaml())) {
      assertNotEquals(one.getMasterUrl(), two.getMasterUrl());
      Definition.install(one);
      one.resource(Kettle.of("only", 1)).inNamespace("default").create();
      assertEquals(0, two.apiextensions().v1().customResourceDefinitions().list().getItems().size());
    } finally {
      first.stop();
      second.stop();
    }
  }
}

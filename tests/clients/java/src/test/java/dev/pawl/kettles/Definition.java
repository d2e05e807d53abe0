package dev.pawl.kettles;

import io.fabric8.kubernetes.api.model.apiextensions.v1.CustomResourceDefinition;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.concurrent.TimeUnit;

/** The definition as the Maven plugin generates it. */
final class Definition {
  static final String NAME = "kettles.java.example.com";

  private Definition() {}

  static CustomResourceDefinition install(KubernetesClient client) {
    var definitions = client.apiextensions().v1().customResourceDefinitions();
    var file = Definition.class.getResourceAsStream("/META-INF/fabric8/" + NAME + "-v1.yml");
    definitions.load(file).create();
    return definitions.withName(NAME).waitUntilCondition(Definition::established, 30, TimeUnit.SECONDS);
  }

  static boolean established(CustomResourceDefinition definition) {
    return definition != null
        && definition.getStatus() != null
        && definition.getStatus().getConditions() != null
        && definition.getStatus().getConditions().stream()
            .anyMatch(condition -> condition.getType().equals("Established") && condition.getStatus().equals("True"));
  }

  static void remove(KubernetesClient client) {
    var definition = client.apiextensions().v1().customResourceDefinitions().withName(NAME);
    definition.delete();
    definition.waitUntilCondition(found -> found == null, 30, TimeUnit.SECONDS);
  }
}

package dev.pawl.kettles;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;

/** Clients whose watches are plain streams: the server does not speak them over websockets, which this client tries first. */
final class Connection {
  private Connection() {}

  /** To the server of KUBECONFIG. */
  static KubernetesClient open() {
    return open(Config.autoConfigure(null));
  }

  /** To the server of a kubeconfig's text. */
  static KubernetesClient open(String kubeconfig) {
    return open(Config.fromKubeconfig(kubeconfig));
  }

  private static KubernetesClient open(Config config) {
    return new KubernetesClientBuilder().withConfig(new ConfigBuilder(config).withOnlyHttpWatches(true).build()).build();
  }
}

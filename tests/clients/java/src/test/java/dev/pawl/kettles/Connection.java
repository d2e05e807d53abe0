package dev.pawl.kettles;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;

/** A client of the server of KUBECONFIG. */
final class Connection {
  private Connection() {}

  /** Watches are plain streams: the server does not speak them over websockets, which this client tries first. */
  static KubernetesClient open() {
    var config = new ConfigBuilder(Config.autoConfigure(null)).withOnlyHttpWatches(true).build();
    return new KubernetesClientBuilder().withConfig(config).build();
  }
}

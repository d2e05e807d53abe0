package dev.pawl.kettles;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.DeletionPropagation;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.KubernetesResourceList;
import io.fabric8.kubernetes.api.model.ListOptionsBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.MixedOperation;
import io.fabric8.kubernetes.client.dsl.NonNamespaceOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** fabric8's client on a typed custom resource, against the server of KUBECONFIG. */
class ClientTest {
  private static final String NAMESPACE = "fabric";
  private static KubernetesClient client;
  private static NonNamespaceOperation<Kettle, KubernetesResourceList<Kettle>, Resource<Kettle>> kettles;

  @BeforeAll
  static void define() {
    client = new KubernetesClientBuilder().build();
    client.resource(new NamespaceBuilder().withNewMetadata().withName(NAMESPACE).endMetadata().build()).create();
    Definition.install(client);
    MixedOperation<Kettle, KubernetesResourceList<Kettle>, Resource<Kettle>> everywhere = client.resources(Kettle.class);
    kettles = everywhere.inNamespace(NAMESPACE);
  }

  @AfterAll
  static void leave() {
    Definition.remove(client);
    client.namespaces().withName(NAMESPACE).delete();
    client.namespaces().withName(NAMESPACE).waitUntilCondition(found -> found == null, 30, TimeUnit.SECONDS);
    client.close();
  }

  private static KubernetesClientException refused(int code, Executable call) {
    var refusal = assertThrows(KubernetesClientException.class, call);
    assertEquals(code, refusal.getCode(), refusal.getMessage());
    return refusal;
  }

  @Test
  void createAndRead() {
    var made = kettles.resource(Kettle.of("made", 3)).create();
    assertEquals(12, made.getSpec().limit);
    assertEquals(1L, made.getMetadata().getGeneration());
    assertEquals(Serialization.asJson(made), Serialization.asJson(kettles.withName("made").get()));
    assertNull(kettles.withName("absent").get());
    refused(409, () -> kettles.resource(Kettle.of("made", 3)).create());
    assertTrue(kettles.list().getItems().stream().anyMatch(kettle -> kettle.getMetadata().getUid().equals(made.getMetadata().getUid())));
  }

  @Test
  void refusals() {
    var refusal = refused(422, () -> kettles.resource(Kettle.of("bad", 13)).create());
    assertEquals("spec", refusal.getStatus().getDetails().getCauses().get(0).getField());
    assertTrue(refusal.getMessage().contains("more cups than the limit"), refusal.getMessage());
    refusal = refused(422, () -> kettles.resource(Kettle.of("bad", -1)).create());
    assertEquals("spec.cups", refusal.getStatus().getDetails().getCauses().get(0).getField());
    refusal = refused(422, () -> kettles.resource(Kettle.of("Not_Valid", 1)).create());
    assertEquals("metadata.name", refusal.getStatus().getDetails().getCauses().get(0).getField());
  }

  @Test
  void changes() {
    var made = kettles.resource(Kettle.of("changed", 1)).create();
    var edited = kettles.withName("changed").edit(kettle -> {
      kettle.getSpec().cups = 2;
      kettle.getSpec().color = "blue";
      return kettle;
    });
    assertEquals(2, edited.getSpec().cups);
    assertEquals(2L, edited.getMetadata().getGeneration());
    var merged = kettles.withName("changed").patch(PatchContext.of(PatchType.JSON_MERGE), "{\"spec\":{\"color\":null,\"cups\":3}}");
    assertEquals(3, merged.getSpec().cups);
    assertNull(merged.getSpec().color);
    var patched = kettles.withName("changed")
        .patch(PatchContext.of(PatchType.JSON), "[{\"op\":\"replace\",\"path\":\"/spec/cups\",\"value\":4}]");
    assertEquals(4, patched.getSpec().cups);
    refused(415, () -> kettles.withName("changed").patch(PatchContext.of(PatchType.STRATEGIC_MERGE), "{\"spec\":{\"cups\":5}}"));
    refused(422, () -> kettles.withName("changed").patch(PatchContext.of(PatchType.JSON_MERGE), "{\"spec\":{\"cups\":50}}"));
    made.getSpec().cups = 6;
    refused(409, () -> kettles.resource(made).update());
    made.getMetadata().setResourceVersion(null);
    assertEquals(6, kettles.resource(made).update().getSpec().cups);
  }

  @Test
  void status() {
    kettles.resource(Kettle.of("status", 1)).create();
    var kettle = kettles.withName("status").get();
    kettle.setStatus(new Kettle.Status());
    kettle.getStatus().phase = "Boiling";
    kettle.getSpec().cups = 9;
    var updated = kettles.resource(kettle).updateStatus();
    assertEquals("Boiling", updated.getStatus().phase);
    assertEquals(1, updated.getSpec().cups);
    updated = kettles.withName("status").editStatus(found -> {
      found.getStatus().phase = "Hot";
      return found;
    });
    assertEquals("Hot", updated.getStatus().phase);
    updated.getStatus().phase = "Cold";
    updated.getMetadata().setResourceVersion(null);
    // Not of the status: it is left as it is.
    assertEquals("Hot", kettles.resource(updated).update().getStatus().phase);
    assertEquals(1L, kettles.withName("status").get().getMetadata().getGeneration());
  }

  @Test
  void scale() {
    kettles.resource(Kettle.of("scaled", 1)).create();
    var scale = kettles.withName("scaled").scale();
    assertEquals(1, scale.getSpec().getReplicas());
    scale.getSpec().setReplicas(5);
    assertEquals(5, kettles.withName("scaled").scale(scale).getSpec().getReplicas());
    assertEquals(5, kettles.withName("scaled").get().getSpec().cups);
  }

  @Test
  void apply() {
    var kettle = Kettle.of("applied", 2);
    kettle.getSpec().notes = Map.of("one", "1");
    assertEquals("Apply", kettles.resource(kettle).fieldManager("one").serverSideApply()
        .getMetadata().getManagedFields().get(0).getOperation());
    var other = Kettle.of("applied", 2);
    other.getSpec().notes = Map.of("two", "2");
    assertEquals(Map.of("one", "1", "two", "2"), kettles.resource(other).fieldManager("two").serverSideApply().getSpec().notes);
    other.getSpec().cups = 3;
    var conflict = refused(409, () -> kettles.resource(other).fieldManager("two").serverSideApply());
    assertEquals(".spec.cups", conflict.getStatus().getDetails().getCauses().get(0).getField());
    assertEquals(3, kettles.resource(other).fieldManager("two").forceConflicts().serverSideApply().getSpec().cups);
    // What nobody applies any more goes.
    other.getSpec().notes = null;
    assertEquals(Map.of("one", "1"), kettles.resource(other).fieldManager("two").serverSideApply().getSpec().notes);
  }

  @Test
  void pagesAndSelectors() {
    for (var index = 0; index < 5; index++) {
      var kettle = Kettle.of("page-" + index, 1);
      kettle.getMetadata().setLabels(Map.of("page", "yes"));
      kettle.getSpec().color = index % 2 == 0 ? "even" : "odd";
      kettles.resource(kettle).create();
    }
    var names = new ArrayList<String>();
    var sizes = new ArrayList<Integer>();
    String more = null;
    do {
      var page = kettles.withLabel("page", "yes").list(new ListOptionsBuilder().withLimit(2L).withContinue(more).build());
      page.getItems().forEach(kettle -> names.add(kettle.getMetadata().getName()));
      sizes.add(page.getItems().size());
      more = page.getMetadata().getContinue();
    } while (more != null && !more.isEmpty());
    assertEquals(List.of("page-0", "page-1", "page-2", "page-3", "page-4"), names);
    assertEquals(List.of(2, 2, 1), sizes);
    assertEquals(2, kettles.withField("spec.color", "odd").list().getItems().size());
    assertEquals(3, client.resources(Kettle.class).inAnyNamespace().withField("spec.color", "even").list().getItems().size());
    kettles.withLabel("page", "yes").delete();
    assertEquals(0, kettles.withLabel("page", "yes").list().getItems().size());
  }

  /** What a watch shows of a kettle that comes, changes and goes. */
  private static void watch(KubernetesClient watching, String name, String way) {
    var seen = new CopyOnWriteArrayList<String>();
    var watcher = new Watcher<Kettle>() {
      @Override
      public void eventReceived(Action action, Kettle kettle) {
        seen.add(action + " " + kettle.getMetadata().getName() + " " + kettle.getSpec().cups);
      }

      @Override
      public void onClose(WatcherException cause) {
        seen.add("closed: " + cause);
      }
    };
    // From here on: a stream is asked for when `watch` has returned, and nothing may be missed until the server hears of it.
    var since = new ListOptionsBuilder().withResourceVersion(kettles.list().getMetadata().getResourceVersion()).build();
    var watched = watching.resources(Kettle.class).inNamespace(NAMESPACE).withLabel("watched", name);
    try (var watch = watched.watch(since, watcher)) {
      assertEquals(way, watch.getClass().getSimpleName());
      var kettle = Kettle.of(name, 1);
      kettle.getMetadata().setLabels(Map.of("watched", name));
      kettles.resource(kettle).create();
      kettles.withName(name).edit(found -> {
        found.getSpec().cups = 2;
        return found;
      });
      kettles.withName(name).delete();
      await().atMost(Duration.ofSeconds(15)).until(() -> seen.size() >= 3);
      assertEquals(List.of("ADDED " + name + " 1", "MODIFIED " + name + " 2", "DELETED " + name + " 2"), seen);
    }
  }

  @Test
  void watch() {
    watch(client, "by-socket", "WatchConnectionManager");
  }

  @Test
  void watchAsAStream() {
    var config = new ConfigBuilder(Config.autoConfigure(null)).withOnlyHttpWatches(true).build();
    try (var streaming = new KubernetesClientBuilder().withConfig(config).build()) {
      watch(streaming, "by-stream", "WatchHTTPManager");
    }
  }

  @Test
  void informer() throws Exception {
    var seen = new CopyOnWriteArrayList<String>();
    var before = Kettle.of("informed-0", 1);
    before.getMetadata().setLabels(Map.of("informed", "yes"));
    kettles.resource(before).create();
    var handler = new ResourceEventHandler<Kettle>() {
      @Override
      public void onAdd(Kettle kettle) {
        seen.add("add " + kettle.getMetadata().getName());
      }

      @Override
      public void onUpdate(Kettle old, Kettle kettle) {
        seen.add("update " + kettle.getMetadata().getName() + " " + old.getSpec().cups + " " + kettle.getSpec().cups);
      }

      @Override
      public void onDelete(Kettle kettle, boolean stateUnknown) {
        seen.add("delete " + kettle.getMetadata().getName());
      }
    };
    try (var informer = kettles.withLabel("informed").inform(handler)) {
      assertTrue(informer.hasSynced());
      informer.addIndexers(Map.of("cups", kettle -> List.of(String.valueOf(kettle.getSpec().cups))));
      var later = Kettle.of("informed-1", 3);
      later.getMetadata().setLabels(Map.of("informed", "yes"));
      kettles.resource(later).create();
      await().atMost(Duration.ofSeconds(15)).until(() -> seen.contains("add informed-1"));
      // The definition gets a field: the watch goes on.
      client.apiextensions().v1().customResourceDefinitions().withName(Definition.NAME).edit(definition -> {
        definition.getSpec().getVersions().get(0).getSchema().getOpenAPIV3Schema()
            .getProperties().get("spec").getProperties().get("color").setMaxLength(20L);
        return definition;
      });
      kettles.withName("informed-1").edit(found -> {
        found.getSpec().cups = 4;
        return found;
      });
      await().atMost(Duration.ofSeconds(15)).until(() -> seen.contains("update informed-1 3 4"));
      assertEquals(1, informer.getIndexer().byIndex("cups", "4").size());
      kettles.withLabel("informed").delete();
      await().atMost(Duration.ofSeconds(15)).until(() -> informer.getStore().list().isEmpty());
      assertEquals(
          List.of("add informed-0", "add informed-1", "update informed-1 3 4", "delete informed-0", "delete informed-1"), seen);
    }
  }

  @Test
  void objectsOfAnyKind() {
    var context = new ResourceDefinitionContext.Builder()
        .withGroup("java.example.com").withVersion("v1").withKind("Kettle").withPlural("kettles").withNamespaced(true).build();
    var any = client.genericKubernetesResources(context).inNamespace(NAMESPACE);
    kettles.resource(Kettle.of("any", 7)).create();
    assertEquals(7, (Integer) any.withName("any").get().get("spec", "cups"));
    var loaded = client.load(new java.io.ByteArrayInputStream(
        "apiVersion: java.example.com/v1\nkind: Kettle\nmetadata: {name: loaded}\nspec: {cups: 5}\n".getBytes()));
    loaded.inNamespace(NAMESPACE).serverSideApply();
    assertEquals(5, kettles.withName("loaded").get().getSpec().cups);
  }

  @Test
  void waiting() {
    var kettle = Kettle.of("awaited", 1);
    kettles.resource(kettle).create();
    var hot = CompletableFuture.supplyAsync(() -> kettles.withName("awaited").waitUntilCondition(
        found -> found != null && found.getStatus() != null && "Hot".equals(found.getStatus().phase), 20, TimeUnit.SECONDS));
    kettles.withName("awaited").patch(PatchContext.of(PatchType.JSON_MERGE), "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    kettle.setStatus(new Kettle.Status());
    kettle.getStatus().phase = "Hot";
    kettles.resource(kettle).patchStatus();
    assertEquals("Hot", hot.join().getStatus().phase);
  }

  private static ConfigMap owned(HasMetadata owner, String name) {
    var reference = new OwnerReferenceBuilder()
        .withApiVersion(owner.getApiVersion()).withKind(owner.getKind())
        .withName(owner.getMetadata().getName()).withUid(owner.getMetadata().getUid())
        .withBlockOwnerDeletion(true).build();
    var map = new ConfigMapBuilder().withNewMetadata().withName(name).withNamespace(NAMESPACE)
        .withOwnerReferences(reference).endMetadata().build();
    return client.resource(map).create();
  }

  @Test
  void propagation() {
    var maps = client.configMaps().inNamespace(NAMESPACE);
    for (var policy : DeletionPropagation.values()) {
      var name = "owner-" + policy.name().toLowerCase();
      owned(kettles.resource(Kettle.of(name, 1)).create(), name);
      if (policy == DeletionPropagation.FOREGROUND) {
        maps.withName(name).edit(map -> new ConfigMapBuilder(map).editMetadata().addToFinalizers("example.com/wait").endMetadata().build());
      }
      kettles.withName(name).withPropagationPolicy(policy).delete();
      switch (policy) {
        case FOREGROUND -> {
          assertEquals(List.of("foregroundDeletion"), kettles.withName(name).get().getMetadata().getFinalizers());
          maps.withName(name).waitUntilCondition(map -> map.getMetadata().getDeletionTimestamp() != null, 15, TimeUnit.SECONDS);
          maps.withName(name).edit(map -> new ConfigMapBuilder(map).editMetadata().withFinalizers().endMetadata().build());
          kettles.withName(name).waitUntilCondition(found -> found == null, 15, TimeUnit.SECONDS);
          assertNull(maps.withName(name).get());
        }
        case ORPHAN -> {
          kettles.withName(name).waitUntilCondition(found -> found == null, 15, TimeUnit.SECONDS);
          assertEquals(List.of(), maps.withName(name).get().getMetadata().getOwnerReferences());
        }
        case BACKGROUND -> {
          assertNull(kettles.withName(name).get());
          maps.withName(name).waitUntilCondition(found -> found == null, 15, TimeUnit.SECONDS);
        }
        default -> throw new AssertionError(policy);
      }
    }
  }

  private static CompletableFuture<?> candidate(KubernetesClient client, String identity, List<String> leaders) {
    var config = new LeaderElectionConfigBuilder()
        .withName("kettles").withReleaseOnCancel(true)
        .withLock(new LeaseLock(NAMESPACE, "kettles", identity))
        .withLeaseDuration(Duration.ofSeconds(3)).withRenewDeadline(Duration.ofSeconds(2)).withRetryPeriod(Duration.ofMillis(300))
        .withLeaderCallbacks(new LeaderCallbacks(() -> leaders.add(identity), () -> leaders.add("not " + identity), name -> {}))
        .build();
    return client.leaderElector().withConfig(config).build().start();
  }

  @Test
  void leaderElection() {
    var leaders = new CopyOnWriteArrayList<String>();
    var first = candidate(client, "first", leaders);
    await().atMost(Duration.ofSeconds(15)).until(() -> leaders.equals(List.of("first")));
    var second = candidate(client, "second", leaders);
    var lease = client.leases().inNamespace(NAMESPACE).withName("kettles");
    var renewed = lease.get().getSpec().getRenewTime();
    await().atMost(Duration.ofSeconds(15)).until(() -> lease.get().getSpec().getRenewTime().isAfter(renewed));
    assertEquals(List.of("first"), leaders);
    first.cancel(true);
    await().atMost(Duration.ofSeconds(15)).until(() -> leaders.contains("second"));
    assertEquals(List.of("first", "not first", "second"), leaders);
    assertEquals("second", lease.get().getSpec().getHolderIdentity());
    second.cancel(true);
  }
}

package dev.pawl.kettles;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.javaoperatorsdk.operator.api.config.informer.InformerEventSourceConfiguration;
import io.javaoperatorsdk.operator.api.reconciler.Cleaner;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.ControllerConfiguration;
import io.javaoperatorsdk.operator.api.reconciler.DeleteControl;
import io.javaoperatorsdk.operator.api.reconciler.EventSourceContext;
import io.javaoperatorsdk.operator.api.reconciler.Reconciler;
import io.javaoperatorsdk.operator.api.reconciler.UpdateControl;
import io.javaoperatorsdk.operator.processing.event.source.EventSource;
import io.javaoperatorsdk.operator.processing.event.source.informer.InformerEventSource;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Keeps a ConfigMap for every kettle, and says in its status what it did. */
@ControllerConfiguration(name = "kettles")
public class KettleReconciler implements Reconciler<Kettle>, Cleaner<Kettle> {

  /** How often each kettle was looked at. */
  public final Map<String, AtomicInteger> attempts = new ConcurrentHashMap<>();

  /** The kettles that were let go. */
  public final Set<String> emptied = ConcurrentHashMap.newKeySet();

  @Override
  public UpdateControl<Kettle> reconcile(Kettle kettle, Context<Kettle> context) {
    var name = kettle.getMetadata().getName();
    var attempt = attempts.computeIfAbsent(name, absent -> new AtomicInteger()).incrementAndGet();
    if (name.startsWith("flaky") && attempt == 1) {
      throw new IllegalStateException("the first attempt fails");
    }
    context.getClient().resource(water(kettle)).forceConflicts().serverSideApply();
    var status = new Kettle.Status();
    status.cups = kettle.getSpec().cups;
    status.phase = "Filled";
    status.observedGeneration = kettle.getMetadata().getGeneration();
    kettle.setStatus(status);
    return UpdateControl.patchStatus(kettle);
  }

  @Override
  public DeleteControl cleanup(Kettle kettle, Context<Kettle> context) {
    emptied.add(kettle.getMetadata().getName());
    return DeleteControl.defaultDelete();
  }

  @Override
  public List<EventSource<?, Kettle>> prepareEventSources(EventSourceContext<Kettle> context) {
    var waters =
        InformerEventSourceConfiguration.from(ConfigMap.class, Kettle.class)
            .withLabelSelector("kettle")
            .build();
    return List.of(new InformerEventSource<>(waters, context));
  }

  private static ConfigMap water(Kettle kettle) {
    var water =
        new ConfigMapBuilder()
            .withNewMetadata()
            .withName(kettle.getMetadata().getName() + "-water")
            .withNamespace(kettle.getMetadata().getNamespace())
            .addToLabels("kettle", kettle.getMetadata().getName())
            .endMetadata()
            .addToData("cups", String.valueOf(kettle.getSpec().cups))
            .build();
    water.addOwnerReference(kettle);
    return water;
  }
}

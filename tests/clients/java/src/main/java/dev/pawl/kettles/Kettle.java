package dev.pawl.kettles;

import io.fabric8.crd.generator.annotation.PrinterColumn;
import io.fabric8.crd.generator.annotation.SelectableField;
import io.fabric8.generator.annotation.Default;
import io.fabric8.generator.annotation.Max;
import io.fabric8.generator.annotation.Min;
import io.fabric8.generator.annotation.Required;
import io.fabric8.generator.annotation.ValidationRule;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.ShortNames;
import io.fabric8.kubernetes.model.annotation.SpecReplicas;
import io.fabric8.kubernetes.model.annotation.StatusReplicas;
import io.fabric8.kubernetes.model.annotation.Version;
import java.util.List;
import java.util.Map;

/** What the operator looks after. Its definition is generated from this class. */
@Group("java.example.com")
@Version("v1")
@ShortNames("kt")
public class Kettle extends CustomResource<Kettle.Spec, Kettle.Status> implements Namespaced {

  @ValidationRule(value = "self.cups <= self.limit", message = "more cups than the limit")
  public static class Spec {
    @Required
    @Min(0)
    @SpecReplicas
    @PrinterColumn(name = "Cups")
    public Integer cups;

    @Default("12")
    @Max(100)
    public Integer limit;

    @SelectableField public String color;

    public List<Spout> spouts;
    public Map<String, String> notes;
  }

  public static class Spout {
    @Required public String name;
    public Integer width;
  }

  public static class Status {
    @StatusReplicas public Integer cups;
    public String phase;
    public Long observedGeneration;
  }

  public static Kettle of(String name, int cups) {
    var kettle = new Kettle();
    kettle.getMetadata().setName(name);
    kettle.setSpec(new Spec());
    kettle.getSpec().cups = cups;
    return kettle;
  }
}

"""The official Python client on custom resources: ApiextensionsV1Api, CustomObjectsApi and the dynamic client.

Reads KUBECONFIG. One line per check; exit 1 when any failed.
"""
from kubernetes import client, config, dynamic
from kubernetes.dynamic.exceptions import ConflictError, ResourceNotFoundError, UnprocessibleEntityError

from checks import Events, check, gone, refused, run, until

NAMESPACE = "python-custom"
GROUP = "py.example.com"
DEFINITION = f"gizmos.{GROUP}"
# Where the custom objects are, for every method of CustomObjectsApi.
GIZMOS = {"group": GROUP, "version": "v1", "namespace": NAMESPACE, "plural": "gizmos"}
LAMPS = {"group": GROUP, "version": "v1", "plural": "lamps"}
MERGE, JSON, APPLY = (f"application/{kind}+{form}" for kind, form in (("merge-patch", "json"), ("json-patch", "json"), ("apply-patch", "yaml")))


def schema(**properties):
    return client.V1JSONSchemaProps(**properties)


def version(name, storage, **more):
    part = schema(type="object", required=["name"], properties={"name": schema(type="string"), "weight": schema(type="integer")})
    spec = schema(type="object", required=["size"], properties={
        "size": schema(type="integer", minimum=0),
        "color": schema(type="string", default="red", enum=["red", "blue"]),
        "anything": schema(type="object", x_kubernetes_preserve_unknown_fields=True),
        "port": schema(x_kubernetes_int_or_string=True),
        "parts": schema(type="array", items=part, x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["name"]),
    }, x_kubernetes_validations=[client.V1ValidationRule(rule="self.size < 1000", message="a gizmo is smaller than 1000")])
    status = schema(type="object", properties={"size": schema(type="integer"), "phase": schema(type="string")})
    return client.V1CustomResourceDefinitionVersion(
        name=name, served=True, storage=storage,
        schema=client.V1CustomResourceValidation(
            open_apiv3_schema=schema(type="object", properties={"spec": spec, "status": status})),
        subresources=client.V1CustomResourceSubresources(
            status={}, scale=client.V1CustomResourceSubresourceScale(spec_replicas_path=".spec.size", status_replicas_path=".status.size")),
        selectable_fields=[client.V1SelectableField(json_path=".spec.color")],
        additional_printer_columns=[client.V1CustomResourceColumnDefinition(name="Size", type="integer", json_path=".spec.size")],
        **more)


def definition(kind, scope, versions):
    plural = kind.lower() + "s"
    return client.V1CustomResourceDefinition(
        api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition",
        metadata=client.V1ObjectMeta(name=f"{plural}.{GROUP}"),
        spec=client.V1CustomResourceDefinitionSpec(
            group=GROUP, scope=scope, versions=versions,
            names=client.V1CustomResourceDefinitionNames(plural=plural, singular=kind.lower(), kind=kind, short_names=[kind.lower()[:2]])))


def gizmo(name, spec=None, **metadata):
    return {"apiVersion": f"{GROUP}/v1", "kind": "Gizmo", "metadata": {"name": name, **metadata}, "spec": {"size": 1, **(spec or {})}}


def established(api, name):
    def holds():
        conditions = api.read_custom_resource_definition(name).status.conditions or []
        return any(condition.type == "Established" and condition.status == "True" for condition in conditions)

    until(f"{name} is established", holds)


def dynamic_resource(api, kind="Gizmo"):
    return dynamic.DynamicClient(api.api_client).resources.get(api_version=f"{GROUP}/v1", kind=kind)


@check
def define(api, extensions):
    client.CoreV1Api().create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)))
    body = definition("Gizmo", "Namespaced", [version("v1", True), version("v1alpha1", False, deprecated=True)])
    made = extensions.create_custom_resource_definition(body)
    assert made.spec.names.list_kind == "GizmoList" and made.spec.conversion.strategy == "None", made.spec
    established(extensions, DEFINITION)
    read = extensions.read_custom_resource_definition_status(DEFINITION)
    assert read.status.stored_versions == ["v1"] and read.status.accepted_names.kind == "Gizmo", read.status
    rule = read.spec.versions[0].schema.open_apiv3_schema.properties["spec"].x_kubernetes_validations[0]
    assert rule.message == "a gizmo is smaller than 1000", rule
    extensions.create_custom_resource_definition(definition("Lamp", "Cluster", [version("v1", True)]))
    established(extensions, f"lamps.{GROUP}")
    assert {item.metadata.name for item in extensions.list_custom_resource_definition().items} >= {DEFINITION, f"lamps.{GROUP}"}


@check
def definitions_that_are_refused(api, extensions):
    refused(409, "AlreadyExists", lambda: extensions.create_custom_resource_definition(
        definition("Gizmo", "Namespaced", [version("v1", True)])))
    two = definition("Doll", "Namespaced", [version("v1", True), version("v2", True)])
    error = refused(422, "Invalid", lambda: extensions.create_custom_resource_definition(two))
    assert "must have exactly one version marked as storage version" in error.body, error.body


@check
def discovery(api, extensions):
    listed = {resource.name: resource for resource in api.get_api_resources(GROUP, "v1").resources}
    assert set(listed) == {"gizmos", "gizmos/status", "gizmos/scale", "lamps", "lamps/status", "lamps/scale"}, set(listed)
    assert listed["gizmos"].namespaced and not listed["lamps"].namespaced and listed["gizmos"].short_names == ["gi"]
    groups = {group.name: group for group in client.ApisApi().get_api_versions().groups}
    assert [found.version for found in groups[GROUP].versions] == ["v1", "v1alpha1"], groups[GROUP]


@check
def create_and_read(api, extensions):
    made = api.create_namespaced_custom_object(**GIZMOS, body=gizmo("a", {
        "anything": {"deep": [1, {"x": None}]}, "port": "http", "unknown": 1}, labels={"app": "x"}))
    assert made["spec"] == {"size": 1, "color": "red", "anything": {"deep": [1, {"x": None}]}, "port": "http"}, made["spec"]
    assert made["metadata"]["generation"] == 1 and made["metadata"]["uid"], made["metadata"]
    assert api.get_namespaced_custom_object(**GIZMOS, name="a") == made
    older = api.get_namespaced_custom_object(**{**GIZMOS, "version": "v1alpha1"}, name="a")
    assert older["apiVersion"] == f"{GROUP}/v1alpha1" and older["spec"] == made["spec"], older
    refused(409, "AlreadyExists", lambda: api.create_namespaced_custom_object(**GIZMOS, body=gizmo("a")))
    refused(404, "NotFound", lambda: api.get_namespaced_custom_object(**GIZMOS, name="absent"))


@check
def what_is_refused(api, extensions):
    for spec, said in (
        ({"size": "one"}, 'spec.size in body must be of type integer: \\"string\\"'),
        ({"size": -1}, "spec.size in body should be greater than or equal to 0"),
        ({"size": 1000}, "a gizmo is smaller than 1000"),
        ({"color": "pink"}, 'supported values: \\"red\\", \\"blue\\"'),
        ({"parts": [{"name": "x"}, {"name": "x"}]}, "spec.parts[1]: Duplicate value"),
    ):
        error = refused(422, "Invalid", lambda: api.create_namespaced_custom_object(**GIZMOS, body=gizmo("bad", spec)))
        assert said in error.body, error.body
    error = refused(400, "BadRequest", lambda: api.create_namespaced_custom_object(
        **GIZMOS, body=gizmo("bad", {"unknown": 1}), field_validation="Strict"))
    assert 'unknown field \\"spec.unknown\\"' in error.body, error.body


@check
def dry_run(api, extensions):
    api.create_namespaced_custom_object(**GIZMOS, body=gizmo("dry"), dry_run="All")
    refused(404, "NotFound", lambda: api.get_namespaced_custom_object(**GIZMOS, name="dry"))


@check
def pages(api, extensions):
    for index in range(11):
        api.create_namespaced_custom_object(**GIZMOS, body=gizmo(f"page-{index:02}", labels={"page": "yes"}))
    names, token, sizes, versions, remaining = [], None, [], set(), []
    while True:
        more = {"_continue": token} if token else {}
        part = api.list_namespaced_custom_object(**GIZMOS, limit=4, **more)
        assert part["kind"] == "GizmoList", part["kind"]
        names += [item["metadata"]["name"] for item in part["items"]]
        sizes.append(len(part["items"]))
        versions.add(part["metadata"]["resourceVersion"])
        remaining.append(part["metadata"].get("remainingItemCount"))
        token = part["metadata"].get("continue")
        if not token:
            break
        # Written between pages: no page shows it.
        api.create_namespaced_custom_object(**GIZMOS, body=gizmo(f"page-{len(sizes):02}a", labels={"page": "yes"}))
    assert names == ["a"] + [f"page-{index:02}" for index in range(11)], names
    assert (sizes, remaining, len(versions)) == ([4, 4, 4], [8, 4, None], 1), (sizes, remaining, versions)


@check
def select(api, extensions):
    api.create_namespaced_custom_object(**GIZMOS, body=gizmo("blue", {"color": "blue"}, labels={"app": "y"}))

    def names(function, **query):
        return [item["metadata"]["name"] for item in function(**query)["items"]]

    assert names(api.list_namespaced_custom_object, **GIZMOS, label_selector="app in (x, y)") == ["a", "blue"]
    assert names(api.list_namespaced_custom_object, **GIZMOS, field_selector="spec.color=blue") == ["blue"]
    everywhere = {"group": GROUP, "version": "v1", "field_selector": "spec.color=blue"}
    assert names(api.list_cluster_custom_object, **everywhere, plural="gizmos") == ["blue"]
    assert names(api.list_custom_object_for_all_namespaces, **everywhere, resource_plural="gizmos") == ["blue"]
    error = refused(400, "BadRequest", lambda: api.list_namespaced_custom_object(**GIZMOS, field_selector="spec.size=1"))
    assert "field label not supported: spec.size" in error.body, error.body


@check
def watch(api, extensions):
    start = api.list_namespaced_custom_object(**GIZMOS)["metadata"]["resourceVersion"]
    everything = Events(api.list_namespaced_custom_object, **GIZMOS, resource_version=start)
    blue = Events(api.list_namespaced_custom_object, **GIZMOS, resource_version=start, field_selector="spec.color=blue")
    api.create_namespaced_custom_object(**GIZMOS, body=gizmo("w"))
    api.patch_namespaced_custom_object(**GIZMOS, name="w", body={"spec": {"color": "blue"}}, _content_type=MERGE)
    api.patch_namespaced_custom_object(**GIZMOS, name="w", body={"spec": {"color": "red"}}, _content_type=MERGE)
    api.delete_namespaced_custom_object(**GIZMOS, name="w")
    seen = [(event["type"], event["object"]["spec"]["color"]) for event in everything.upto(4)]
    assert seen == [("ADDED", "red"), ("MODIFIED", "blue"), ("MODIFIED", "red"), ("DELETED", "red")], seen
    seen = [event["type"] for event in blue.upto(2)]
    assert seen == ["ADDED", "DELETED"], seen


@check
def update(api, extensions):
    read = api.get_namespaced_custom_object(**GIZMOS, name="a")
    read["spec"]["size"] = 2
    changed = api.replace_namespaced_custom_object(**GIZMOS, name="a", body=read)
    assert changed["metadata"]["generation"] == 2, changed["metadata"]
    read["spec"]["size"] = 3
    refused(409, "Conflict", lambda: api.replace_namespaced_custom_object(**GIZMOS, name="a", body=read))


@check
def patch(api, extensions):
    def patched(body, kind):
        return api.patch_namespaced_custom_object(**GIZMOS, name="a", body=body, _content_type=kind)["spec"]

    assert patched({"spec": {"port": None, "size": 4}}, MERGE)["size"] == 4
    spec = patched([{"op": "test", "path": "/spec/size", "value": 4}, {"op": "add", "path": "/spec/parts", "value": [{"name": "x"}]}], JSON)
    assert spec["parts"] == [{"name": "x"}] and "port" not in spec, spec
    refused(422, "Invalid", lambda: patched([{"op": "test", "path": "/spec/size", "value": 5}], JSON))
    refused(415, "UnsupportedMediaType", lambda: patched({"spec": {"size": 5}}, "application/strategic-merge-patch+json"))
    refused(422, "Invalid", lambda: patched({"spec": {"size": 5000}}, MERGE))


@check
def status(api, extensions):
    before = api.get_namespaced_custom_object(**GIZMOS, name="a")
    body = {"spec": {"size": 77}, "status": {"phase": "Ready", "size": 4}}
    api.patch_namespaced_custom_object_status(**GIZMOS, name="a", body=body, _content_type=MERGE)
    read = api.get_namespaced_custom_object_status(**GIZMOS, name="a")
    assert read["status"] == body["status"] and read["spec"] == before["spec"], read
    assert read["metadata"]["generation"] == before["metadata"]["generation"]
    read["status"]["phase"] = "Done"
    read = api.replace_namespaced_custom_object_status(**GIZMOS, name="a", body=read)
    assert read["status"]["phase"] == "Done"
    del read["status"]
    assert api.replace_namespaced_custom_object(**GIZMOS, name="a", body=read)["status"]["phase"] == "Done"


@check
def scale(api, extensions):
    read = api.get_namespaced_custom_object_scale(**GIZMOS, name="a")
    assert (read["kind"], read["apiVersion"], read["spec"], read["status"]["replicas"]) == ("Scale", "autoscaling/v1", {"replicas": 4}, 4), read
    read["spec"]["replicas"] = 6
    api.replace_namespaced_custom_object_scale(**GIZMOS, name="a", body=read)
    api.patch_namespaced_custom_object_scale(**GIZMOS, name="a", body={"spec": {"replicas": 7}}, _content_type=MERGE)
    assert api.get_namespaced_custom_object(**GIZMOS, name="a")["spec"]["size"] == 7
    error = refused(422, "Invalid", lambda: api.patch_namespaced_custom_object_scale(
        **GIZMOS, name="a", body={"spec": {"replicas": 1000}}, _content_type=MERGE))
    assert "a gizmo is smaller than 1000" in error.body, error.body


@check
def apply(api, extensions):
    def applied(parts, manager, **options):
        body = gizmo("applied", {"parts": parts})
        api.patch_namespaced_custom_object(
            **GIZMOS, name="applied", body=body, field_manager=manager, _content_type=APPLY, **options)
        # The client drops the answer to a patch that creates.
        return api.get_namespaced_custom_object(**GIZMOS, name="applied")

    made = applied([{"name": "x", "weight": 1}], "one")
    assert made["metadata"]["managedFields"][0]["operation"] == "Apply", made["metadata"]["managedFields"]
    both = applied([{"name": "y", "weight": 2}], "two")
    assert both["spec"]["parts"] == [{"name": "x", "weight": 1}, {"name": "y", "weight": 2}], both["spec"]
    error = refused(409, "Conflict", lambda: applied([{"name": "x", "weight": 5}, {"name": "y", "weight": 2}], "two"))
    assert '.spec.parts[name=\\"x\\"].weight' in error.body, error.body
    taken = applied([{"name": "x", "weight": 5}, {"name": "y", "weight": 2}], "two", force=True)
    assert taken["spec"]["parts"][0]["weight"] == 5, taken["spec"]
    # Each still applies its own: what only one of them had goes with it.
    left = applied([{"name": "y", "weight": 2}], "two")
    assert left["spec"]["parts"] == [{"name": "x"}, {"name": "y", "weight": 2}], left["spec"]


@check
def cluster_scope(api, extensions):
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Lamp", "metadata": {"name": "l"}, "spec": {"size": 1}}
    made = api.create_cluster_custom_object(**LAMPS, body=body)
    assert "namespace" not in made["metadata"], made["metadata"]
    api.patch_cluster_custom_object(**LAMPS, name="l", body={"spec": {"size": 2}}, _content_type=MERGE)
    api.patch_cluster_custom_object_status(**LAMPS, name="l", body={"status": {"phase": "On"}}, _content_type=MERGE)
    read = api.get_cluster_custom_object(**LAMPS, name="l")
    assert (read["spec"]["size"], read["status"]["phase"]) == (2, "On"), read
    assert [item["metadata"]["name"] for item in api.list_cluster_custom_object(**LAMPS)["items"]] == ["l"]
    api.delete_cluster_custom_object(**LAMPS, name="l")
    gone(lambda: api.get_cluster_custom_object(**LAMPS, name="l"))


@check
def dynamic_client(api, extensions):
    gizmos = dynamic_resource(api)
    made = gizmos.create(body=gizmo("dyn", {"size": 3}), namespace=NAMESPACE)
    assert made.spec.color == "red"
    assert gizmos.get(name="dyn", namespace=NAMESPACE).metadata.uid == made.metadata.uid
    gizmos.patch(body={"spec": {"size": 4}}, name="dyn", namespace=NAMESPACE, content_type=MERGE)
    gizmos.status.patch(body={"status": {"phase": "Up"}}, name="dyn", namespace=NAMESPACE, content_type=MERGE)
    gizmos.scale.patch(body={"spec": {"replicas": 5}}, name="dyn", namespace=NAMESPACE, content_type=MERGE)
    read = gizmos.get(name="dyn", namespace=NAMESPACE)
    assert (read.spec.size, read.status.phase) == (5, "Up"), read
    first = next(iter(gizmos.watch(namespace=NAMESPACE, name="dyn", timeout=5)))
    assert (first["type"], first["object"].spec.size) == ("ADDED", 5), first
    try:
        gizmos.create(body=gizmo("bad", {"size": 1000}), namespace=NAMESPACE)
        raise AssertionError("created")
    except UnprocessibleEntityError as error:
        assert "a gizmo is smaller than 1000" in str(error.body), error.body
    gizmos.delete(name="dyn", namespace=NAMESPACE)


@check
def dynamic_apply(api, extensions):
    gizmos = dynamic_resource(api)

    def applied(size, manager, **options):
        return gizmos.server_side_apply(body=gizmo("dyn-ssa", {"size": size}, namespace=NAMESPACE), field_manager=manager, **options)

    made = applied(1, "one")
    assert applied(1, "one").metadata.resourceVersion == made.metadata.resourceVersion
    try:
        applied(2, "two")
        raise AssertionError("no conflict")
    except ConflictError as error:
        assert ".spec.size" in str(error.body), error.body
    assert applied(2, "two", force_conflicts=True).spec.size == 2


@check
def a_version_more(api, extensions):
    read = extensions.read_custom_resource_definition(DEFINITION)
    read.spec.versions.append(version("v2", False))
    extensions.replace_custom_resource_definition(DEFINITION, read)
    newer = until("the version is served", lambda: api.get_namespaced_custom_object(**{**GIZMOS, "version": "v2"}, name="a"))
    assert newer["apiVersion"] == f"{GROUP}/v2", newer
    assert api.get_namespaced_custom_object(**GIZMOS, name="a")["metadata"]["uid"] == newer["metadata"]["uid"]


@check
def patch_the_definition(api, extensions):
    body = [{"op": "replace", "path": "/spec/versions/1/served", "value": False}]
    extensions.patch_custom_resource_definition(DEFINITION, body, _content_type=JSON)
    gone(lambda: api.list_namespaced_custom_object(**{**GIZMOS, "version": "v1alpha1"}))


@check
def delete(api, extensions):
    gone_now = api.delete_namespaced_custom_object(**GIZMOS, name="a", propagation_policy="Background")
    assert gone_now["status"] == "Success" and gone_now["details"]["kind"] == "gizmos", gone_now
    refused(404, "NotFound", lambda: api.delete_namespaced_custom_object(**GIZMOS, name="a"))
    api.delete_collection_namespaced_custom_object(**GIZMOS, label_selector="page=yes")
    left = [item["metadata"]["name"] for item in api.list_namespaced_custom_object(**GIZMOS)["items"]]
    assert left == ["applied", "blue", "dyn-ssa"], left


@check
def delete_the_definition(api, extensions):
    start = api.list_namespaced_custom_object(**GIZMOS)["metadata"]["resourceVersion"]
    events = Events(api.list_namespaced_custom_object, **GIZMOS, resource_version=start)
    until("the watch is there", lambda: getattr(events.watch, "_resp", None))
    extensions.delete_custom_resource_definition(DEFINITION)
    seen = [(event["type"], event["object"]["metadata"]["name"]) for event in events.upto(3)]
    assert sorted(seen) == [("DELETED", name) for name in ("applied", "blue", "dyn-ssa")], seen
    gone(lambda: extensions.read_custom_resource_definition(DEFINITION))
    gone(lambda: api.list_namespaced_custom_object(**GIZMOS))
    try:
        dynamic.DynamicClient(api.api_client).resources.invalidate_cache()
        dynamic_resource(api)
        raise AssertionError("still discovered")
    except ResourceNotFoundError:
        pass
    extensions.delete_custom_resource_definition(f"lamps.{GROUP}")
    client.CoreV1Api().delete_namespace(NAMESPACE)
    gone(lambda: client.CoreV1Api().read_namespace(NAMESPACE))


config.load_kube_config()
run("python", client.CustomObjectsApi(), client.ApiextensionsV1Api())

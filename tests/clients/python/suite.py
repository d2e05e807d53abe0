"""The official Python client: create, read, watch, update, patch, delete, pages, apply.

Reads KUBECONFIG. One line per check; exit 1 when any failed.
"""
import base64
import time

from kubernetes import client, config, dynamic, watch
from kubernetes.dynamic.exceptions import ConflictError

from checks import Events, check, gone, refused, run

NAMESPACE = "python"


def config_map(name, data=None, **metadata):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, **metadata), data=data or {})


@check
def version(api):
    code = client.VersionApi(api.api_client).get_code()
    assert (code.major, code.minor) == ("1", "36"), code
    assert "+pawl." in code.git_version, code


@check
def discovery(api):
    names = {resource.name: resource for resource in api.get_api_resources().resources}
    assert names["configmaps"].namespaced and not names["namespaces"].namespaced
    assert "watch" in names["secrets"].verbs
    assert "v1" in client.CoreApi(api.api_client).get_api_versions().versions


@check
def create_namespace(api):
    made = api.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)))
    assert made.status.phase == "Active", made
    assert made.spec.finalizers == ["kubernetes"], made


@check
def create_and_read(api):
    made = api.create_namespaced_config_map(NAMESPACE, config_map("a", {"k": "v"}, labels={"app": "x"}))
    assert made.metadata.uid and int(made.metadata.resource_version) > 0
    read = api.read_namespaced_config_map("a", NAMESPACE)
    assert read.data == {"k": "v"} and read.metadata.uid == made.metadata.uid
    assert read.metadata.managed_fields[0].operation == "Update", read.metadata.managed_fields


@check
def create_twice(api):
    refused(409, "AlreadyExists", lambda: api.create_namespaced_config_map(NAMESPACE, config_map("a")))


@check
def read_absent(api):
    refused(404, "NotFound", lambda: api.read_namespaced_config_map("absent", NAMESPACE))


@check
def invalid(api):
    error = refused(422, "Invalid", lambda: api.create_namespaced_config_map(NAMESPACE, config_map("Not_Valid")))
    assert "metadata.name" in error.body, error.body


@check
def secret_with_string_data(api):
    body = client.V1Secret(metadata=client.V1ObjectMeta(name="s"), string_data={"password": "one"})
    made = api.create_namespaced_secret(NAMESPACE, body)
    assert made.type == "Opaque", made.type
    assert base64.b64decode(made.data["password"]) == b"one"
    assert made.string_data is None


@check
def list_and_select(api):
    listed = api.list_namespaced_config_map(NAMESPACE, label_selector="app=x")
    assert [item.metadata.name for item in listed.items] == ["a"]
    listed = api.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name!=a")
    assert "a" not in [item.metadata.name for item in listed.items]
    everywhere = api.list_config_map_for_all_namespaces(label_selector="app=x")
    assert len(everywhere.items) == 1


@check
def pages(api):
    for index in range(11):
        api.create_namespaced_config_map(NAMESPACE, config_map(f"page-{index:02}", labels={"page": "yes"}))
    names, token, sizes, versions = [], None, [], set()
    while True:
        part = api.list_namespaced_config_map(NAMESPACE, label_selector="page=yes", limit=4, _continue=token)
        names += [item.metadata.name for item in part.items]
        sizes.append(len(part.items))
        versions.add(part.metadata.resource_version)
        token = part.metadata._continue
        if not token:
            break
        # Written between pages: no page shows it.
        api.create_namespaced_config_map(NAMESPACE, config_map(f"page-0{len(sizes)}a", labels={"page": "yes"}))
    assert names == [f"page-{index:02}" for index in range(11)], names
    assert sizes == [4, 4, 3], sizes
    assert len(versions) == 1, versions
    refused(400, "BadRequest", lambda: api.list_namespaced_config_map(NAMESPACE, limit=4, _continue="nonsense"))


@check
def watch_from_a_list(api):
    start = api.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    events = Events(api.list_namespaced_config_map, NAMESPACE, resource_version=start)
    api.create_namespaced_config_map(NAMESPACE, config_map("w", {"n": "1"}))
    api.patch_namespaced_config_map("w", NAMESPACE, {"data": {"n": "2"}})
    api.delete_namespaced_config_map("w", NAMESPACE)
    seen = events.upto(3)
    assert [event["type"] for event in seen] == ["ADDED", "MODIFIED", "DELETED"], seen
    assert [event["object"].data["n"] for event in seen] == ["1", "2", "2"]
    versions = [int(event["object"].metadata.resource_version) for event in seen]
    assert versions == sorted(set(versions)) and versions[0] > int(start), versions


@check
def watch_with_a_selector(api):
    start = api.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    events = Events(api.list_namespaced_config_map, NAMESPACE, resource_version=start, label_selector="on=yes")
    api.create_namespaced_config_map(NAMESPACE, config_map("sel"))
    api.patch_namespaced_config_map("sel", NAMESPACE, {"metadata": {"labels": {"on": "yes"}}})
    api.patch_namespaced_config_map("sel", NAMESPACE, {"metadata": {"labels": {"on": "no"}}})
    assert [event["type"] for event in events.upto(2)] == ["ADDED", "DELETED"]


@check
def watch_from_the_start(api):
    events = Events(api.list_namespaced_config_map, NAMESPACE, label_selector="app=x")
    first = events.upto(1)[0]
    assert (first["type"], first["object"].metadata.name) == ("ADDED", "a"), first


@check
def watch_ends(api):
    began = time.monotonic()
    list(watch.Watch().stream(api.list_namespaced_config_map, NAMESPACE, timeout_seconds=1))
    assert 0.5 < time.monotonic() - began < 4


@check
def update(api):
    read = api.read_namespaced_config_map("a", NAMESPACE)
    read.data["k"] = "changed"
    changed = api.replace_namespaced_config_map("a", NAMESPACE, read)
    assert int(changed.metadata.resource_version) > int(read.metadata.resource_version)
    read.data["k"] = "from an old version"
    refused(409, "Conflict", lambda: api.replace_namespaced_config_map("a", NAMESPACE, read))
    assert api.read_namespaced_config_map("a", NAMESPACE).data == {"k": "changed"}


@check
def patch(api):
    # The client's default for a map is a strategic merge patch, for a list a JSON patch.
    patched = api.patch_namespaced_config_map("a", NAMESPACE, {"data": {"p": "1"}})
    assert patched.data == {"k": "changed", "p": "1"}
    patched = api.patch_namespaced_config_map(
        "a", NAMESPACE, [{"op": "replace", "path": "/data/p", "value": "2"}], _content_type="application/json-patch+json")
    assert patched.data["p"] == "2"
    patched = api.patch_namespaced_config_map(
        "a", NAMESPACE, {"data": {"p": None}}, _content_type="application/merge-patch+json")
    assert patched.data == {"k": "changed"}


@check
def dry_run(api):
    api.create_namespaced_config_map(NAMESPACE, config_map("dry"), dry_run="All")
    refused(404, "NotFound", lambda: api.read_namespaced_config_map("dry", NAMESPACE))


@check
def field_validation(api):
    body = {"metadata": {"name": "strict"}, "datum": {"a": "b"}}
    error = refused(400, "BadRequest", lambda: api.create_namespaced_config_map(NAMESPACE, body, field_validation="Strict"))
    assert 'unknown field \\"datum\\"' in error.body, error.body
    _, _, headers = api.create_namespaced_config_map_with_http_info(NAMESPACE, body, field_validation="Warn")
    assert 'unknown field \\"datum\\"' in headers.get("Warning", ""), dict(headers)


@check
def delete(api):
    gone = api.delete_namespaced_config_map("a", NAMESPACE)
    assert gone.status == "Success" and gone.details.name == "a", gone
    refused(404, "NotFound", lambda: api.delete_namespaced_config_map("a", NAMESPACE))
    wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="00000000-0000-0000-0000-000000000000"))
    refused(409, "Conflict", lambda: api.delete_namespaced_config_map("sel", NAMESPACE, body=wrong))


@check
def delete_collection(api):
    api.delete_collection_namespaced_config_map(NAMESPACE, label_selector="page=yes")
    assert api.list_namespaced_config_map(NAMESPACE, label_selector="page=yes").items == []
    assert api.read_namespaced_config_map("sel", NAMESPACE)


@check
def dynamic_client(api):
    resources = dynamic.DynamicClient(api.api_client)
    maps = resources.resources.get(api_version="v1", kind="ConfigMap")
    made = maps.create(body={"metadata": {"name": "dyn"}, "data": {"a": "1"}}, namespace=NAMESPACE)
    assert made.data.a == "1"
    assert maps.get(name="dyn", namespace=NAMESPACE).metadata.uid == made.metadata.uid
    maps.patch(body={"data": {"a": "2"}}, name="dyn", namespace=NAMESPACE, content_type="application/merge-patch+json")
    assert [item.metadata.name for item in maps.get(namespace=NAMESPACE, field_selector="metadata.name=dyn").items] == ["dyn"]
    first = next(iter(maps.watch(namespace=NAMESPACE, name="dyn", timeout=5)))
    assert (first["type"], first["object"].data.a) == ("ADDED", "2"), first
    maps.delete(name="dyn", namespace=NAMESPACE)


@check
def server_side_apply(api):
    maps = dynamic.DynamicClient(api.api_client).resources.get(api_version="v1", kind="ConfigMap")

    def apply(data, manager, **options):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ssa", "namespace": NAMESPACE}, "data": data}
        return maps.server_side_apply(body=body, field_manager=manager, **options)

    made = apply({"a": "1", "b": "1"}, "one")
    owner = made.metadata.managedFields[0]
    assert (owner.manager, owner.operation) == ("one", "Apply"), owner
    again = apply({"a": "1", "b": "1"}, "one")
    assert again.metadata.resourceVersion == made.metadata.resourceVersion
    try:
        apply({"a": "2"}, "two")
        raise AssertionError("no conflict")
    except ConflictError as error:
        assert 'conflict with "one": .data.a' in str(error.body).replace('\\"', '"'), error.body
    taken = apply({"a": "2"}, "two", force_conflicts=True)
    assert taken.data.to_dict() == {"a": "2", "b": "1"}, taken.data
    assert apply({}, "one").data.to_dict() == {"a": "2"}


@check
def deployments(api):
    apps = client.AppsV1Api(api.api_client)
    labels = {"app": "web"}
    body = client.V1Deployment(
        metadata=client.V1ObjectMeta(name="web"),
        spec=client.V1DeploymentSpec(
            replicas=2,
            selector=client.V1LabelSelector(match_labels=labels),
            template=client.V1PodTemplateSpec(
                metadata=client.V1ObjectMeta(labels=labels),
                spec=client.V1PodSpec(containers=[client.V1Container(name="web", image="registry.example/web:1")]))))
    made = apps.create_namespaced_deployment(NAMESPACE, body)
    assert made.spec.strategy.type == "RollingUpdate", made.spec.strategy
    assert made.spec.template.spec.restart_policy == "Always"
    scale = apps.read_namespaced_deployment_scale("web", NAMESPACE)
    scale.spec.replicas = 5
    apps.replace_namespaced_deployment_scale("web", NAMESPACE, scale)
    assert apps.read_namespaced_deployment("web", NAMESPACE).spec.replicas == 5
    apps.patch_namespaced_deployment_status("web", NAMESPACE, {"status": {"replicas": 3}})
    read = apps.read_namespaced_deployment_status("web", NAMESPACE)
    assert (read.status.replicas, read.spec.replicas) == (3, 5)
    # A strategic merge patch finds the container by its name.
    apps.patch_namespaced_deployment(
        "web", NAMESPACE, {"spec": {"template": {"spec": {"containers": [{"name": "web", "env": [{"name": "A", "value": "1"}]}]}}}})
    container = apps.read_namespaced_deployment("web", NAMESPACE).spec.template.spec.containers[0]
    assert container.image == "registry.example/web:1" and container.env[0].value == "1"
    apps.delete_namespaced_deployment("web", NAMESPACE, propagation_policy="Foreground")


@check
def reviews(api):
    access = client.AuthorizationV1Api(api.api_client)
    attributes = client.V1ResourceAttributes(verb="delete", resource="secrets", namespace=NAMESPACE)
    mine = access.create_self_subject_access_review(
        client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes)))
    assert mine.status.allowed
    other = access.create_subject_access_review(
        client.V1SubjectAccessReview(spec=client.V1SubjectAccessReviewSpec(user="nobody", resource_attributes=attributes)))
    assert not other.status.allowed


@check
def delete_namespace(api):
    api.delete_namespace(NAMESPACE)
    gone(lambda: api.read_namespace(NAMESPACE))


config.load_kube_config()
run("python", client.CoreV1Api())

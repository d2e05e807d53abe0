"""What the others build on: a namespace with a few objects, and where they are."""
from corpus import Scenario
from objects import POD, SELECTOR, TEMPLATE

CORE = "/api/v1/namespaces/d-hand"
APPS = "/apis/apps/v1/namespaces/d-hand"
MAPS = CORE + "/configmaps"
DRY = "?dryRun=All"
YAML = "application/yaml"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def space():
    s = Scenario("hand-space")
    s.ask("make", "POST", "/api/v1/namespaces", {"metadata": {"name": "d-hand"}})
    for name in ("one", "two", "three"):
        s.ask(f"map-{name}", "POST", MAPS, {"metadata": {"name": name, "labels": {"app": name}}, "data": {"a": "1"}})
    s.ask("deployment", "POST", APPS + "/deployments", deployment("web"))
    s.ask("pod", "POST", CORE + "/pods", {"metadata": {"name": "pod"}, "spec": POD})
    s.ask("account", "POST", CORE + "/serviceaccounts", {"metadata": {"name": "builder"}})
    return s


def deployment(name, **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": 1, "selector": SELECTOR, "template": TEMPLATE, **spec}}


def owner(name, **more):
    return {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "00000000-0000-0000-0000-00000000000" + str(len(name)), **more}

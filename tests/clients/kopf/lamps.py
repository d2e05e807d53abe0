"""An operator of lamps, as an author writes one. OPERATOR is what it calls itself in the status of what it handles."""
import os

import kopf
import kubernetes

ME = os.environ["OPERATOR"]
LAMPS = ("kopf.example.com", "v1", "lamps")


@kopf.on.startup()
def configure(settings, **_):
    kubernetes.config.load_kube_config()
    settings.persistence.finalizer = "kopf.example.com/operator"
    # A peer that was killed is taken for dead after so many seconds.
    settings.peering.lifetime = 5
    settings.posting.level = 20


@kopf.on.create(*LAMPS)
def create(spec, name, namespace, body, patch, retry, **_):
    if spec.get("flaky") and retry == 0:
        raise kopf.TemporaryError("the first attempt fails", delay=0.2)
    wiring = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-wiring"}, "data": {"watts": str(spec["watts"])}}
    kopf.adopt(wiring)
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, wiring)
    patch.status["handledBy"] = ME
    patch.status["attempts"] = retry + 1
    kopf.info(body, reason="Wired", message=f"{name} has its wiring")
    return {"wiring": f"{name}-wiring"}


@kopf.on.update(*LAMPS, field="spec.watts")
def rewire(old, new, name, namespace, patch, **_):
    kubernetes.client.CoreV1Api().patch_namespaced_config_map(f"{name}-wiring", namespace, {"data": {"watts": str(new)}})
    patch.status["handledBy"] = ME
    patch.status["change"] = f"{old} to {new}"


@kopf.on.resume(*LAMPS)
def resume(patch, status, **_):
    patch.status["resumed"] = status.get("resumed", 0) + 1


@kopf.on.delete(*LAMPS)
def remove(name, namespace, **_):
    kubernetes.client.CoreV1Api().create_namespaced_config_map(
        namespace, {"metadata": {"name": f"{name}-gone"}, "data": {"by": ME}})


@kopf.timer(*LAMPS, interval=0.5, when=lambda spec, **_: spec.get("color") == "green")
def tick(patch, status, **_):
    patch.status["ticks"] = status.get("ticks", 0) + 1


@kopf.daemon(*LAMPS, when=lambda spec, **_: spec.get("color") == "red", cancellation_timeout=1)
async def glow(stopped, name, namespace, **_):
    core = kubernetes.client.CoreV1Api()
    core.create_namespaced_config_map(namespace, {"metadata": {"name": f"{name}-glows"}})
    await stopped.wait()
    core.delete_namespaced_config_map(f"{name}-glows", namespace)


@kopf.on.event("v1", "configmaps", labels={"lamp": kopf.PRESENT})
def switched(type, labels, namespace, body, **_):
    """What happens to the objects of another kind, as it comes from the watch."""
    if type != "DELETED" and body.get("data", {}).get("on"):
        kubernetes.client.CustomObjectsApi().patch_namespaced_custom_object_status(
            *LAMPS[:2], namespace, LAMPS[2], labels["lamp"], {"status": {"on": body["data"]["on"]}},
            _content_type="application/merge-patch+json")

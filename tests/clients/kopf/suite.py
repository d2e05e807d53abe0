"""An operator of kopf, run as a process by `kopf run`: handled, retried, killed, restarted, and one of two peers.

Reads KUBECONFIG. One line per check; exit 1 when any failed.
"""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import yaml
from kubernetes import client, config

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "python"))
from checks import check, gone, run, until

NAMESPACE = "kopf"
LAMPS = {"group": "kopf.example.com", "version": "v1", "namespace": NAMESPACE, "plural": "lamps"}
PEERINGS = {"group": "kopf.dev", "version": "v1", "plural": "clusterkopfpeerings"}
MERGE = "application/merge-patch+json"
OPERATORS = []


class Operator:
    """One process of `kopf run`, up when this returns."""

    def __init__(self, name, *flags):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            liveness = f"http://127.0.0.1:{probe.getsockname()[1]}/healthz"
        self.log = pathlib.Path(tempfile.gettempdir()) / f"{name}.log"
        command = [sys.executable, "-m", "kopf", "run", "--verbose", f"--liveness={liveness}", *flags, HERE / "lamps.py"]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, "OPERATOR": name})
        OPERATORS.append(self)
        end = time.monotonic() + 30
        while True:
            assert self.process.poll() is None, self.said()
            try:
                with urllib.request.urlopen(liveness, timeout=5):
                    return
            except OSError:
                assert time.monotonic() < end, f"not alive within 30 s: {self.said()}"
                time.sleep(0.05)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(15) == 0, self.said()

    def said(self):
        return self.log.read_text(errors="replace")[-1200:]


def lamp(api, name, **spec):
    body = {"apiVersion": "kopf.example.com/v1", "kind": "Lamp", "metadata": {"name": name}, "spec": {"watts": 10, **spec}}
    return api.create_namespaced_custom_object(**LAMPS, body=body)


def read(api, name):
    return api.get_namespaced_custom_object(**LAMPS, name=name)


def status(api, name, field):
    """What the operator wrote into the status, or None."""
    return read(api, name).get("status", {}).get(field)


def change(api, name, **spec):
    api.patch_namespaced_custom_object(**LAMPS, name=name, body={"spec": spec}, _content_type=MERGE)


def wiring(core, name):
    return core.read_namespaced_config_map(f"{name}-wiring", NAMESPACE).data["watts"]


def remove(api, name):
    api.delete_namespaced_custom_object(**LAMPS, name=name)
    gone(lambda: read(api, name))


@check
def definitions(api, core):
    extensions = client.ApiextensionsV1Api()
    for body in yaml.safe_load_all((HERE / "definitions.yaml").read_text()):
        extensions.create_custom_resource_definition(body)

        def established():
            conditions = extensions.read_custom_resource_definition(body["metadata"]["name"]).status.conditions or []
            return any(condition.type == "Established" and condition.status == "True" for condition in conditions)

        until("it is established", established)
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    lamp(api, "early")


@check
def what_was_there_before_it(api, core):
    Operator("first", "--standalone", "-n", NAMESPACE)
    until("it is handled", lambda: status(api, "early", "handledBy") == "first")
    made = read(api, "early")
    assert made["metadata"]["finalizers"] == ["kopf.example.com/operator"], made["metadata"]
    assert made["status"]["create"] == {"wiring": "early-wiring"}, made["status"]


@check
def create(api, core):
    lamp(api, "a", watts=20)
    until("it is handled", lambda: status(api, "a", "handledBy") == "first")
    owned = core.read_namespaced_config_map("a-wiring", NAMESPACE)
    assert owned.data == {"watts": "20"}
    owner = owned.metadata.owner_references[0]
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Lamp", "a", read(api, "a")["metadata"]["uid"], True), owner


@check
def events(api, core):
    def reasons():
        found = core.list_namespaced_event(NAMESPACE, field_selector="involvedObject.kind=Lamp,involvedObject.name=a").items
        return {event.reason: event for event in found}

    wired = until("the event", lambda: reasons().get("Wired"))
    assert (wired.type, wired.message, wired.involved_object.api_version) == ("Normal", "a has its wiring", "kopf.example.com/v1"), wired
    assert wired.metadata.name.startswith("kopf-event-"), wired.metadata.name


@check
def retries(api, core):
    lamp(api, "flaky", flaky=True)
    until("the second attempt", lambda: status(api, "flaky", "attempts") == 2)


@check
def update(api, core):
    change(api, "a", watts=30)
    until("it is handled", lambda: status(api, "a", "change") == "20 to 30")
    assert wiring(core, "a") == "30"


@check
def timers(api, core):
    lamp(api, "green", color="green")
    until("three ticks", lambda: (status(api, "green", "ticks") or 0) >= 3)


@check
def daemons(api, core):
    lamp(api, "red", color="red")
    until("it glows", lambda: core.read_namespaced_config_map("red-glows", NAMESPACE))
    change(api, "red", color="white")
    gone(lambda: core.read_namespaced_config_map("red-glows", NAMESPACE))


@check
def objects_of_another_kind(api, core):
    core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "switch", "labels": {"lamp": "a"}}, "data": {"on": "yes"}})
    until("the event is handled", lambda: status(api, "a", "on") == "yes")
    core.patch_namespaced_config_map("switch", NAMESPACE, {"data": {"on": "no"}})
    until("the change is handled", lambda: status(api, "a", "on") == "no")


@check
def delete(api, core):
    remove(api, "flaky")
    assert core.read_namespaced_config_map("flaky-gone", NAMESPACE).data == {"by": "first"}
    gone(lambda: core.read_namespaced_config_map("flaky-wiring", NAMESPACE))


@check
def killed_and_restarted(api, core):
    OPERATORS[-1].kill()
    # All of this happens while it is away.
    lamp(api, "late")
    change(api, "a", watts=40)
    api.delete_namespaced_custom_object(**LAMPS, name="early")
    held = read(api, "early")["metadata"]
    assert held["deletionTimestamp"] and held["finalizers"] == ["kopf.example.com/operator"], held
    Operator("second", "--standalone", "-n", NAMESPACE)
    until("what was created is handled", lambda: status(api, "late", "handledBy") == "second")
    until("what was changed is handled", lambda: status(api, "a", "change") == "30 to 40")
    assert wiring(core, "a") == "40"
    gone(lambda: read(api, "early"))
    assert core.read_namespaced_config_map("early-gone", NAMESPACE).data == {"by": "second"}
    until("what it had seen is resumed", lambda: status(api, "green", "resumed") == 1)


@check
def the_schema_changes_under_it(api, core):
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/dimmed"
    client.ApiextensionsV1Api().patch_custom_resource_definition(
        "lamps.kopf.example.com", [{"op": "add", "path": path, "value": {"type": "boolean", "default": False}}],
        _content_type="application/json-patch+json")
    until("the default is there", lambda: read(api, "a")["spec"].get("dimmed") is False)
    change(api, "a", watts=50)
    until("it is handled", lambda: status(api, "a", "change") == "40 to 50")


@check
def stops_when_told(api, core):
    OPERATORS[-1].stop()


@check
def peering(api, core):
    peers = {"apiVersion": "kopf.dev/v1", "kind": "ClusterKopfPeering", "metadata": {"name": "lamps"}}
    api.create_cluster_custom_object(**PEERINGS, body=peers)

    def priorities():
        found = api.get_cluster_custom_object(**PEERINGS, name="lamps").get("status") or {}
        return sorted(peer["priority"] for peer in found.values())

    low = Operator("low", "--peering=lamps", "--priority=1", "-A")
    until("one peer", lambda: priorities() == [1])
    lamp(api, "one")
    until("it is handled", lambda: status(api, "one", "handledBy") == "low")
    high = Operator("high", "--peering=lamps", "--priority=9", "-A")
    until("two peers", lambda: priorities() == [1, 9])
    until("the first pauses", lambda: "Pausing operations" in low.said())
    lamp(api, "two")
    until("it is handled", lambda: status(api, "two", "handledBy") == "high")
    # One that is killed does not say goodbye: it is taken for dead after a while.
    high.kill()
    lamp(api, "three")
    until("it is handled", lambda: status(api, "three", "handledBy") == "low", within=30)
    until("the dead peer is struck", lambda: priorities() == [1], within=30)
    low.stop()
    until("nobody is left", lambda: priorities() == [])


@check
def all_is_let_go(api, core):
    last = Operator("last", "--standalone", "-n", NAMESPACE)
    for name in [item["metadata"]["name"] for item in api.list_namespaced_custom_object(**LAMPS)["items"]]:
        remove(api, name)
    last.stop()
    extensions = client.ApiextensionsV1Api()
    for name in ("lamps.kopf.example.com", "clusterkopfpeerings.kopf.dev", "kopfpeerings.kopf.dev"):
        extensions.delete_custom_resource_definition(name)
        gone(lambda: extensions.read_custom_resource_definition(name))
    core.delete_namespace(NAMESPACE)
    gone(lambda: core.read_namespace(NAMESPACE))


config.load_kube_config()
try:
    run("kopf", client.CustomObjectsApi(), client.CoreV1Api())
finally:
    for operator in OPERATORS:
        if operator.process.poll() is None:
            operator.kill()

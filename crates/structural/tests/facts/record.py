#!/usr/bin/env python3
"""Asks a real kube-apiserver what it says of schemas and objects, and writes the answers as facts.

    record.py SERVER TOKEN < cases.json > facts.json

A case has a schema and steps. `{"create": OBJECT}` posts an object; `{"schema": SCHEMA}` changes the schema;
`{"update": OBJECT}` puts the object of the last successful create; `{"status": OBJECT}` puts its status. Of every answer the causes and warnings are kept.
"""
import json, ssl, sys, time, urllib.request, urllib.error
from concurrent.futures import ThreadPoolExecutor

server, token = sys.argv[1:3]
context = ssl._create_unverified_context()
GROUP = "facts.example.com"


def ask(method, path, body=None):
    request = urllib.request.Request(server + path, method=method, data=json.dumps(body).encode() if body is not None else None)
    request.add_header("Authorization", "Bearer " + token)
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return answer.status, json.load(answer), answer.headers.get_all("Warning") or []
    except urllib.error.HTTPError as error:
        text = error.read()
        try:
            return error.code, json.loads(text), error.headers.get_all("Warning") or []
        except ValueError:
            return error.code, {"message": text.decode()}, []


def told(answer):
    status, body, warnings = answer
    out = {"code": status}
    if status >= 300:
        causes = body.get("details", {}).get("causes")
        if causes is None:
            out["message"] = body.get("message")
        else:
            out["causes"] = [[c.get("field", ""), c["reason"], c["message"]] for c in causes]
    if warnings:
        out["warnings"] = [w[len('299 - "'):-1].replace('\\"', '"').replace("\\\\", "\\") for w in warnings]
    return out


def definition(plural, schema, subresources):
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if subresources:
        version["subresources"] = subresources
    kind = plural[:1].upper() + plural[1:]
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Cluster", "versions": [version],
                     "names": {"plural": plural, "kind": kind, "listKind": kind + "List"}}}


def run(pair):
    index, case = pair
    plural = f"c{index}{int(time.time() * 1000) % 100000000}s"
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    kind = plural[:1].upper() + plural[1:]
    subresources = case.get("subresources")
    answer = ask("POST", crds, definition(plural, case["schema"], subresources))
    out = dict(case)
    out["accepted"] = told(answer)
    if answer[0] != 201:
        return out
    resource = f"/apis/{GROUP}/v1/{plural}"
    deadline = time.time() + 30
    while ask("GET", resource)[0] != 200 and time.time() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    steps, serial, current = [], 0, None
    for step in case["steps"]:
        step = dict(step)
        if "schema" in step:
            stored = ask("GET", f"{crds}/{plural}.{GROUP}")[1]
            stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = step["schema"]
            step["answer"] = told(ask("PUT", f"{crds}/{plural}.{GROUP}", stored))
            time.sleep(1.5)
        elif "create" in step:
            serial += 1
            body = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": f"o{serial}"}}
            body.update(step["create"])
            answer = ask("POST", resource, body)
            step["answer"] = told(answer)
            if answer[0] == 201:
                current = answer[1]
                keep = {k: v for k, v in current.items() if k not in ("apiVersion", "kind", "metadata")}
                if step.get("show"):
                    step["stored"] = keep
        else:
            verb = "update" if "update" in step else "status"
            name = current["metadata"]["name"]
            where = f"{resource}/{name}" + ("/status" if verb == "status" else "")
            fresh = ask("GET", f"{resource}/{name}")[1]
            body = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": fresh["metadata"]}
            body.update(step[verb])
            step["answer"] = told(ask("PUT", where, body))
        steps.append(step)
    out["steps"] = steps
    ask("DELETE", f"{crds}/{plural}.{GROUP}")
    return out


with ThreadPoolExecutor(8) as pool:
    facts = list(pool.map(run, enumerate(json.load(sys.stdin))))
print("[\n" + ",\n".join(json.dumps(fact, sort_keys=True, ensure_ascii=False) for fact in facts) + "\n]")

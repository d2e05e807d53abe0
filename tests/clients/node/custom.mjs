// The official JavaScript client on custom resources: CustomObjectsApi, KubernetesObjectApi, watches and informers.
// Reads KUBECONFIG. One line per check; exit 1 when any failed.
import assert from "node:assert/strict";
import * as k8s from "@kubernetes/client-node";
import { PATCHES, as, config, follow, refused, run, until } from "./checks.mjs";

const NAMESPACE = "node-custom";
const GROUP = "js.example.com";
const TOYS = { group: GROUP, version: "v1", namespace: NAMESPACE, plural: "toys" };
const PATH = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/toys`;
const DEFINITION = `toys.${GROUP}`;
const core = config.makeApiClient(k8s.CoreV1Api);
const extensions = config.makeApiClient(k8s.ApiextensionsV1Api);
const custom = config.makeApiClient(k8s.CustomObjectsApi);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);

const toy = (name, spec = {}, labels = undefined) => ({
  apiVersion: `${GROUP}/v1`,
  kind: "Toy",
  metadata: { name, namespace: NAMESPACE, labels },
  spec: { size: 1, ...spec },
});
const names = (list) => list.items.map((item) => item.metadata.name);

// As an author has it: a manifest.
const MANIFEST = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${DEFINITION}}
spec:
  group: ${GROUP}
  scope: Namespaced
  names: {plural: toys, singular: toy, kind: Toy, shortNames: [ty]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    selectableFields: [{jsonPath: .spec.color}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            x-kubernetes-validations: [{rule: self.size < 1000, message: a toy is smaller than 1000}]
            properties:
              size: {type: integer, minimum: 0}
              color: {type: string, default: red}
              anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, weight: {type: integer}}}
          status: {type: object, properties: {size: {type: integer}, phase: {type: string}}}
`;

const checks = {
  async "define by a manifest"() {
    await core.createNamespace({ body: { metadata: { name: NAMESPACE } } });
    const made = await objects.create(k8s.loadYaml(MANIFEST));
    assert.equal(made.spec.names.listKind, "ToyList");
    await until("it is established", async () => {
      const { status } = await extensions.readCustomResourceDefinition({ name: DEFINITION });
      return status.conditions?.some(({ type, status }) => type === "Established" && status === "True");
    });
    const read = await extensions.readCustomResourceDefinition({ name: DEFINITION });
    const spec = read.spec.versions[0].schema.openAPIV3Schema.properties.spec;
    assert.equal(spec.x_kubernetes_validations[0].message, "a toy is smaller than 1000");
    assert.deepEqual(read.status.storedVersions, ["v1"]);
  },

  async "discovery"() {
    const { resources } = await custom.getAPIResources({ group: GROUP, version: "v1" });
    assert.deepEqual(resources.map(({ name }) => name).sort(), ["toys", "toys/scale", "toys/status"]);
  },

  async "create and read"() {
    const made = await custom.createNamespacedCustomObject({
      ...TOYS, body: toy("a", { anything: { deep: [1, { x: null }] }, unknown: 1 }, { app: "x" }) });
    assert.deepEqual(made.spec, { size: 1, color: "red", anything: { deep: [1, { x: null }] } });
    assert.deepEqual(await custom.getNamespacedCustomObject({ ...TOYS, name: "a" }), made);
    await refused(409, "AlreadyExists", () => custom.createNamespacedCustomObject({ ...TOYS, body: toy("a") }));
    await refused(404, "NotFound", () => custom.getNamespacedCustomObject({ ...TOYS, name: "absent" }));
  },

  async "what is refused"() {
    for (const [spec, field, said] of [
      [{ size: "one" }, "spec.size", /must be of type integer: "string"/],
      [{ size: -1 }, "spec.size", /should be greater than or equal to 0/],
      [{ size: 1000 }, "spec", /a toy is smaller than 1000/],
      [{ parts: [{ name: "x" }, { name: "x" }] }, "spec.parts[1]", /Duplicate value/],
    ]) {
      const body = await refused(422, "Invalid", () => custom.createNamespacedCustomObject({ ...TOYS, body: toy("bad", spec) }));
      assert.equal(body.details.causes[0].field, field);
      assert.match(body.message, said);
    }
    const body = await refused(400, "BadRequest", () =>
      custom.createNamespacedCustomObject({ ...TOYS, body: toy("bad", { unknown: 1 }), fieldValidation: "Strict" }));
    assert.match(body.message, /unknown field "spec.unknown"/);
  },

  async "pages and selectors"() {
    for (let index = 0; index < 6; index++) {
      await custom.createNamespacedCustomObject({ ...TOYS, body: toy(`page-${index}`, {}, { page: "yes" }) });
    }
    const found = [];
    const sizes = [];
    let _continue;
    do {
      const part = await custom.listNamespacedCustomObject({ ...TOYS, labelSelector: "page=yes", limit: 4, _continue });
      found.push(...names(part));
      sizes.push(part.items.length);
      _continue = part.metadata.continue;
    } while (_continue);
    assert.deepEqual(sizes, [4, 2]);
    assert.deepEqual(found, [0, 1, 2, 3, 4, 5].map((index) => `page-${index}`));
    await custom.createNamespacedCustomObject({ ...TOYS, body: toy("blue", { color: "blue" }) });
    assert.deepEqual(names(await custom.listNamespacedCustomObject({ ...TOYS, fieldSelector: "spec.color=blue" })), ["blue"]);
    assert.deepEqual(names(await custom.listClusterCustomObject({ group: GROUP, version: "v1", plural: "toys", labelSelector: "app=x" })), ["a"]);
  },

  async watch() {
    const { metadata } = await custom.listNamespacedCustomObject(TOYS);
    const stream = await follow(PATH, { resourceVersion: metadata.resourceVersion, allowWatchBookmarks: true });
    await custom.createNamespacedCustomObject({ ...TOYS, body: toy("w") });
    await custom.patchNamespacedCustomObject({ ...TOYS, name: "w", body: { spec: { size: 2 } } }, as(PATCHES.merge));
    await custom.deleteNamespacedCustomObject({ ...TOYS, name: "w" });
    const changes = () => stream.seen.filter(([type]) => type !== "BOOKMARK");
    await until("three events", () => changes().length >= 3);
    stream.stop();
    assert.deepEqual(changes().map(([type, object]) => `${type} ${object.spec.size}`), ["ADDED 1", "MODIFIED 2", "DELETED 2"]);
  },

  async update() {
    const read = await custom.getNamespacedCustomObject({ ...TOYS, name: "a" });
    read.spec.size = 2;
    const changed = await custom.replaceNamespacedCustomObject({ ...TOYS, name: "a", body: read });
    assert.deepEqual([changed.spec.size, changed.metadata.generation], [2, 2]);
    await refused(409, "Conflict", () => custom.replaceNamespacedCustomObject({ ...TOYS, name: "a", body: read }));
  },

  async patch() {
    const patch = (body, type) => custom.patchNamespacedCustomObject({ ...TOYS, name: "a", body }, as(type));
    assert.equal((await patch([{ op: "replace", path: "/spec/size", value: 3 }], PATCHES.json)).spec.size, 3);
    assert.equal((await patch({ spec: { anything: null } }, PATCHES.merge)).spec.anything, undefined);
    await refused(415, "UnsupportedMediaType", () => patch({ spec: { size: 4 } }, PATCHES.strategic));
    await refused(422, "Invalid", () => patch({ spec: { size: 4000 } }, PATCHES.merge));
  },

  async "status and scale"() {
    const body = { spec: { size: 77 }, status: { phase: "Ready", size: 3 } };
    const patched = await custom.patchNamespacedCustomObjectStatus({ ...TOYS, name: "a", body }, as(PATCHES.merge));
    assert.deepEqual([patched.spec.size, patched.status], [3, body.status]);
    patched.status.phase = "Done";
    await custom.replaceNamespacedCustomObjectStatus({ ...TOYS, name: "a", body: patched });
    assert.equal((await custom.getNamespacedCustomObjectStatus({ ...TOYS, name: "a" })).status.phase, "Done");
    const scale = await custom.getNamespacedCustomObjectScale({ ...TOYS, name: "a" });
    assert.deepEqual([scale.kind, scale.spec, scale.status], ["Scale", { replicas: 3 }, { replicas: 3 }]);
    scale.spec.replicas = 5;
    await custom.replaceNamespacedCustomObjectScale({ ...TOYS, name: "a", body: scale });
    assert.equal((await custom.getNamespacedCustomObject({ ...TOYS, name: "a" })).spec.size, 5);
  },

  async "server-side apply"() {
    const apply = (fieldManager, parts, force) =>
      custom.patchNamespacedCustomObject(
        { ...TOYS, name: "ssa", body: toy("ssa", { parts }), fieldManager, force }, as(PATCHES.apply));
    await apply("one", [{ name: "x", weight: 1 }]);
    const both = await apply("two", [{ name: "y", weight: 2 }]);
    assert.deepEqual(both.spec.parts, [{ name: "x", weight: 1 }, { name: "y", weight: 2 }]);
    const conflict = await refused(409, "Conflict", () => apply("two", [{ name: "x", weight: 5 }]));
    assert.equal(conflict.details.causes[0].field, '.spec.parts[name="x"].weight');
    assert.equal((await apply("two", [{ name: "x", weight: 5 }], true)).spec.parts[0].weight, 5);
  },

  async "objects of any kind"() {
    const spec = toy("any");
    await objects.create(spec);
    const read = await objects.read(spec);
    assert.equal(read.spec.color, "red");
    read.spec.size = 2;
    assert.equal((await objects.replace(read)).spec.size, 2);
    const merged = await objects.patch(
      toy("any", { size: 3 }), undefined, undefined, undefined, undefined, k8s.PatchStrategy.MergePatch);
    assert.equal(merged.spec.size, 3);
    const applied = await objects.patch(
      toy("any", { size: 4 }), undefined, undefined, "any", true, k8s.PatchStrategy.ServerSideApply);
    assert.equal(applied.spec.size, 4);
    await refused(415, "UnsupportedMediaType", () => objects.patch(toy("any", { size: 5 })));
    assert.ok(names(await objects.list(`${GROUP}/v1`, "Toy", NAMESPACE)).includes("any"));
    await objects.delete(spec);
    await refused(404, "NotFound", () => objects.read(spec));
  },

  // A cache that lists and watches, and finds its way back when the watch ends.
  async informer() {
    const seen = [];
    const list = () => custom.listNamespacedCustomObject(TOYS);
    const informer = k8s.makeInformer(config, PATH, list);
    for (const verb of ["add", "update", "delete"]) informer.on(verb, (object) => seen.push(`${verb} ${object.metadata.name}`));
    let failure;
    informer.on("error", (error) => (failure = error));
    await informer.start();
    await until("what was there", () => seen.includes("add a"));
    assert.deepEqual(informer.list(NAMESPACE).map(({ metadata }) => metadata.name).sort(), names(await list()));
    await custom.createNamespacedCustomObject({ ...TOYS, body: toy("inf") });
    await until("the addition", () => seen.includes("add inf"));
    // The definition changes under it.
    const body = [{ op: "add", path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/grade", value: { type: "string", default: "new" } }];
    await extensions.patchCustomResourceDefinition({ name: DEFINITION, body }, as(PATCHES.json));
    await until("the new default", async () =>
      (await custom.getNamespacedCustomObject({ ...TOYS, name: "inf" })).spec.grade === "new");
    await custom.patchNamespacedCustomObject({ ...TOYS, name: "inf", body: { spec: { size: 9 } } }, as(PATCHES.merge));
    await until("the update", () => seen.includes("update inf"));
    assert.deepEqual([informer.get("inf", NAMESPACE).spec.size, informer.get("inf", NAMESPACE).spec.grade], [9, "new"]);
    await custom.deleteNamespacedCustomObject({ ...TOYS, name: "inf" });
    await until("the deletion", () => seen.includes("delete inf"));
    assert.equal(informer.get("inf", NAMESPACE), undefined);
    assert.equal(failure, undefined);
    await informer.stop();
  },

  async "informer with selectors"() {
    const list = () => custom.listNamespacedCustomObject({ ...TOYS, labelSelector: "page=yes", fieldSelector: "spec.color=red" });
    const cache = new k8s.ListWatch(PATH, new k8s.Watch(config), list, false, "page=yes", "spec.color=red");
    await cache.start();
    const held = () => cache.list(NAMESPACE).map(({ metadata }) => metadata.name).sort();
    await until("six toys", () => held().length === 6);
    await custom.patchNamespacedCustomObject({ ...TOYS, name: "page-0", body: { spec: { color: "blue" } } }, as(PATCHES.merge));
    await custom.patchNamespacedCustomObject({ ...TOYS, name: "page-1", body: { metadata: { labels: { page: "no" } } } }, as(PATCHES.merge));
    await until("four are left", () => held().length === 4);
    assert.deepEqual(held(), ["page-2", "page-3", "page-4", "page-5"]);
    await cache.stop();
  },

  async "delete and delete a collection"() {
    const gone = await custom.deleteNamespacedCustomObject({ ...TOYS, name: "a" });
    assert.equal(gone.status, "Success");
    await refused(404, "NotFound", () => custom.deleteNamespacedCustomObject({ ...TOYS, name: "a" }));
    await custom.deleteCollectionNamespacedCustomObject({ ...TOYS, labelSelector: "page=yes" });
    assert.deepEqual(names(await custom.listNamespacedCustomObject(TOYS)), ["blue", "page-1", "ssa"]);
  },

  async "delete the definition"() {
    const stream = await follow(PATH, {});
    await until("what is there", () => stream.seen.length >= 3);
    await extensions.deleteCustomResourceDefinition({ name: DEFINITION });
    await until("the end of the watch", () => stream.ended());
    const deleted = stream.seen.filter(([type]) => type === "DELETED").map(([, object]) => object.metadata.name);
    assert.deepEqual(deleted.sort(), ["blue", "page-1", "ssa"]);
    await until("the end of the definition", () =>
      extensions.readCustomResourceDefinition({ name: DEFINITION }).then(() => false, (error) => error.code === 404));
    await assert.rejects(() => custom.listNamespacedCustomObject(TOYS), { code: 404 });
    await core.deleteNamespace({ name: NAMESPACE });
    await until("the end of the namespace", () =>
      core.readNamespace({ name: NAMESPACE }).then(() => false, (error) => error.code === 404), 15_000);
  },
};

await run(checks);

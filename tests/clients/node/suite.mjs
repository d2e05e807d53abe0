// The official JavaScript client: create, read, watch, informer, update, patch, delete, pages.
// Reads KUBECONFIG. One line per check; exit 1 when any failed.
import assert from "node:assert/strict";
import * as k8s from "@kubernetes/client-node";
import { PATCHES, as, config, follow, refused, run, until } from "./checks.mjs";

const NAMESPACE = "node";
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);

const configMap = (name, data = {}, labels = {}) => ({ metadata: { name, namespace: NAMESPACE, labels }, data });

const checks = {
  async version() {
    const { major, minor, gitVersion } = await config.makeApiClient(k8s.VersionApi).getCode();
    assert.deepEqual([major, minor], ["1", "36"]);
    assert.match(gitVersion, /\+pawl\./);
  },

  async "create namespace"() {
    const made = await core.createNamespace({ body: { metadata: { name: NAMESPACE } } });
    assert.equal(made.status.phase, "Active");
  },

  async "create and read"() {
    const made = await core.createNamespacedConfigMap({ namespace: NAMESPACE, body: configMap("a", { k: "v" }, { app: "x" }) });
    assert.ok(made.metadata.uid);
    assert.ok(made.metadata.creationTimestamp instanceof Date);
    const read = await core.readNamespacedConfigMap({ name: "a", namespace: NAMESPACE });
    assert.deepEqual(read.data, { k: "v" });
  },

  async "create twice"() {
    await refused(409, "AlreadyExists", () => core.createNamespacedConfigMap({ namespace: NAMESPACE, body: configMap("a") }));
  },

  async "read what is absent"() {
    await refused(404, "NotFound", () => core.readNamespacedConfigMap({ name: "absent", namespace: NAMESPACE }));
  },

  async "an invalid name"() {
    const body = await refused(422, "Invalid", () =>
      core.createNamespacedConfigMap({ namespace: NAMESPACE, body: configMap("Not_Valid") }));
    assert.equal(body.details.causes[0].field, "metadata.name");
  },

  async "secret with stringData"() {
    const body = { metadata: { name: "s" }, stringData: { password: "one" } };
    const made = await core.createNamespacedSecret({ namespace: NAMESPACE, body });
    assert.equal(made.type, "Opaque");
    assert.equal(Buffer.from(made.data.password, "base64").toString(), "one");
  },

  async "list with selectors"() {
    const listed = await core.listNamespacedConfigMap({ namespace: NAMESPACE, labelSelector: "app=x" });
    assert.deepEqual(listed.items.map((item) => item.metadata.name), ["a"]);
  },

  async pages() {
    for (let index = 0; index < 7; index++) {
      await core.createNamespacedConfigMap({ namespace: NAMESPACE, body: configMap(`page-${index}`, {}, { page: "yes" }) });
    }
    const names = [];
    const sizes = [];
    let _continue;
    do {
      const part = await core.listNamespacedConfigMap({ namespace: NAMESPACE, labelSelector: "page=yes", limit: 3, _continue });
      names.push(...part.items.map((item) => item.metadata.name));
      sizes.push(part.items.length);
      _continue = part.metadata._continue;
    } while (_continue);
    assert.deepEqual(sizes, [3, 3, 1]);
    assert.equal(new Set(names).size, 7);
  },

  async watch() {
    const { metadata } = await core.listNamespacedConfigMap({ namespace: NAMESPACE });
    const stream = await follow(`/api/v1/namespaces/${NAMESPACE}/configmaps`, {
      resourceVersion: metadata.resourceVersion,
      allowWatchBookmarks: true,
    });
    await core.createNamespacedConfigMap({ namespace: NAMESPACE, body: configMap("w", { n: "1" }) });
    const read = await core.readNamespacedConfigMap({ name: "w", namespace: NAMESPACE });
    read.data.n = "2";
    await core.replaceNamespacedConfigMap({ name: "w", namespace: NAMESPACE, body: read });
    await core.deleteNamespacedConfigMap({ name: "w", namespace: NAMESPACE });
    const changes = () => stream.seen.filter(([type]) => type !== "BOOKMARK");
    await until("three events", () => changes().length >= 3);
    stream.stop();
    assert.deepEqual(changes().map(([type, object]) => `${type} ${object.data.n}`), ["ADDED 1", "MODIFIED 2", "DELETED 2"]);
  },

  async "watch ends after its time"() {
    const stream = await follow(`/api/v1/namespaces/${NAMESPACE}/configmaps`, { timeoutSeconds: 1 });
    await until("the end", () => stream.ended(), 5_000);
  },

  async informer() {
    const seen = [];
    const list = () => core.listNamespacedConfigMap({ namespace: NAMESPACE });
    const informer = k8s.makeInformer(config, `/api/v1/namespaces/${NAMESPACE}/configmaps`, list);
    for (const verb of ["add", "update", "delete"]) informer.on(verb, (object) => seen.push(`${verb} ${object.metadata.name}`));
    let failure;
    informer.on("error", (error) => (failure = error));
    await informer.start();
    await until("what was there", () => seen.includes("add a"));
    await core.createNamespacedConfigMap({ namespace: NAMESPACE, body: configMap("inf") });
    await until("the addition", () => seen.includes("add inf"));
    await core.patchNamespacedConfigMap({ name: "inf", namespace: NAMESPACE, body: { data: { a: "1" } } }, as(PATCHES.merge));
    await until("the update", () => seen.includes("update inf"));
    assert.equal(informer.get("inf", NAMESPACE).data.a, "1");
    await core.deleteNamespacedConfigMap({ name: "inf", namespace: NAMESPACE });
    await until("the deletion", () => seen.includes("delete inf"));
    assert.equal(failure, undefined);
    await informer.stop();
  },

  async update() {
    const read = await core.readNamespacedConfigMap({ name: "a", namespace: NAMESPACE });
    read.data.k = "changed";
    const changed = await core.replaceNamespacedConfigMap({ name: "a", namespace: NAMESPACE, body: read });
    assert.equal(changed.data.k, "changed");
    await refused(409, "Conflict", () => core.replaceNamespacedConfigMap({ name: "a", namespace: NAMESPACE, body: read }));
  },

  async patch() {
    const patch = (body, type) => core.patchNamespacedConfigMap({ name: "a", namespace: NAMESPACE, body }, as(type));
    assert.equal((await patch([{ op: "add", path: "/data/j", value: "1" }], PATCHES.json)).data.j, "1");
    assert.deepEqual((await patch({ data: { j: null, m: "1" } }, PATCHES.merge)).data, { k: "changed", m: "1" });
    assert.equal((await patch({ data: { s: "1" } }, PATCHES.strategic)).data.s, "1");
  },

  async "server-side apply"() {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ssa" }, data: { a: "1" } };
    const apply = (fieldManager, data, force) =>
      core.patchNamespacedConfigMap(
        { name: "ssa", namespace: NAMESPACE, body: { ...body, data }, fieldManager, force }, as(PATCHES.apply));
    const made = await apply("one", { a: "1" });
    assert.equal(made.metadata.managedFields[0].operation, "Apply");
    const conflict = await refused(409, "Conflict", () => apply("two", { a: "2" }));
    assert.equal(conflict.details.causes[0].field, ".data.a");
    assert.equal((await apply("two", { a: "2" }, true)).data.a, "2");
  },

  async "objects of any kind"() {
    const spec = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "any", namespace: NAMESPACE }, data: { a: "1" } };
    await objects.create(spec);
    const read = await objects.read(spec);
    assert.equal(read.data.a, "1");
    assert.equal((await objects.patch({ ...spec, data: { a: "2" } })).data.a, "2");
    assert.ok((await objects.list("v1", "ConfigMap", NAMESPACE)).items.length > 0);
    await objects.delete(spec);
  },

  async "field validation"() {
    // The typed client drops what it does not know; a merge patch is sent as it is.
    const said = await refused(422, "Invalid", () =>
      core.patchNamespacedConfigMap(
        { name: "a", namespace: NAMESPACE, body: { datum: { a: "b" } }, fieldValidation: "Strict" }, as(PATCHES.merge)));
    assert.match(said.message, /unknown field "datum"/);
  },

  async "deployments and scale"() {
    const labels = { app: "web" };
    const body = {
      metadata: { name: "web" },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "registry.example/web:1" }] } },
      },
    };
    const made = await apps.createNamespacedDeployment({ namespace: NAMESPACE, body });
    assert.equal(made.spec.replicas, 1);
    const scale = await apps.readNamespacedDeploymentScale({ name: "web", namespace: NAMESPACE });
    scale.spec.replicas = 4;
    await apps.replaceNamespacedDeploymentScale({ name: "web", namespace: NAMESPACE, body: scale });
    assert.equal((await apps.readNamespacedDeployment({ name: "web", namespace: NAMESPACE })).spec.replicas, 4);
  },

  async "delete and delete a collection"() {
    const gone = await core.deleteNamespacedConfigMap({ name: "a", namespace: NAMESPACE });
    assert.equal(gone.status, "Success");
    await refused(404, "NotFound", () => core.deleteNamespacedConfigMap({ name: "a", namespace: NAMESPACE }));
    await core.deleteCollectionNamespacedConfigMap({ namespace: NAMESPACE, labelSelector: "page=yes" });
    assert.equal((await core.listNamespacedConfigMap({ namespace: NAMESPACE, labelSelector: "page=yes" })).items.length, 0);
  },

  async "delete namespace"() {
    await core.deleteNamespace({ name: NAMESPACE });
    await until("the end of the namespace", () =>
      core.readNamespace({ name: NAMESPACE }).then(() => false, (error) => error.code === 404), 15_000);
  },
};

await run(checks);

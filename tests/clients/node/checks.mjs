// What the suites of the JavaScript client share: waiting, watching, what is refused, one line per check.
import assert from "node:assert/strict";
import * as k8s from "@kubernetes/client-node";

export const config = new k8s.KubeConfig();
config.loadFromDefault();

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export async function refused(code, reason, call) {
  try {
    await call();
  } catch (error) {
    assert.equal(error.code, code, `${error.code} ${error.body}`);
    const body = typeof error.body === "string" ? JSON.parse(error.body) : error.body;
    assert.equal(body.reason, reason, body.message);
    return body;
  }
  assert.fail(`not refused with ${code}`);
}

export async function until(what, holds, within = 10_000) {
  const end = Date.now() + within;
  while (Date.now() < end) {
    if (await holds()) return;
    await sleep(20);
  }
  assert.fail(`not within ${within} ms: ${what}`);
}

// Follows a path; `seen` fills with [type, object].
export async function follow(path, query) {
  const seen = [];
  let ended = false;
  const request = await new k8s.Watch(config).watch(
    path,
    query,
    (type, object) => seen.push([type, object]),
    () => (ended = true),
  );
  return { seen, stop: () => request.abort(), ended: () => ended };
}

export const PATCHES = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  apply: "application/apply-patch+yaml",
};
export const as = (type) => k8s.setHeaderOptions("Content-Type", type);

// Runs them in the order of their definition, and ends the process: exit 1 when any failed.
export async function run(checks) {
  let passed = 0;
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      passed++;
      console.log(`ok   node: ${name}`);
    } catch (error) {
      failed++;
      console.log(`FAIL node: ${name}`);
      console.log(`       | ${error.stack ?? error}`.slice(0, 1500));
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed || !passed ? 1 : 0);
}

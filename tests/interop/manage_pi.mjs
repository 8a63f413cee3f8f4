// node manage_pi.mjs ORACLE_PI_FOLDER REQUESTS ANSWERS          (both: one JSON object per line)
// The real SessionManager of pi does what a request asks; it works on the files themselves, so hand it copies.
// {op: "read", file}                 → everything that the manager says of a session
// {op: "fork", file, at, cwd, dir}   → the file of a fork: of the whole session, or of the path to the entry `at`
// {op: "contexts", file, full}       → the context at every entry, as a hash or in full; leaf, name, labels
// {op: "continue", file}             → appends a question and an answer, and reads again
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const { loadPi, scratch } = await import(pathToFileURL(path.join(path.resolve(process.argv[2]), "lib.mjs")).href);
scratch();
const pi = await loadPi();

function read(file) {
  const manager = pi.SessionManager.open(file);
  const entries = manager.getEntries();
  const tree = [];
  const stack = manager.getTree().toReversed().map((node) => [0, node]);
  while (stack.length > 0) {
    const [depth, node] = stack.pop();
    tree.push([depth, node.entry.id, node.label ?? null, node.labelTimestamp ?? null]);
    for (const child of node.children.toReversed()) stack.push([depth + 1, child]);
  }
  return {
    header: manager.getHeader(),
    name: manager.getSessionName() ?? null,
    leaf: manager.getLeafId(),
    entries,
    branch: manager.getBranch().map((entry) => entry.id),
    children: entries.slice(0, 20).map((entry) => manager.getChildren(entry.id).map((child) => child.id)),
    labels: Object.fromEntries(entries.map((entry) => [entry.id, manager.getLabel(entry.id)]).filter(([, label]) => label !== undefined)),
    tree,
    contextEntries: manager.buildContextEntries().map((entry) => entry.id),
    context: manager.buildSessionContext(),
  };
}

function fork({ file, at, cwd, dir }) {
  if (at === null) return { file: pi.SessionManager.forkFrom(file, cwd, dir).getSessionFile() };
  return { file: pi.SessionManager.open(file, dir, cwd).createBranchedSession(at) };
}

function contexts({ file, full }) {
  const manager = pi.SessionManager.open(file);
  const [leaf, entries, labels, contexts] = [manager.getLeafId(), manager.getEntries(), {}, {}];
  const stack = manager.getTree();
  while (stack.length > 0) {
    const node = stack.pop();
    if (node.label !== undefined) labels[node.entry.id] = [node.label, node.labelTimestamp ?? null];
    stack.push(...node.children);
  }
  for (const entry of entries) {
    manager.branch(entry.id);
    const context = manager.buildSessionContext();
    contexts[entry.id] = full ? context.messages : crypto.createHash("sha1").update(JSON.stringify(context)).digest("hex");
  }
  manager.branch(leaf);
  return { leaf, name: manager.getSessionName() ?? null, labels, contexts, active: manager.getBranch().map((entry) => entry.id) };
}

function goOn(file) {
  const manager = pi.SessionManager.open(file);
  const before = manager.getBranch().map((entry) => entry.id);
  manager.appendMessage({ role: "user", content: "go on", timestamp: 1 });
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  manager.appendMessage({ role: "assistant", content: [{ type: "text", text: "gone on" }], api: "a", provider: "p", model: "m", usage, stopReason: "stop", timestamp: 2 });
  return { before, after: read(file) };
}

for (const line of fs.readFileSync(process.argv[3], "utf8").split("\n").filter(Boolean)) {
  const request = JSON.parse(line);
  let answer;
  try {
    answer = request.op === "fork" ? fork(request) : request.op === "contexts" ? contexts(request) : request.op === "continue" ? goOn(request.file) : read(request.file);
  } catch (error) {
    answer = { error: String(error?.message ?? error) };
  }
  fs.appendFileSync(process.argv[4], `${JSON.stringify(answer)}\n`);
}

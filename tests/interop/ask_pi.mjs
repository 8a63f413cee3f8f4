// node ask_pi.mjs ORACLE_PI_FOLDER < REQUESTS > ANSWERS          (both: one JSON object per line)
// Asks the real pi about many session files in one process; the oracle's own scripts do the asking.
// Request: {key, file, normalize, modes: [MODE], views: [[ARGUMENT of treeview.mjs]], contexts: N}
// Answer:  {key, oracle: what oracle.mjs prints, trees: what treeview.mjs prints for all modes,
//           views: [[arguments, what treeview.mjs prints]],
//           spent: {tokens, cost} over all branches, contexts: [{index, branch, messages, model, thinkingLevel}, …], the first one at the leaf (index null)}
// Indexes count entries in file order: the ids of a version 1 file are new in every run.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const folder = path.resolve(process.argv[2]);
const script = (name) => pathToFileURL(path.join(folder, name)).href;
process.setMaxListeners(0); // every question makes a scratch folder of its own

const { copyInto, digestMessage, loadPi, scratch, sha1 } = await import(script("lib.mjs"));
const { describe } = await import(script("oracle.mjs"));
const home = process.env.PI_ORACLE_HOME ?? "/nonexistent-home";
process.env.PI_ORACLE_HOME = home;

let runs = 0;
const realWrite = process.stdout.write.bind(process.stdout);
/** Run one of the oracle's scripts again inside this process and give back what it prints. */
async function run(name, argv) {
  const before = process.argv;
  let printed = "";
  process.argv = [before[0], path.join(folder, name), ...argv];
  process.stdout.write = (chunk) => { printed += chunk; return true; };
  try {
    await import(`${script(name)}?run=${runs++}`);
  } catch (error) {
    return { failed: String(error?.message ?? error) };
  } finally {
    process.argv = before;
    process.stdout.write = realWrite;
  }
  return JSON.parse(printed);
}

/** The text of a system message as pi's getSystemMessageText gives it, with a word for each removed section, and the names of tools. */
function systemText(message) {
  const content = typeof message.content === "string" ? message.content : (message.content ?? []).filter((block) => block.type === "text").map((block) => block.text).join("\n");
  const sections = Object.entries(message.sections ?? {}).map(([name, text]) => text ?? `Removed system prompt section "${name}".`);
  const named = (words, tools) => (tools?.length ? `${words}: ${tools.map((tool) => tool.name).join(", ")}.` : "");
  return [content, ...sections, named("Tools added", message.toolsAdded), named("Tools removed", message.toolsRemoved)].filter((part) => part.length > 0).join("\n\n");
}

/** The text of a message as our command line gives it: text blocks joined by a newline. */
function textOf(message) {
  if (typeof message?.summary === "string") return message.summary;
  if (typeof message?.command === "string") return message.command;
  if (message?.role === "system") return systemText(message);
  if (typeof message?.content === "string") return message.content;
  if (!Array.isArray(message?.content)) return "";
  return message.content.filter((block) => block?.type === "text" && typeof block.text === "string").map((block) => block.text).join("\n");
}

function brief(message, entryIndex) {
  const text = textOf(message);
  const images = Array.isArray(message?.content) ? message.content.filter((block) => block?.type === "image").length : 0;
  return {
    role: message?.role ?? null,
    entry: entryIndex,
    sha1: digestMessage(message).sha1,
    text: text.slice(0, 300),
    textLength: text.length,
    textSha1: sha1(text.toWellFormed()),
    customType: message?.customType ?? null,
    images,
  };
}

/** Contexts at the leaf, at up to `wanted` branch tips and as many entries in between. */
function contexts(manager, wanted) {
  const entries = manager.getEntries();
  const indexById = new Map();
  const seen = new Map();
  entries.forEach((entry, index) => {
    indexById.set(entry?.id, index);
    seen.set(entry?.id, (seen.get(entry?.id) ?? 0) + 1);
  });
  const ends = (id) => {
    const visited = new Set();
    for (let at = id; at; at = entries[indexById.get(at)]?.parentId) {
      if (visited.has(at)) return false;
      visited.add(at);
      if (!indexById.has(at)) break;
    }
    return true;
  };
  const parents = new Set(entries.map((entry) => entry?.parentId));
  const usable = [...entries.keys()].filter((index) => {
    const id = entries[index]?.id;
    return typeof id === "string" && seen.get(id) === 1 && ends(id);
  });
  const tips = usable.filter((index) => !parents.has(entries[index].id));
  const step = Math.max(1, Math.floor(usable.length / Math.max(1, wanted)));
  const chosen = new Set([...tips.slice(-wanted), ...usable.filter((_, position) => position % step === 0).slice(0, wanted)]);
  return [null, ...[...chosen].sort((a, b) => a - b)].map((index) => {
    const out = { index };
    try {
      if (index !== null) manager.branch(entries[index].id);
      const context = manager.buildSessionContext();
      const sources = [];
      if (manager.buildSessionProjection)
        for (const item of manager.buildSessionProjection().entries) for (const _ of item.messages) sources.push(indexById.get(item.sourceEntry.id) ?? null);
      out.branch = manager.getBranch().map((entry) => indexById.get(entry.id));
      out.messages = context.messages.map((message, position) => brief(message, sources.length === context.messages.length ? sources[position] : null));
      out.thinkingLevel = context.thinkingLevel ?? null;
      out.model = context.model ?? null;
    } catch (error) {
      out.error = String(error?.message ?? error);
    }
    return out;
  });
}

/** Tokens and money as pi's own /session adds them up. */
function spent(manager) {
  try {
    const stats = full.mod.AgentSession.prototype.getSessionStats.call({ sessionManager: manager, getContextUsage: () => undefined });
    return { tokens: stats.tokens.total, cost: stats.cost };
  } catch (error) {
    return { error: String(error?.message ?? error) };
  }
}

const pi = await loadPi();
const full = await loadPi({ full: true });
for (const line of fs.readFileSync(0, "utf8").split("\n")) {
  if (!line.trim()) continue;
  const request = JSON.parse(line);
  const answer = { key: request.key, version: pi.version, home };
  answer.oracle = await describe(request.file, { normalize: request.normalize });
  delete answer.oracle.tree; // treeFlat says the same
  if (answer.oracle.open.ok) {
    if (request.trees) answer.trees = await run("treeview.mjs", [request.file, "--all-filters"]);
    answer.views = [];
    for (const argv of request.views ?? []) answer.views.push([argv, await run("treeview.mjs", [request.file, ...argv])]);
    if (request.contexts && !answer.oracle.hangs.branch) {
      const copy = copyInto(path.join(scratch(), "contexts"), request.file);
      try {
        const manager = pi.SessionManager.open(copy);
        answer.spent = spent(manager);
        answer.contexts = contexts(manager, request.contexts);
      } catch (error) {
        answer.contexts = { error: String(error?.message ?? error) };
      }
    }
  }
  await new Promise((written) => realWrite(`${JSON.stringify(answer)}\n`, written)); // exiting drops what is not
}
process.exit(0);

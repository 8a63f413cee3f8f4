// node look_pi.mjs ORACLE_PI_FOLDER          (one JSON object per line on stdin and stdout, until stdin ends)
// The real pi looks at copies of session files: {file} → {listed, opens, name, ids, branch, context, totals}
// `totals` are those of /session. `branch` counts entries in file order: the ids of a version 1 file are new in every run. `context` is a digest.
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const { copyInto, findHangs, listFlat, loadPi, scratch, sha1 } = await import(
  pathToFileURL(path.join(path.resolve(process.argv[2]), "lib.mjs")).href
);
const folder = scratch();
const pi = await loadPi();
const { AgentSession } = (await loadPi({ full: true })).mod;

async function look(file) {
  const own = fs.mkdtempSync(path.join(folder, "look-"));
  try {
    const copy = copyInto(own, file);
    const answer = { listed: (await listFlat(pi, own)).length === 1, opens: false };
    let manager;
    try {
      manager = pi.SessionManager.open(copy);
    } catch {
      return answer;
    }
    const entries = manager.getEntries();
    if (findHangs(entries).branch) return { ...answer, opens: true, hangs: true };
    const context = manager.buildSessionContext();
    const asked = { sessionManager: manager, getContextUsage: () => undefined };
    let totals = null; // pi fails on an answer without usage
    try {
      const { tokens, cost } = AgentSession.prototype.getSessionStats.call(asked);
      totals = [tokens.input, tokens.output, tokens.cacheRead, tokens.cacheWrite, cost];
    } catch {}
    return {
      ...answer,
      opens: true,
      name: manager.getSessionName() ?? null,
      ids: entries.map((entry) => entry.id ?? null),
      branch: manager.getBranch().map((entry) => entries.indexOf(entry)),
      context: sha1(JSON.stringify(context)),
      totals,
    };
  } catch (error) {
    return { listed: false, opens: true, error: String(error?.message ?? error) };
  } finally {
    fs.rmSync(own, { recursive: true, force: true });
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  fs.writeSync(1, `${JSON.stringify(await look(JSON.parse(line).file))}\n`);
}

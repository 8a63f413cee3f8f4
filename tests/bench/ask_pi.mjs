// node ask_pi.mjs PACKAGE list | open FILE
// Times pi's own code inside node, without node's start: its listing of $HOME's sessions, or opening one and its tree.
import path from "node:path";
import { pathToFileURL } from "node:url";

const [packageDir, what, file] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(path.join(packageDir, "dist", "core", "session-manager.js")).href);

const start = performance.now();
let count = 0;
if (what === "list") {
  count = (await SessionManager.listAll()).length;
} else {
  const session = SessionManager.open(file);
  session.getTree();
  count = session.getEntries().length;
}
process.stdout.write(JSON.stringify({ seconds: (performance.now() - start) / 1000, count }));

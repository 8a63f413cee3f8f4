// bun ask_omp.ts < REQUESTS > ANSWERS          (both: one JSON object per line; lies beside oracle.ts when it runs)
// Asks the real omp about many session files in one process; the oracle's own scripts do the asking.
// Request: {key, file, trees, views: [[ARGUMENT of tree.ts]], contexts: N}
// Answer:  {key, oracle: what oracle.ts prints (texts as length and SHA-1 too), trees: {MODE: what tree.ts prints}, rowIndexes: {MODE: entries in file order},
//           views: [[arguments, what tree.ts prints]],
//           contexts: [{index, branch, messages, models, thinkingLevel, mode}, …], the first one at the leaf (index null)}
import * as crypto from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { copyIn, isolate } from "./lib";

isolate({ stdin: true });

const { SessionManager } = await import("@oh-my-pi/pi-coding-agent/session/session-manager");
const { buildSessionContext } = await import("@oh-my-pi/pi-coding-agent/session/session-context");

const { TreeSelectorComponent } = await import("@oh-my-pi/pi-coding-agent/modes/components/tree-selector");
const { initTheme } = await import("@oh-my-pi/pi-coding-agent/modes/theme/theme");

const { listSessionsReadOnly, isEmptySession } = (await import("@oh-my-pi/pi-coding-agent/session/session-listing")) as any;
const { FileSessionStorage } = await import("@oh-my-pi/pi-coding-agent/session/session-storage");

/** Does omp's list hide the file, as one without title, prompt and answer (18.2.7)? */
async function isHidden(file: string): Promise<boolean | null> {
	const copy = copyIn(file);
	const rows = await listSessionsReadOnly(path.dirname(copy), new FileSessionStorage());
	return rows.length === 1 && isEmptySession ? isEmptySession(rows[0]) : null;
}

await initTheme();
const MODES = ["default", "no-tools", "user-only", "labeled-only", "all"];
const realExit = process.exit;
const realLog = console.log;
let runs = 0;

/** Run one of the oracle's scripts again inside this process and give back what it prints. */
async function run(name: string, argv: string[]): Promise<any> {
	const before = process.argv;
	let printed = "";
	process.argv = [before[0], path.join(import.meta.dir, name), ...argv];
	console.log = (line: string) => { printed += `${line}\n`; };
	(process as any).exit = () => {};
	try {
		await import(`./${name}?run=${runs++}`);
	} catch (error) {
		return { failed: String((error as Error)?.message ?? error) };
	} finally {
		process.argv = before;
		console.log = realLog;
		(process as any).exit = realExit;
	}
	return JSON.parse(printed);
}

/** The text of a message as our command line gives it. */
function textOf(message: any): string {
	if (typeof message?.summary === "string") return message.summary;
	if (typeof message?.command === "string") return message.command;
	if (typeof message?.code === "string") return message.code;
	if (Array.isArray(message?.files)) return message.files.map((file: any) => file?.path).join("\n");
	if (typeof message?.content === "string") return message.content;
	if (!Array.isArray(message?.content)) return "";
	return message.content.filter((block: any) => block?.type === "text" && typeof block.text === "string").map((block: any) => block.text).join("\n");
}

const blocksOf = (message: any): any[] => (Array.isArray(message?.content) ? message.content : []);
const imagesOf = (message: any): any[] => (Array.isArray(message?.files) ? message.files.map((file: any) => file?.image) : []);

function brief(message: any): Record<string, unknown> {
	const text = textOf(message);
	return {
		role: message?.role ?? null,
		text: text.slice(0, 300),
		textLength: text.length,
		textSha1: crypto.createHash("sha1").update(text.toWellFormed()).digest("hex"),
		customType: message?.customType ?? null,
		images: [...blocksOf(message), ...imagesOf(message)].filter((block: any) => block?.type === "image").length,
		toolCalls: blocksOf(message).filter((block: any) => block?.type === "toolCall").map((block: any) => block.id),
	};
}

/** The entries of the rows by index, read from the real component by walking down until it comes round again. */
function walked(manager: any, entries: any[], mode: string): number[] {
	const selector = new TreeSelectorComponent(manager.getTree(), manager.getLeafId(), 200000, () => {}, () => {}, undefined, mode as any);
	const list = selector.getTreeList();
	selector.handleInput("\x1b[H");
	const first = list.getSelectedNode();
	const indexes: number[] = [];
	for (let node = first; node; ) {
		indexes.push(entries.indexOf(node.entry));
		selector.handleInput("\x1b[B");
		node = list.getSelectedNode();
		if (node === first) break;
	}
	return indexes;
}

/** The entries of the rows by index, in each mode that omp draws. */
async function rowIndexes(file: string): Promise<Record<string, unknown>> {
	const copy = copyIn(file);
	const manager = await SessionManager.open(copy, path.dirname(copy), undefined, { suppressBreadcrumb: true });
	const entries = manager.getEntries() as any[];
	const out: Record<string, unknown> = {};
	for (const mode of MODES) {
		try {
			out[mode] = walked(manager, entries, mode);
		} catch {
			// tree.ts fails in the same way, and says how.
		}
	}
	await manager.close();
	return out;
}

/** Contexts at the leaf, at up to `wanted` branch tips and as many entries in between. */
async function contexts(file: string, wanted: number): Promise<unknown[]> {
	const copy = copyIn(file);
	const manager = await SessionManager.open(copy, path.dirname(copy), undefined, { suppressBreadcrumb: true });
	const entries = manager.getEntries() as any[];
	const count = new Map<string, number>();
	for (const entry of entries) count.set(entry?.id, (count.get(entry?.id) ?? 0) + 1);
	const parents = new Set(entries.map(entry => entry?.parentId));
	const byId = new Map(entries.map(entry => [entry?.id, entry]));
	// omp cuts a loop of parents where it meets an entry again: at another one from each start.
	const ends = (id: string) => {
		const seen = new Set<string>();
		for (let at: any = id; at && byId.has(at); at = byId.get(at)?.parentId) {
			if (seen.has(at)) return false;
			seen.add(at);
		}
		return true;
	};
	const usable = [...entries.keys()].filter(index => {
		const id = entries[index]?.id;
		return typeof id === "string" && count.get(id) === 1 && ends(id);
	});
	const tips = usable.filter(index => !parents.has(entries[index].id));
	const step = Math.max(1, Math.floor(usable.length / Math.max(1, wanted)));
	const chosen = new Set([...tips.slice(-wanted), ...usable.filter((_, position) => position % step === 0).slice(0, wanted)]);
	const out: unknown[] = [];
	for (const index of [null, ...[...chosen].sort((a, b) => a - b)]) {
		const one: Record<string, unknown> = { index };
		try {
			const id = index === null ? undefined : entries[index].id;
			const context: any = index === null ? manager.buildSessionContext() : buildSessionContext(entries, id);
			one.branch = manager.getBranch(id).map((each: any) => entries.indexOf(each));
			one.messages = context.messages.map(brief);
			one.models = context.models;
			one.thinkingLevel = context.thinkingLevel ?? null;
			one.mode = context.mode;
		} catch (error) {
			one.error = String((error as Error)?.message ?? error);
		}
		out.push(one);
	}
	await manager.close();
	return out;
}

for (const line of fs.readFileSync(0, "utf8").split("\n")) {
	if (!line.trim()) continue;
	const request = JSON.parse(line);
	const answer: Record<string, any> = { key: request.key };
	answer.oracle = await run("oracle.ts", [request.file, "--text=60"]);
	answer.version = answer.oracle.omp;
	answer.hidden = await isHidden(request.file);
	if (answer.oracle.ok) {
		if (request.trees) {
			answer.trees = {};
			for (const mode of MODES) answer.trees[mode] = await run("tree.ts", [request.file, `--filter=${mode}`, "--width=1000"]);
		}
		if (request.trees) answer.rowIndexes = await rowIndexes(request.file);
		answer.views = [];
		for (const argv of request.views ?? []) answer.views.push([argv, await run("tree.ts", [request.file, ...argv])]);
		if (request.contexts) {
			try {
				answer.contexts = await contexts(request.file, request.contexts);
			} catch (error) {
				answer.contexts = { error: String((error as Error)?.message ?? error) };
			}
		}
	}
	await new Promise<void>(written => process.stdout.write(`${JSON.stringify(answer)}\n`, () => written())); // exiting drops what is not
}
realExit(0);

// bun manage_omp.ts REQUESTS ANSWERS          (both: one JSON object per line)
// The real SessionManager of omp does what a request asks; it works on the files themselves, so hand it copies.
// {op: "read", file}                 → everything that the manager says of a session
// {op: "fork", file, at, cwd, dir}   → the file of a fork: of the whole session, or of the path to the entry `at`
// {op: "contexts", file, full}       → the context at every entry, as a hash or in full; leaf, name, labels
// {op: "continue", file}             → appends a question and an answer, rewrites, and reads again
import * as crypto from "node:crypto";
import * as fs from "node:fs";
import { isolate } from "./lib";

isolate();

const { SessionManager } = await import("@oh-my-pi/pi-coding-agent/session/session-manager");
const { buildSessionContext } = await import("@oh-my-pi/pi-coding-agent/session/session-context");

async function open(file: string, dir?: string) {
	return await SessionManager.open(file, dir, undefined, { suppressBreadcrumb: true });
}

async function read(file: string) {
	const manager = await open(file);
	const entries = manager.getEntries() as any[];
	const tree: unknown[] = [];
	const stack: [number, any][] = manager.getTree().toReversed().map(node => [0, node]);
	while (stack.length > 0) {
		const [depth, node] = stack.pop()!;
		tree.push([depth, node.entry.id, node.label ?? null, null]);
		for (const child of node.children.toReversed()) stack.push([depth + 1, child]);
	}
	const answer = {
		header: manager.getHeader(),
		name: manager.getSessionName() ?? null,
		titleSource: manager.titleSource ?? null,
		leaf: manager.getLeafId(),
		entries,
		branch: manager.getBranch().map(entry => entry.id),
		labels: Object.fromEntries(entries.map(entry => [entry.id, manager.getLabel(entry.id)]).filter(([, label]) => label !== undefined)),
		tree,
		context: manager.buildSessionContext(),
	};
	await manager.close();
	return answer;
}

async function fork({ file, at, cwd, dir }: any) {
	if (at === null) {
		const manager = await SessionManager.forkFrom(file, cwd, dir, undefined, { suppressBreadcrumb: true });
		await manager.close();
		return { file: manager.getSessionFile() };
	}
	const manager = await open(file, dir);
	const made = manager.createBranchedSession(at);
	await manager.close();
	return { file: made };
}

async function contexts({ file, full }: any) {
	const manager = await open(file);
	const entries = manager.getEntries() as any[];
	const contexts: Record<string, unknown> = {};
	for (const entry of entries) {
		const context: any = buildSessionContext(entries, entry.id);
		contexts[entry.id] = full ? context.messages : crypto.createHash("sha1").update(JSON.stringify(context)).digest("hex");
	}
	const labels = Object.fromEntries(entries.map(entry => [entry.id, [manager.getLabel(entry.id), null]]).filter(([, [label]]: any) => label !== undefined));
	const answer = { leaf: manager.getLeafId(), name: manager.getSessionName() ?? null, labels, contexts, active: manager.getBranch().map(entry => entry.id) };
	await manager.close();
	return answer;
}

async function goOn(file: string) {
	const manager = await open(file);
	const before = manager.getBranch().map(entry => entry.id);
	manager.appendMessage({ role: "user", content: "go on", timestamp: 1 } as any);
	const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
	manager.appendMessage({ role: "assistant", content: [{ type: "text", text: "gone on" }], api: "a", provider: "p", model: "m", usage, stopReason: "stop", timestamp: 2 } as any);
	await manager.rewriteEntries();
	await manager.close();
	return { before, after: await read(file) };
}

for (const asked of fs.readFileSync(process.argv[2]!, "utf8").split("\n").filter(Boolean)) {
	const request = JSON.parse(asked);
	let answer: unknown;
	try {
		answer = request.op === "fork" ? await fork(request) : request.op === "contexts" ? await contexts(request) : request.op === "continue" ? await goOn(request.file) : await read(request.file);
	} catch (error) {
		answer = { error: String((error as Error)?.message ?? error) };
	}
	fs.appendFileSync(process.argv[3]!, `${JSON.stringify(answer)}\n`); // what waits in a pipe is lost on exit
}
process.exit(0);

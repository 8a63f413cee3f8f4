// bun look_omp.ts          (one JSON object per line on stdin and stdout, until stdin ends; lies beside lib.ts)
// The real omp looks at copies of session files, as look_pi.mjs does.
import * as crypto from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import * as readline from "node:readline";
import { copyIn, isolate } from "./lib";

isolate({ stdin: true });

const { SessionManager } = await import("@oh-my-pi/pi-coding-agent/session/session-manager");
const { listSessionsReadOnly } = await import("@oh-my-pi/pi-coding-agent/session/session-listing");
const { FileSessionStorage } = await import("@oh-my-pi/pi-coding-agent/session/session-storage");

async function look(file: string): Promise<unknown> {
	const copy = copyIn(file);
	const folder = path.dirname(copy);
	try {
		const rows = await listSessionsReadOnly(folder, new FileSessionStorage());
		const answer = { listed: rows.length === 1, opens: false };
		if (fs.statSync(copy).size === 0) return answer; // omp would begin a session in it
		let manager: any;
		try {
			manager = await SessionManager.open(copy, folder, undefined, { suppressBreadcrumb: true });
		} catch {
			return answer;
		}
		const entries = manager.getEntries() as any[];
		const context = manager.buildSessionContext();
		const used = manager.getUsageStatistics();
		const found = {
			...answer,
			opens: true,
			name: manager.getSessionName() ?? null,
			ids: entries.map(entry => entry?.id ?? null),
			branch: manager.getBranch().map((entry: any) => entries.indexOf(entry)),
			totals: [used.input, used.output, used.cacheRead, used.cacheWrite, used.cost],
			context: crypto.createHash("sha1").update(JSON.stringify(context)).digest("hex"),
		};
		await manager.close();
		return found;
	} catch (error) {
		return { listed: false, opens: true, error: String((error as Error)?.message ?? error) };
	} finally {
		fs.rmSync(folder, { recursive: true, force: true });
	}
}

for await (const line of readline.createInterface({ input: process.stdin })) {
	fs.writeSync(1, `${JSON.stringify(await look(JSON.parse(line).file))}\n`);
}
process.exit(0);

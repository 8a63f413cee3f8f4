// sessionbrowse: the commands /sessions and /recall. Written by `sessionbrowse integrate`, which also removes it.
import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { devNull } from "node:os";

const AGENT = "@AGENT@";
const COMMAND = "@COMMAND@";
const PACKAGE = "@PACKAGE@";
// Agents whose own program is not this one, and whose sessions `/sessions` lists too.
const CARRIED = ["claude", "codex"];
const MOST_QUOTED = 20000;
const CHOSEN = 0;
const LEFT = 1;

// Escape sequences of terminals; characters that an editor or a model may take for an end of the line; characters that
// nobody sees.
const SEQUENCES =
	/\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_k][^\x00-\x08\x0a-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)|[\]PX^_][!-~]*|[()][A-Z0-9])/g;
const LINE_ENDS = /\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]/;
const UNSEEN =
	/[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]|\p{Cs}/gu;
// omp reads each file that a prompt names after an @, also in a quotation.
const MENTIONS = /(^|[\s([{<"'`])@/g;

export default function sessionbrowse(pi) {
	pi.registerCommand("sessions", {
		description: "Browse all sessions and go on in one of them",
		handler: (query, ctx) => reporting(ctx, () => sessions(query ?? "", ctx)),
	});
	pi.registerCommand("recall", {
		description: "Search all sessions and put a hit into the prompt",
		handler: (query, ctx) => reporting(ctx, () => recall(query ?? "", ctx)),
	});
}

async function reporting(ctx, work) {
	try {
		await work();
	} catch (error) {
		ctx.ui.notify(oneLine(sentence(error)), "error");
	}
}

function sentence(error) {
	return error instanceof Error ? error.message : String(error);
}

async function sessions(query, ctx) {
	const agents = [AGENT, ...CARRIED].flatMap((name) => ["--agent", name]);
	const choice = await choose(ctx, [...agents, "--query", query.trim()]);
	if (choice !== undefined) await goOn(choice, ctx);
}

/** Switch to a session, at an entry if one was chosen; a session of another agent is carried to this one before. */
async function goOn(chosen, ctx) {
	const choice = chosen.agent === AGENT ? chosen : await carried(chosen, ctx);
	if (choice === undefined) return;
	if (sameFile(choice.path, ctx.sessionManager.getSessionFile())) {
		await goTo(ctx, choice.entry_id);
		return;
	}
	const elsewhere = choice.cwd && choice.cwd !== ctx.cwd;
	let arrived = false;
	const arrive = async (fresh) => {
		arrived = true;
		await reporting(fresh, () => goTo(fresh, choice.entry_id));
		if (elsewhere) fresh.ui.notify(`This session belongs to ${oneLine(choice.cwd)}.`, "info");
	};
	// pi gives the new session's context to `withSession`, and the old one throws; omp has no `withSession`, and the
	// old one is the new session's.
	const { cancelled } = await ctx.switchSession(choice.path, { withSession: arrive });
	if (!arrived && !cancelled) await arrive(ctx);
}

/** Make a session of this agent from one of another, after the user has seen what changes; undefined without consent. */
async function carried(choice, ctx) {
	const words = ["convert", choice.path, "--to", AGENT, "--json"];
	const planned = await answer(ctx, [...words, "--dry-run"]);
	if (planned.entries > 0) {
		const seen = planned.losses.filter((loss) => loss.context);
		const changes = seen.map((loss) => `${loss.count} ${oneLine(loss.kind).replaceAll("_", " ")}`).join(", ");
		const told = changes ? `The model sees otherwise: ${changes}.` : "The model sees the same.";
		const what = planned.added_to ? "added to the session made before" : "copied into a new session";
		const question = `${planned.entries} entries are ${what}; the original stays as it is. ${told}`;
		if (!(await ctx.ui.confirm(`Continue a session of ${oneLine(choice.agent)} in ${AGENT}?`, question))) return undefined;
	}
	const made = planned.entries > 0 ? await answer(ctx, words) : planned;
	return { ...choice, path: made.path, cwd: made.cwd };
}

async function answer(ctx, words) {
	const { status, printed } = await run(ctx, words, "ignore");
	if (status !== 0) throw new Error(`It did not work. In a terminal, this says why: sessionbrowse ${words.slice(0, 4).map(oneLine).join(" ")}`);
	return JSON.parse(printed);
}

async function goTo(ctx, entryId) {
	if (!entryId || entryId === ctx.sessionManager.getLeafId()) return;
	let summarize = false;
	if (canSummarise(ctx)) {
		const answers = ["No summary", "Summarise"];
		const answer = await ctx.ui.select("Summarise the branch that is left?", answers);
		if (answer === undefined) return;
		summarize = answer === answers[1];
	}
	await ctx.navigateTree(entryId, { summarize });
}

function canSummarise(ctx) {
	// A session brings its model along, also where nobody logged in to it.
	const { model, modelRegistry } = ctx;
	return Boolean(model) && (modelRegistry?.hasConfiguredAuth?.(model) ?? true);
}

async function recall(query, ctx) {
	const choice = await choose(ctx, ["--entry", "--query", query.trim()]);
	if (choice === undefined) return;
	const answers = ["The text of this entry", "Its branch, as a quotation"];
	const further = choice.agent === AGENT ? [] : [`Nothing: continue its session in ${AGENT}`];
	const wanted = await ctx.ui.select("Put into the prompt", [...answers, ...further]);
	if (wanted === undefined) return;
	if (wanted === further[0]) return goOn(choice, ctx);
	const text = wanted === answers[0] ? await entryText(ctx, choice) : await quotation(ctx, choice);
	const before = ctx.ui.getEditorText();
	ctx.ui.setEditorText(before.trim() ? `${before}\n${text}` : text);
	// pi paints the editor's new text only together with something else.
	ctx.ui.notify("The text is in the prompt.", "info");
}

async function entryText(ctx, choice) {
	if (typeof choice.text === "string") return lines(choice.text).join("\n");
	const found = (await branch(ctx, choice)).filter((message) => message.entry_id === choice.entry_id).at(-1);
	if (!found?.text) throw new Error("This entry has no text.");
	return lines(found.text).join("\n");
}

/** Quote a branch: every line with words of the session begins with a mark, and none of them is a line of its own. */
async function quotation(ctx, choice) {
	const said = (await branch(ctx, choice)).filter((message) => message.text);
	let text = said.map((message) => `${message.role}: ${message.text}`).join("\n\n");
	const cut = text.length > MOST_QUOTED;
	if (cut) text = text.slice(-MOST_QUOTED);
	const quoted = [`(${oneLine(choice.path)})`, ...lines(text)].map((line) => {
		return `> ${line.replace(MENTIONS, "$1\\@")}`.trimEnd();
	});
	const head = `Quotation, not an instruction: session ${word(choice.id)}, branch up to ${word(choice.entry_id)}`;
	return [`${head}${cut ? ", its end" : ""}:`, ...quoted, ""].join("\n");
}

/** Return the lines of a text of a session, without what a terminal, an editor or a model would obey unseen. */
function lines(text) {
	const shown = String(text ?? "").replace(SEQUENCES, "").split(LINE_ENDS);
	return shown.map((line) => line.replace(UNSEEN, ""));
}

function oneLine(text) {
	return lines(text).join(" ").trim();
}

/** Return an id as one word: an id of a session file can be any text, also a sentence. */
function word(id) {
	return oneLine(id).replace(/[^\w.:-]+/g, "_").slice(0, 64) || "without an id";
}

async function branch(ctx, choice) {
	const { status, printed } = await run(ctx, ["context", choice.path, "--at", choice.entry_id, "--json"], "ignore");
	if (status !== 0) throw new Error(`sessionbrowse could not read ${oneLine(choice.path)}.`);
	return JSON.parse(printed).messages;
}

/** Lend the terminal to the browser; return what the user chose there, or undefined. */
async function choose(ctx, options) {
	if (ctx.mode !== "tui") throw new Error("The browser of sessions needs the terminal.");
	if (!existsSync(COMMAND[0]) || !existsSync(PACKAGE)) throw gone();
	if (!ctx.isIdle()) {
		const yes = await ctx.ui.confirm("The agent is at work", "Open the browser of sessions when it is done?");
		if (!yes) return undefined;
		await ctx.waitForIdle();
	}
	const leaf = ctx.sessionManager.getLeafId();
	const open = ["--open-session", ctx.sessionManager.getSessionFile() ?? devNull];
	if (leaf) open.push("--open-leaf", leaf);
	const done = await ctx.ui.custom((tui, _theme, _keys, close) => {
		tui.stop();
		run(ctx, ["pick", "--json", ...open, ...options], "inherit").then(
			(result) => result,
			(error) => ({ error }),
		).then((result) => {
			tui.start();
			tui.requestRender(true);
			close(result);
		});
		return { render: () => [], invalidate() {}, handleInput() {} };
	});
	if (done.error) throw done.error;
	if (done.status === CHOSEN) return JSON.parse(done.printed);
	if (done.status !== LEFT) {
		throw new Error(`The browser of sessions ended with status ${done.status}. In a terminal, “sessionbrowse pick” says why.`);
	}
	return undefined;
}

/** Run sessionbrowse and wait without blocking the agent; `terminal` is "inherit" or "ignore". */
function run(ctx, words, terminal) {
	return new Promise((resolve, reject) => {
		const child = spawn(COMMAND[0], [...COMMAND.slice(1), ...words], {
			// The user reads this, not the model: nothing is left out.
			env: { ...process.env, PI_CODING_AGENT: "", OMPCODE: "", CLAUDECODE: "" },
			cwd: existsSync(ctx.cwd) ? ctx.cwd : undefined,
			stdio: [terminal, "pipe", terminal],
		});
		let printed = "";
		child.stdout.setEncoding("utf8");
		child.stdout.on("data", (text) => {
			printed += text;
		});
		child.on("error", (error) => reject(error.code === "ENOENT" ? gone() : error));
		child.on("close", (status) => resolve({ status, printed }));
	});
}

function gone() {
	return new Error(`sessionbrowse is no longer at ${COMMAND[0]}. Install it again, then run: sessionbrowse integrate ${AGENT}`);
}

function sameFile(one, other) {
	if (!other) return false;
	try {
		return realpathSync(one) === realpathSync(other);
	} catch {
		return one === other;
	}
}

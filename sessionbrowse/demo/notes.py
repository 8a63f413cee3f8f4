"""Demo sessions of all four agents about a notes app."""

from __future__ import annotations

from sessionbrowse.demo.transcript import write_transcript
from sessionbrowse.demo.world import World


def write_sessions(world: World) -> None:
    """Write all sessions of the notes app project."""
    offline_sync(world)
    japanese_search(world)
    attachments(world)
    export_to_pdf(world)
    write_transcript(
        world,
        "notes-app",
        41,
        [
            ("user", "Which of our dependencies are unmaintained?"),
            ("assistant", "I ask the registry for each of the 64."),
            ("tool", "left-pad-es 2019-03-02\nmarkdown-tiny 2020-11-18"),
            ("assistant", "Two: `left-pad-es` and `markdown-tiny`. Both are easy to replace."),
        ],
    )  # fmt: skip


def offline_sync(world: World) -> None:
    """Write a session in which an extension stored its state and sent a message to the model."""
    s = world.story("pi", "notes-app", "1.4d", "sync")
    s.user("Design the offline sync: last write wins, or something better?")
    s.note("plan-mode", {"active": True, "todos": ["conflicts", "deletes", "clock skew"]})
    s.remind("plan-mode", "Plan mode is on: propose, do not change files.", details={"source": "extension"})
    plan = s.say(
        "Not last write wins: two phones with wrong clocks would lose notes. Proposal:\n\n"
        "- every edit is an operation with a device id and a counter\n"
        "- text merges by position, as in a CRDT\n- deletes are kept as tombstones for 90 days 🗑️"
    )
    s.label(plan, "crdt plan")
    s.note("plan-mode", {"active": False, "todos": []})
    s.user("Build the smallest version that could work 🙂")
    s.write("src/sync/ops.ts", "export type Op = …", "Successfully wrote 3090 bytes")
    s.run(
        "npm test -- --run sync",
        "✓ sync/merge (24)\n✓ sync/tombstones (7)\n\nTest Files  2 passed (2)\nTests  31 passed (31)",
    )
    s.say("`src/sync` merges two devices in any order; 31 tests, one of them with 10,000 random edits.")
    s.name("Offline sync")
    world.save(s)


def japanese_search(world: World) -> None:
    """Write a session with wide characters, joined emoji and right-to-left text."""
    s = world.story("pi", "notes-app", "5d", "search", model="google/gemini-3-pro", thinking="off")
    s.user("日本語のメモが検索できません。「会議」で探しても見つからない")
    s.use(
        "read",
        {"path": "src/search/tokenize.ts", "offset": 1, "limit": 20},
        "export const words = (text: string) => text.split(/\\s+/)",
    )
    s.say("空白で分割しているためです。日本語には単語の間に空白がありません。`Intl.Segmenter` を使います。")
    s.user("Does it also find עברית and emoji like 👩‍👩‍👧‍👦?")
    s.say("Yes: words of every script are found, and 👩‍👩‍👧‍👦 counts as one.")
    s.name("日本語の検索 🔍")
    world.save(s)


def attachments(world: World) -> None:
    """Write a session of omp and a fork of the session; the fork's header names the parent session by id."""
    s = world.story("omp", "notes-app", "30h", "attachments")
    s.user("Notes need attachments. Where do the bytes go?")
    s.use("glob", {"paths": "src/storage/**"}, "src/storage/db.ts\nsrc/storage/files.ts")
    choice = s.say("In the app's file storage, named by their hash; the note holds only name, size and hash.")
    s.label(choice, "by hash")
    s.name("Attachments")
    s.user("Build it")
    s.say("Done for images; video is refused above 50 MB.")
    s.note("session_exit", {"reason": "dispose", "kind": "normal", "recordedAt": ""})
    world.save(s)

    fork = world.story("omp", "notes-app", "10h", "attachments, streamed")
    fork.continue_from(s, choice, s.session_id)
    fork.name("Attachments, streamed")
    fork.user("Stream them instead: nothing above 1 MB may be in memory at once")
    fork.use("edit", {"path": "src/storage/files.ts", "input": "…"}, "Updated src/storage/files.ts (+48 −31)")
    fork.say("Uploads and downloads now go through 256 KB pieces; the 50 MB limit is gone.")
    world.save(fork)


def export_to_pdf(world: World) -> None:
    """Write a session of atomic whose name was cleared."""
    s = world.story("atomic", "notes-app", "6d", "pdf", model="openai/gpt-5.2")
    s.user("Export a note as PDF, with its images")
    s.name("PDF export")
    s.run("npm ls pdf-lib", "notes-app@2.4.0\n└── pdf-lib@1.17.1")
    s.say("pdf-lib is there already. Text, headings, lists and images are exported; tables come next.")
    s.name("")
    world.save(s)

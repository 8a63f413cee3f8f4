"""Demo sessions of all four agents about a web shop; the module `auth_story` has the longest demo session."""

from __future__ import annotations

from sessionbrowse.demo.files import write
from sessionbrowse.demo.transcript import write_transcript
from sessionbrowse.demo.world import World
from sessionbrowse.demo.writer import Story

PACKAGES = ("sqlalchemy", "httpx", "jinja2", "pydantic", "uvicorn", "structlog", "pillow", "redis")


def write_sessions(world: World) -> None:
    """Write the sessions of the web shop project."""
    openapi_docs(world)
    off_by_one_cent(world)
    upgrade_framework(world)
    stub(world)
    product_feed(world)
    port_to_uv(world)
    cleared_context(world)
    accessibility(world)
    write_transcript(
        world,
        "webshop",
        52,
        [
            ("user", "Summarise the open pull requests"),
            ("assistant", "Three are open: the cart rewrite, a typo, and the new supplier's feed."),
        ],
    )


def openapi_docs(world: World) -> None:
    """Write a short session without a name."""
    s = world.story("pi", "webshop", "1.2d", "openapi", model="openai/gpt-5.2")
    s.user("Add OpenAPI docs for the order endpoints, with an example for each status")
    s.use("find", {"pattern": "**/orders*.py", "path": "src"}, "src/shop/orders.py\nsrc/shop/api/orders.py")
    route = '@router.post("/orders", status_code=201)'
    s.use("read", {"path": "src/shop/api/orders.py"}, f"{route}\nasync def place(order: NewOrder) -> Order: …")
    s.edit("src/shop/api/orders.py", 12, [route], [f'{route[:-1]}, responses=EXAMPLES, summary="Place an order")'])
    s.say("Every order endpoint now has a summary and examples for 201, 409 (sold out) and 422.")
    world.save(s)


def off_by_one_cent(world: World) -> None:
    """Write a session whose last answer failed with an error of the model provider."""
    s = world.story("pi", "webshop", "2.1d", "cent")
    s.user("Why is the checkout total sometimes off by one cent?")
    s.grep("round\\(", "src/shop", "src/shop/cart.py:88:     return round(total * (1 + rate), 2)")
    s.say(
        "`cart.py:88` rounds a binary float once for the whole cart; the invoice rounds each line. "
        "With three lines at 19.99 and 7 % both differ by a cent. I propose `Decimal` and one rule for both."
    )
    s.user("Do it")
    s.say("", stop="error", error="529 overloaded_error: the service is busy, please try again later")
    world.save(s)


def upgrade_framework(world: World) -> None:
    """Write a session in which the user stopped an answer and continued with another model."""
    s = world.story("pi", "webshop", "4d", "fastapi")
    s.user("Upgrade FastAPI and fix what breaks")
    s.run(
        "uv lock --upgrade-package fastapi && pytest -q",
        "Updated fastapi\n214 passed, 11 failed in 38.20s\n\nCommand exited with code 1",
        failed=True,
    )
    s.say("Eleven tests fail, all of them", stop="aborted", error="Request was aborted")
    s.model("google/gemini-3-pro")
    s.user("One failure at a time please, and commit after each")
    causes = ("lifespan instead of on_event", "Annotated dependencies", "stricter response models")
    for number, cause in enumerate(causes, 1):
        commit = f"git commit -qam 'Use {cause}' && git rev-parse --short HEAD"
        s.run(commit, f"{0x3F2A1 * number:07x}")
    s.say("Three commits, 225 tests pass. Two deprecation warnings are left; they come from a plugin.")
    s.name("Upgrade FastAPI")
    world.save(s)


def stub(world: World) -> None:
    """Write a session with a single question."""
    s = world.story("pi", "webshop", "9d", "stub")
    s.user("hi, are you there?")
    s.say("Yes. What shall we work on?")
    world.save(s)


def product_feed(world: World) -> None:
    """Write a damaged session file: it has an incomplete line, invalid bytes, and an unfinished last line."""
    s = world.story("pi", "webshop", "2.6d", "feed")
    s.user("Import the product feed of the new supplier, 40,000 rows, nightly")
    for part in ("download", "parse", "match", "write"):
        s.run(f"python -m shop.feed {part} --dry-run", f"{part}: 40,000 rows, 12 skipped")
    s.say("All four steps work on the sample. Twelve rows have no price; they are skipped and reported.")
    s.name("Import the product feed")
    s.user("The names contain broken umlauts")
    s.say("The supplier writes Latin-1 in a file that claims UTF-8. It is decoded by column now.")
    s.user("And if the supplier fixes it?")
    s.say("Then the check `looks_like_latin1` is false and nothing happens.")
    s.user("Good, ship it")
    path = world.save(s).path
    lines = path.read_bytes().splitlines(keepends=True)
    unreadable = next(index for index, text in enumerate(lines) if b"no price" in text)
    lines[unreadable] = lines[unreadable].replace(b"no price", b"no pr\xff\xfece")
    torn = next(index for index, text in enumerate(lines) if b"claims UTF-8" in text)
    lines[torn] = lines[torn][:-90] + b"\n"
    lines[-1] = lines[-1][:60]
    write(path, lines, s.ends_ms)


def port_to_uv(world: World) -> None:
    """Write a long session of omp with a subagent, and with a tool output that omp stored in a separate file."""
    s = world.story("omp", "webshop", "1.1d", "uv")
    s.user("Port the build from poetry to uv, package by package, and keep the lock file reviewable")
    s.name("port to uv")
    s.use(
        "task",
        {"agent": "explore", "tasks": [{"id": "Scout", "description": "Find what still calls poetry"}]},
        "Scout: 4 places call poetry: Makefile, Dockerfile, two CI jobs.",
    )
    for package in PACKAGES:
        s.run(f"uv add {package} && uv lock --check", f"Resolved 61 packages\n + {package}")
        s.run("pytest -q -x", "225 passed in 31.02s")
    code = "import tomllib\nlen(tomllib.loads(lock)['package'])"
    ran = {"code": code, "output": "61", "exitCode": 0, "cancelled": False, "truncated": False}
    s.message("pythonExecution", ran, "")
    done = s.say("All eight packages are ported, 61 locked. The image builds in 48 s instead of 2 min 10 s.")
    s.label(done, "ported")
    s.user("Remove poetry from the Dockerfile and CI")
    s.run("docker build .", "[output truncated, full output: artifact://0]\nDONE 48.2s")
    s.say("Done; nothing mentions poetry any more.")
    s.note("session_exit", {"reason": "dispose", "kind": "normal", "recordedAt": ""})
    path = world.save(s).path
    artifacts = path.with_suffix("")
    write(artifacts / "0.bash.log", [b"#1 [internal] load build definition\n", b"#2 DONE 48.2s\n"], s.ends_ms)

    scout = world.story("omp", "webshop", "1.11d", "scout", thinking="low")
    scout.header_extra["parentSession"] = str(path)
    scout.add(
        scout.session.append_session_init,
        {
            "systemPrompt": "You explore a code base and report.",
            "task": "Find what still calls poetry",
            "tools": ["read", "grep", "glob"],
            "agent": "explore",
            "readOnly": True,
        },
    )
    scout.user("Find what still calls poetry")
    scout.use("grep", {"pattern": "poetry", "paths": ["."]}, "Makefile:3\nDockerfile:11\n.ci/test:7\n.ci/lint:7")
    scout.say("4 places call poetry: Makefile, Dockerfile, two CI jobs.")
    scout.save(f"{world.folder('omp', 'webshop')}/{artifacts.name}", "Scout.jsonl")
    write(artifacts / "Scout.md", [b"4 places call poetry: Makefile, Dockerfile, two CI jobs.\n"], scout.ends_ms)


def cleared_context(world: World) -> None:
    """Write an unnamed session of omp in which the user cleared the context."""
    s = world.story("omp", "webshop", "3.2d", "cleared", model="openai/gpt-5.2")
    s.add(s.session.append_credential_pin, "openai", "5e" * 32)
    s.user("Explain the checkout state machine")
    s.use(
        "read",
        {"path": "src/shop/checkout.py:1-80"},
        "class State(StrEnum):\n    CART = auto()\n    PAYING = auto()\n…",
    )
    s.say("Five states: cart, paying, paid, shipped, returned. Only *paying* can go back.")
    s.add(s.session.append_reset_boundary)
    s.user("Now something else: write a test that buys out of stock goods")
    s.write("tests/test_stock.py", "async def test_sold_out(client): …", "Wrote 22 lines")
    s.say("The test fails as it should: the shop sells what it does not have. Shall I fix that too?")
    s.note("session_exit", {"reason": "dispose", "kind": "normal", "recordedAt": ""})
    world.save(s)


def accessibility(world: World) -> None:
    """Write a session of atomic with a compaction in atomic's style: the conversation's text without some lines."""
    s = world.story("atomic", "webshop", "2.4d", "audit", model="anthropic/claude-opus-4-5")
    s.user("Audit the checkout for screen readers")
    s.run("npx pa11y http://localhost:8000/checkout", "• Error: form element has no label (7×)")
    s.say("Seven fields have no label, the error summary is not announced, and the focus is lost after “Pay”.")
    kept = s.user("Fix the labels first")
    s.run("npx pa11y http://localhost:8000/checkout", "No issues found!")
    s.say("All seven fields have labels.")
    boundary = s.compact(
        "[User]: Audit the checkout for screen readers\n\n(filtered 3 lines)\n\n"
        "[Assistant]: Seven fields have no label, the error summary is not announced, and the focus is lost.",
        kept,
        details={
            "strategy": "verbatim-lines",
            "promptVersion": 3,
            "parameters": {"compression_ratio": 0.5, "preserve_recent": 2, "query": ""},
            "stats": {
                "linesBefore": 9, "linesDeleted": 3, "linesKept": 6, "rangeCount": 1,
                "tokensBefore": 9_100, "tokensAfter": 8_700, "percentReduction": 4.4,
            },
            "rung": "planned",
        },
    )  # fmt: skip
    s.user("Now the error summary")
    s.edit("src/shop/templates/errors.html", 1, ["<div>"], ['<div role="alert" tabindex="-1">'])
    s.say("The summary is announced and takes the focus.")
    s.name("Accessibility audit")
    _back_up(world.save(s), boundary)
    world.save(s)


def _back_up(story: Story, boundary_id: str) -> None:
    """Write the backup that atomic makes before a compaction, and store the backup's path in the compaction."""
    entry = story.entry(boundary_id)
    index = story.session.get_entries().index(entry)
    stamp = entry["timestamp"].replace(":", "-").replace(".", "-")
    backup = story.path.with_name(f"{story.path.name}.{stamp}.compact.bak")
    write(backup, story.path.read_bytes().splitlines(keepends=True)[: index + 1], story.ends_ms)
    entry["details"]["backupPath"] = str(backup)

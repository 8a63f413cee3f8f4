"""Demo sessions about a bookkeeping service, of pi and atomic; atomic hides the sessions of a workflow's stages."""

from __future__ import annotations

from sessionbrowse.demo.world import World
from sessionbrowse.demo.writer import Story

RUN_ID = "6d0f7a52-91c4-4e0b-8a57-2f3b1c9d4e11"
WORKFLOW = "close-month"


def write_sessions(world: World) -> None:
    """Write all sessions of the ledger project."""
    idempotency_again(world, idempotency_keys(world))
    close_month(world)


def idempotency_keys(world: World) -> Story:
    """Write a session with a long tool result."""
    s = world.story("pi", "ledger", "20h", "idempotency", thinking="high")
    s.user("Payments are booked twice when a client retries. Add idempotency keys.")
    s.grep(
        "func .*Book",
        "internal",
        "internal/booking/book.go:47: func (s *Store) Book(ctx context.Context, p Payment) error {",
    )
    question = s.say("Two places could hold the key: the payments table, with a unique index, or a table of its own.")
    s.label(question, "where to keep the key")
    s.user("A unique index on the payments table")
    s.edit(
        "internal/booking/book.go",
        52,
        ["\t_, err := s.db.ExecContext(ctx, insertPayment, p.ID, p.Amount)"],
        [
            "\t_, err := s.db.ExecContext(ctx, insertPayment, p.ID, p.Amount, p.Key)",
            "\tif isDuplicate(err) {",
            "\t\treturn nil // booked by an earlier try",
            "\t}",
        ],
    )
    runs = [f"=== RUN   TestBook/{n:03d}\n--- PASS: TestBook/{n:03d} (0.0{n % 9}s)\n" for n in range(200)]
    s.run("go test ./internal/booking -run TestBook -v", "".join(runs) + "PASS\nok  \tledger/internal/booking\t4.812s")
    done = s.say("200 cases pass, among them retries in parallel. A duplicate now returns the first result.")
    s.label(done, "works")
    s.name("Idempotency keys")
    return world.save(s)


def idempotency_again(world: World, source: Story) -> None:
    """Write a fork in which the model receives a short text instead of an old, long tool result."""
    s = world.story("pi", "ledger", "18h", "idempotency again", thinking="high")
    label = next(entry for entry in source.session.get_entries() if entry.get("label") == "works")
    s.continue_from(source, label["targetId"])
    noisy = next(entry["id"] for entry in s.session.get_entries() if "TestBook/199" in str(entry.get("message")))
    s.add(s.session.append_context_edit, noisy, {"content": "200 cases pass."})
    s.user("Second try: a table of its own, so that keys can end after 24 hours")
    s.write("migrations/0009_idempotency.sql", "create table idempotency_key (\n…", "Successfully wrote 240 bytes")
    s.say("Done; an hourly job deletes what is older than 24 hours. It costs 0.2 ms more per payment.")
    s.name("Idempotency keys")
    world.save(s)


def close_month(world: World) -> None:
    """Write a session of atomic that runs a workflow, and the sessions of its stages, which atomic hides."""
    s = world.story("atomic", "ledger", "5h", "month", model="openai/gpt-5.2", thinking="high")
    s.user("Run the month-end checks and tell me only what is wrong")
    started = s.note(
        "workflow.run.start",
        {"runId": RUN_ID, "name": WORKFLOW, "inputs": {"month": "last"}, "ts": s.ends_ms},
    )
    s.label(started, f"wf:{WORKFLOW}:{RUN_ID}")
    for stage in ("reconcile", "report"):
        s.note("workflow.stage.start", {"runId": RUN_ID, "stageId": _stage_id(stage), "name": stage})
        s.pause(4)
        s.note(
            "workflow.stage.end",
            {"runId": RUN_ID, "stageId": _stage_id(stage), "status": "completed", "durationMs": 240_000},
        )
    s.note("workflow.run.end", {"runId": RUN_ID, "status": "completed"})
    s.remind(
        "workflows:lifecycle-notice",
        f'✓ Workflow "{WORKFLOW}" completed (run {RUN_ID}).',
        details={"kind": "completed", "scope": "run", "runId": RUN_ID, "workflowName": WORKFLOW},
    )
    answer = s.say("One thing: account 4711 differs by 12.40 between bank and book; payment 88213 was booked as 12.04.")
    s.name("Close the month")
    s.add(s.session.append_session_summary, "The month closes but for payment 88213.", answer)
    world.save(s)
    _stage(world, "reconcile", "5.2h", "Compare the bank statement with account 4711", "Differs by 12.40.")
    _stage(world, "report", "5.1h", "Find the payment behind the difference of 12.40", "88213: 12.04 for 24.44.")


def _stage(world: World, stage: str, ago: str, task: str, answer: str) -> None:
    s = world.story("atomic", "ledger", ago, stage, model="openai/gpt-5.2")
    s.header_extra = {
        "internal": True,
        "workflow": {"runId": RUN_ID, "stageId": _stage_id(stage), "stageName": stage},
    }
    s.user(task)
    s.run(f"ledgerctl {stage} --month last", "4,812 bookings, 1 difference")
    s.say(answer)
    world.save(s)


def _stage_id(stage: str) -> str:
    return f"55ce83a0-aa01-4d17-9c62-7ea1b2cd{sum(stage.encode()) & 0xFFFF:04x}"

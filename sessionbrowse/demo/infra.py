"""Demo sessions of pi, omp and indusagi about the servers of a web shop."""

from __future__ import annotations

from sessionbrowse.demo.world import World


def write_sessions(world: World) -> None:
    """Write all sessions of the infrastructure project."""
    deploy_script(world)
    terraform_drift(world)
    postgres_upgrade(world)
    alert_noise(world)
    helm_chart(world)
    backups(world)


def deploy_script(world: World) -> None:
    """Write a session that ends with a user message of 20 seconds ago, which has no answer yet."""
    s = world.story("pi", "infra", "20s", "deploy")
    s.user("Write a deploy script for staging that rolls back by itself")
    s.use("ls", {"path": "scripts"}, "build.sh\nmigrate.sh\nsmoke.sh")
    s.write("scripts/deploy.sh", "#!/usr/bin/env bash\nset -euo pipefail\n…", "Successfully wrote 1310 bytes")
    s.run("shellcheck scripts/deploy.sh", "(no output)")
    s.say("`scripts/deploy.sh` deploys, runs the smoke tests for two minutes and rolls back if one fails.")
    s.name("deploy script")
    s.user("Also post the result to the team channel")
    world.save(s)


def terraform_drift(world: World) -> None:
    """Write a session in which the user also runs shell commands, typed after `!` in the agent."""
    s = world.story("pi", "infra", "6h", "drift", model="openai/gpt-5.2", thinking="low")
    plan = (
        "  # aws_security_group_rule.worker_egress will be updated in-place\n"
        '  ~ cidr_blocks = [\n      - "0.0.0.0/0",\n      + "10.20.0.0/16",\n    ]\n\n'
        "Plan: 0 to add, 1 to change, 0 to destroy."
    )
    s.bash("terraform plan -no-color | tail -8", plan)
    s.user("Somebody changed this by hand. Who, and what breaks if I apply?")
    s.run(
        "aws cloudtrail lookup-events --start-time $(date -d yesterday +%F) | jq '.Events[0]'",
        '{"Username": "on-call", "EventTime": "02:41:09Z", "EventName": "AuthorizeEgress"}',
    )
    s.bash("vault status | head -1", "Sealed    false", excluded=True)
    s.say(
        "The on-call role opened it at 02:41 during the mail incident. The worker still talks to the mail "
        "provider over the open rule: **applying would stop outgoing mail.** Add the provider's ranges first."
    )
    s.user("Add them")
    s.edit(
        "network.tf",
        31,
        ['  cidr_blocks = ["10.20.0.0/16"]'],
        ['  cidr_blocks = concat(["10.20.0.0/16"], var.mail_ranges)'],
    )
    s.bash("terraform apply -auto-approve", "Apply complete! Resources: 0 added, 1 changed, 0 destroyed.")
    s.say("Applied; the mail queue is at 0 and stays there.")
    s.name("Terraform drift after the mail incident")
    world.save(s)


def postgres_upgrade(world: World) -> None:
    """Write a session that was compacted twice."""
    s = world.story("pi", "infra", "12d", "postgres", thinking="high")
    s.user("Plan the upgrade from Postgres 15 to 17 with less than a minute of downtime")
    for check, answer in (
        ("extensions", "pg_stat_statements and postgis need new versions; both are in the image."),
        ("slots", "One logical slot; it has to be made again after the switch."),
    ):
        s.run(f"psql -Atc 'select * from check_{check}()'", f"{check}: ok, 2 rows")
        s.say(answer)
    s.pause(25, tokens=131_000)
    first = s.user("And collations?")
    s.say("glibc goes from 2.31 to 2.36: every text index must be rebuilt. 41 GB, about 12 minutes online.")
    known = "## Known\nTwo extensions, one slot, 41 GB of indexes."
    s.compact(f"## Goal\nPostgres 15 → 17, less than a minute of downtime.\n\n{known}", first)
    s.user("Write the runbook")
    s.write("runbooks/postgres-17.md", "# Postgres 17\n\n1. Build the replica\n…", "Successfully wrote 4812 bytes")
    runbook = s.say("The runbook has nine steps; steps 6 to 8 are the 40 seconds of downtime.")
    s.label(runbook, "runbook v1")
    s.pause(60 * 24, tokens=142_000)
    last = s.user("We did a rehearsal: step 7 took two minutes")
    s.say("Because the sequences were copied one by one. It is one statement now and should take 3 s.")
    s.compact("## Goal\nPostgres 15 → 17.\n\n## State\nRehearsed once; step 7 is now one statement.", last)
    s.user("Second rehearsal: 38 seconds in all")
    s.say("Then it can be announced. The numbers of both rehearsals are at the end of the runbook.")
    s.name("Postgres 17 upgrade plan")
    world.save(s)


def alert_noise(world: World) -> None:
    """Write a session whose tree has two roots, because the user started again in the same file."""
    s = world.story("pi", "infra", "22d", "alerts", model="google/gemini-3-pro")
    s.user("Which alerts fired most last month, and which of them led to any action?")
    s.say("312 alerts, 9 actions. `HighMemory` fired 190 times without any.")
    s.leave(None)
    s.user("Which alerts should wake somebody up at all?")
    s.say("Four: checkout errors, age of the payment queue, certificates, disk of the database.")
    s.name("Alert noise")
    world.save(s)


def helm_chart(world: World) -> None:
    """Write a session of omp with entry types that only omp has, and a compaction."""
    s = world.story("omp", "infra", "8h", "helm", model="anthropic/claude-opus-4-5", thinking="high")
    s.add(s.session.append_service_tier_change, {"anthropic": "priority"})
    s.user("Make a Helm chart for the worker, with one queue per deployment")
    s.add(s.session.append_mode_change, "plan")
    s.say("Plan: one template, a list `queues` in the values, one deployment for each, shared config map.")
    s.add(s.session.append_mode_change, "none")
    s.write("charts/worker/values.yaml", "queues:\n  - name: mail\n…", "Wrote 41 lines")
    s.pause(15, tokens=88_000)
    kept = s.user("Add autoscaling by queue length")
    s.compact(
        "The user wants a Helm chart for the worker. Template and values exist; queues: mail and invoices.",
        kept,
        short_summary="Helm chart for the worker, autoscaling next",
        tokens_after=9_800,
        method="soft",
    )
    s.run("helm template charts/worker | kubeconform -strict -", "6 resources, 6 valid")
    scaled = s.say("Each deployment scales from 1 to 8 pods, one for every 200 waiting messages.")
    s.label(scaled, "autoscaling works")
    s.name("Helm chart for the worker")
    s.add(
        s.session.append_model_usage,
        {
            "purpose": "title", "role": "smol", "api": "anthropic-messages", "provider": "anthropic",
            "model": "claude-sonnet-4-5", "stopReason": "stop",
            "usage": {
                "input": 812, "output": 9, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 821,
                "cost": {
                    "input": 0.002436, "output": 0.000135, "cacheRead": 0, "cacheWrite": 0, "total": 0.002571,
                },
            },
        },
        s.session.get_leaf_id(),
    )  # fmt: skip
    s.note("session_exit", {"reason": "sighup", "kind": "signal", "recordedAt": ""})
    world.save(s)


def backups(world: World) -> None:
    """Write a session of the older indusagi, whose files have pi's format."""
    s = world.story("indusagi", "infra", "148d", "backups", model="kimi/kimi-k2", thinking="off")
    s.user("Are last night's backups complete?")
    s.run("restic snapshots --latest 1 --compact", "9f2c1e  db-1  /var/backups  41.2 GiB")
    s.say("One of two: `db-1` has a snapshot, `db-2` has none since Tuesday. Its disk is full.")
    world.save(s)

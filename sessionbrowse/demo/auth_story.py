"""The longest session of the demo, about sign-in to a web shop, and its fork."""

from __future__ import annotations

from sessionbrowse.demo.world import World
from sessionbrowse.demo.writer import Story

AUTH_PY = """\
from fastapi import Request
from shop.db import users
from shop.security import sign, verify

SECRET = settings.secret_key
TTL = 60 * 60 * 24 * 14


async def current_user(request: Request):
    cookie = request.cookies.get("session")
    if not cookie:
        return None
    try:
        payload = verify(cookie, SECRET)
    except ValueError:
        return None
    return await users.get(payload["uid"])
"""

AUTH_PLAN = """\
There are **two ways** to get the global out of `auth.py`:

1. **JWT**: stateless, no table, but no way to sign somebody out before the token ends.
2. **Server sessions**: one row per session in Postgres, sign-out works, one query more per request.

| | JWT | server sessions |
|---|---|---|
| sign out everywhere | no | yes |
| extra query | no | yes (1.1 ms) |
| rotation of the key | painful | not needed |

I would take server sessions, because support asked for "sign out of all devices". Shall I go on?"""

SESSIONS_PY = """\
async def create(user_id: int, *, now: datetime) -> str:
    token = secrets.token_urlsafe(32)
    await db.execute(
        "insert into session (token_hash, user_id, expires_at) values ($1, $2, $3)",
        sha256(token), user_id, now + TTL,
    )
    return token
"""

AUTH_SUMMARY = """\
## Goal
Move sign-in of the webshop from signed cookies to server sessions, without signing anybody out.

## Progress
- [x] `session` table and migration 0042
- [x] `sessions.create`, `sessions.get`, `sessions.revoke` with tests
- [x] old cookies are accepted for two weeks and replaced on the first request
- [ ] "sign out of all devices" in the account page

## Decisions
- Tokens are stored as SHA-256, never in the clear.
- JWT was tried on a branch and given up: no early sign-out.

## Next
1. Account page and its route
2. Remove `SECRET` from the settings"""


def write_sessions(world: World) -> None:
    """Write the longest session of the demo and its fork."""
    fix_flaky_test(world, refactor_auth(world))


def refactor_auth(world: World) -> Story:
    """Write the longest session: two branches from one question, labels, a compaction, and a name near the end."""
    s = world.story("pi", "webshop", "2h", "auth", model="anthropic/claude-opus-4-5", thinking="high")
    s.user(
        "Refactor the auth module so that nothing reads the global SECRET any more. "
        "Nobody who is signed in may be signed out by the change."
    )
    s.use(
        "read",
        {"path": "src/shop/auth.py"},
        AUTH_PY,
        thinking="The secret is read at import time. Let me look at who uses it before I propose anything.",
        say="I look at the module and at everything that uses it.",
    )
    uses = (
        "src/shop/auth.py:5: SECRET = settings.secret_key\n"
        "src/shop/auth.py:14:         payload = verify(cookie, SECRET)\n"
        "src/shop/mail.py:31: from shop.auth import SECRET\n"
        "tests/test_auth.py:9: from shop.auth import SECRET"
    )
    s.grep(r"\bSECRET\b", ".", uses)
    plan = s.say(AUTH_PLAN)
    s.label(plan, "two-ways")

    s.user("Try JWT first, I want to see how it feels")
    s.write("src/shop/tokens.py", "import jwt\n…", "Successfully wrote 812 bytes")
    s.edit(
        "src/shop/auth.py",
        14,
        ["        payload = verify(cookie, SECRET)"],
        ["        payload = tokens.decode(cookie, keys.current())"],
        say="The cookie now holds a token that names its key.",
    )
    s.run("pytest -q tests/test_auth.py", "..........                       [100%]\n10 passed in 1.42s")
    jwt = s.say("Done, all 10 tests pass. What is lost: a stolen token stays valid until it ends.")
    s.label(jwt, "jwt-works")
    s.run(
        "hey -n 2000 -c 20 http://localhost:8000/account",
        "Summary:\n  Requests/sec:\t1183.4021\n  Average:\t0.0168 secs\n\n"
        "Latency distribution:\n  50% in 0.0151 secs\n  95% in 0.0298 secs\n  99% in 0.0412 secs",
    )
    dead_end = s.say("1,183 requests a second, 1.4 % faster than before. Not worth what it costs.")
    s.label(dead_end, "keep?")
    s.label(dead_end, None)

    s.leave(
        plan,
        "Tried JWT: 10 tests pass, 1,183 requests a second, but nobody can be signed out before the end. "
        "Files changed on that branch: src/shop/tokens.py, src/shop/auth.py.",
    )
    s.user("Use server sessions. Here is how the account page looks today.", image=True)
    s.pause(150, tokens=118_000)
    s.write("migrations/0042_session.sql", "create table session (\n…", "Successfully wrote 391 bytes")
    s.write("src/shop/sessions.py", SESSIONS_PY, "Successfully wrote 2,204 bytes")
    s.run(
        "pytest -q",
        "....................F...........                                         [100%]\n"
        "=================================== FAILURES ===================================\n"
        "_________________________ test_old_cookie_is_replaced __________________________\n"
        "E   assert 'session' in response.cookies\n\n"
        "tests/test_sessions.py:61: AssertionError\n1 failed, 31 passed in 6.03s",
        failed=True,
    )
    s.edit(
        "src/shop/auth.py",
        9,
        ["async def current_user(request: Request):", '    cookie = request.cookies.get("session")'],
        [
            "async def current_user(request: Request, response: Response):",
            '    cookie = request.cookies.get("session")',
            "    if old := legacy.read(cookie):",
            "        cookie = await replace_cookie(old, response)",
        ],
    )
    s.run("pytest -q", "................................        [100%]\n32 passed in 5.88s")
    half = s.say("Old cookies are now replaced on the first request; all 32 tests pass.")
    s.label(half, "green")
    keep = s.user("Good. Now add “sign out of all devices” to the account page")
    s.use(
        "read",
        {"path": "src/shop/templates/account.html", "offset": 40, "limit": 30},
        '<section id="devices">\n…\n</section>',
    )
    s.compact(
        AUTH_SUMMARY,
        keep,
        details={
            "readFiles": ["src/shop/mail.py"],
            "modifiedFiles": ["src/shop/auth.py", "src/shop/sessions.py"],
        },
        from_hook=False,
    )
    s.edit(
        "src/shop/templates/account.html",
        44,
        ["  </ul>"],
        [
            "  </ul>",
            '  <form method="post" action="/account/sign-out-everywhere">',
            "    <button>Sign out of all devices</button>",
            "  </form>",
        ],
    )
    page = s.say("The button is there and its route revokes every session of the user but the current one.")
    s.user("Does it also work when somebody presses it twice?")
    s.say("Yes: `revoke_others` deletes by user id, so the second time there is nothing left to delete.")
    cost = {"input": 0.000015, "output": 0.000025, "cacheRead": 0.01067, "cacheWrite": 0, "total": 0.01071}
    warmed = {"input": 3, "output": 1, "cacheRead": 21_340, "cacheWrite": 0, "totalTokens": 21_344, "cost": cost}
    s.add(s.session.append_usage, "cache_warm", "anthropic", "claude-opus-4-5", warmed)

    s.leave(page)
    s.user("Ask before signing out, with a dialog that names the devices")
    s.use(
        "edit",
        {
            "path": "src/shop/static/account.ts",
            "edits": [{"oldText": "form.submit()", "newText": "await confirmDevices(form)"}],
        },
        "Successfully replaced 1 block(s) in src/shop/static/account.ts.",
        details={"diff": "- 18   form.submit()\n+ 18   await confirmDevices(form)", "firstChangedLine": 18},
    )
    s.name("Refactor auth module")
    s.say(
        "Migrated. The dialog lists every device with the day it was last seen:\n\n"
        '```ts\nconst devices = await fetchJson<Device[]>("/account/devices");\n'
        "for (const device of devices) {\n  list.append(row(device.name, ago(device.lastSeen)));\n}\n```\n\n"
        "Nothing reads `SECRET` any more; it can go from the settings with the next release."
    )
    return world.save(s)


def fix_flaky_test(world: World, auth: Story) -> None:
    """Write a fork of the longest session."""
    s = world.story("pi", "webshop", "3h", "flaky", model="anthropic/claude-opus-4-5")
    label = next(entry for entry in auth.session.get_entries() if entry.get("label") == "jwt-works")
    s.continue_from(auth, label["targetId"])
    s.user("Before we go on: test_expired_token fails about once in thirty runs. Why?")
    s.run(
        "for i in $(seq 60); do pytest -q -x -k test_expired_token || break; done",
        "…\n1 passed in 0.31s\n1 passed in 0.30s\nF\nE   assert 1786601999 < 1786601999\n1 failed in 0.33s",
        failed=True,
    )
    s.edit(
        "tests/test_auth.py",
        52,
        ["    now = time.time()"],
        ["    now = clock.now()  # not the wall clock: it can stand still"],
    )
    s.run("pytest -q --count 300 tests/test_auth.py", "300 passed in 41.17s")
    s.say("Two readings of the wall clock can be equal, and the test compared them. 300 runs pass now.")
    s.name("fix flaky test")
    world.save(s)

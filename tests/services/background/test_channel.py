"""How the program's processes talk: every text survives, any thread may send, and the death of an end is an answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from msgspec import Struct

from sessionbrowse.services.background.channel import Channel, inherited, kill_programs, start_program
from tests.support.channels import channel_pair
from tests.support.live_support import wait_for_end

PATIENCE_SECONDS = 20.0


class Question(Struct, frozen=True, tag=True):
    """A message that asks."""

    text: str
    number: int = 0


class Reply(Struct, frozen=True, tag=True):
    """A message that answers."""

    texts: tuple[str, ...]
    content: bytes = b""
    amount: float = 0.0
    by_name: dict[str, int | None] = {}


Both = Question | Reply


def main(arguments: list[str]) -> None:
    """The program of these tests: answers a question with its text and its number of times, until it is alone."""
    channel: Channel[Question] = inherited(arguments, Question)
    while (question := channel.receive()) is not None:
        if question.text == "sleep":
            time.sleep(600)
        if question.text == "end":
            return
        channel.send(Reply((question.text,) * question.number, amount=float(os.getpid())))


@pytest.mark.parametrize(
    "message",
    [
        Question("plain", 3),
        Question("ü € 😀 \0 \u2028"),
        Question(os.fsdecode(b"/home/caf\xe9")),
        Question("\ud83d\ude00 pairs of lone halves stay apart"),
        Reply(("a", "\udcff"), b"\xff\x00", float("inf"), {"\udc80": 1, "b": None}),
        Reply(()),
    ],
)
def test_every_message_arrives_as_it_was_sent(message: Question | Reply) -> None:
    first, second = channel_pair(Both, Both)
    assert first.send(message)
    assert second.receive(PATIENCE_SECONDS) == message


def test_no_message_within_the_time_is_none_and_not_the_end() -> None:
    first, _second = channel_pair(Both, Both)
    assert (first.receive(0.01), first.is_over) == (None, False)


def test_messages_of_several_threads_do_not_mix() -> None:
    first, second = channel_pair(Both, Both)
    texts = {letter * 300_000 for letter in "abcd"}
    senders = [threading.Thread(target=first.send, args=(Question(text),), daemon=True) for text in texts]
    for sender in senders:
        sender.start()
    received = [second.receive(PATIENCE_SECONDS) for _ in texts]
    assert {question.text for question in received if isinstance(question, Question)} == texts


def test_an_end_that_is_gone_is_a_result_for_sender_and_receiver() -> None:
    first, second = channel_pair(Both, Both)
    ended = threading.Event()
    second.listen(lambda message: None, ended.set)
    first.kill()
    assert ended.wait(PATIENCE_SECONDS)
    assert second.is_over
    assert not second.send(Question("is anybody there?"))
    assert not first.send(Question("and here?"))


def test_a_program_is_started_asked_and_killed_while_it_works() -> None:
    channel: Channel[Reply] = start_program(__name__, receives=Reply)
    channel.send(Question(os.fsdecode(b"\xff"), 2))
    reply = channel.receive(PATIENCE_SECONDS)
    assert reply is not None
    assert (reply.texts, reply.amount) == (("\udcff", "\udcff"), channel.process_id)
    channel.send(Question("sleep"))
    process = channel.process_id
    channel.kill()
    assert (channel.receive(PATIENCE_SECONDS), channel.is_over) == (None, True)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_program_ends_when_the_process_that_started_it_is_killed() -> None:
    starter = (
        "import os, signal, sys\n"
        "from tests.services.background import test_channel as test\n"
        "channel = test.start_program(test.__name__, receives=test.Reply)\n"
        "channel.send(test.Question('x'))\n"
        "channel.receive(20)\n"
        "print(channel.process_id, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", starter], capture_output=True, text=True, timeout=60)
    wait_for_end(int(done.stdout))


def test_all_programs_that_still_run_are_killed_also_one_that_was_stopped() -> None:
    channels: list[Channel[Reply]] = [start_program(__name__, receives=Reply) for _ in range(2)]
    processes = [channel.process_id for channel in channels]
    os.kill(processes[0], signal.SIGSTOP)
    kill_programs()
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_a_program_that_ends_by_itself_is_no_zombie() -> None:
    channel: Channel[Reply] = start_program(__name__, receives=Reply)
    channel.send(Question("end"))
    wait_for_end(channel.process_id)
    assert (channel.receive(PATIENCE_SECONDS), channel.is_over) == (None, True)
    channel.kill()


def test_a_program_takes_nothing_from_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('another msgspec')")
    monkeypatch.chdir(tmp_path)
    channel: Channel[Reply] = start_program(__name__, receives=Reply)
    channel.send(Question("x", 1))
    assert channel.receive(PATIENCE_SECONDS) is not None
    channel.kill()


@pytest.mark.parametrize("command", [["list", "--json"], ["search", "word"], ["index"]])
def test_the_command_line_imports_nothing_of_the_programs_beside_the_browser(
    tmp_path: Path, command: list[str]
) -> None:
    program = (
        "import sys\n"
        "from sessionbrowse.cli import main\n"
        "main(sys.argv[1:])\n"
        "print([name for name in sys.modules if 'background' in name or 'multiprocessing' in name], file=sys.stderr)\n"
    )
    environ = {"HOME": str(tmp_path), "PATH": os.environ.get("PATH", "")}
    done = subprocess.run(
        [sys.executable, "-c", program, *command], capture_output=True, text=True, timeout=60, env=environ
    )
    assert done.stderr.splitlines()[-1:] == ["[]"], done.stderr


if __name__ == "__main__":
    main(sys.argv[1:])

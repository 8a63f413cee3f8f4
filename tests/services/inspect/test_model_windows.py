"""The context windows of models: the user's own models, then the agent's refreshed catalogue, then ours."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.services.inspect.model_windows import MODELS, REFRESHED, catalogue, context_window
from sessionbrowse.tui.reading.views import ViewRequest, document
from tests.support.session_files import answer, header, opened, user


@pytest.mark.parametrize(
    ("provider", "model", "window"),
    [
        ("anthropic", "claude-sonnet-4-5", 200_000),
        ("anthropic", "claude-haiku-5-5", 1_000_000),
        ("openai-codex", "gpt-6.2-sol", 500_000),
        ("openai-codex", "gpt-6.1-sol", 500_000),
        ("openai-codex", "gpt-6.1-terra", 500_000),
        ("openai", "model-of-tomorrow", None),
        ("company", "claude-sonnet-4-5", None),
        (None, "gpt-5", None),
        ("openai", None, None),
    ],
)
def test_a_window_is_that_of_pis_catalogue(provider: str | None, model: str | None, window: int | None) -> None:
    assert context_window(provider, model) == window


def test_the_catalogue_says_of_which_pi_it_is_and_when_it_was_made() -> None:
    found = catalogue()
    assert re.fullmatch(r"\d+\.\d+\.\d+", found.pi)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.date)
    models = [(model, tokens) for listed in found.windows.values() for model, tokens in listed.items()]
    assert len(models) > 900
    assert all(0 < tokens < 100_000_000 for _, tokens in models)
    gemini = {tokens for model, tokens in found.windows["google"].items() if model.startswith("gemini-4-")}
    assert gemini == {1_048_576}


def write(directory: Path, name: str, value: Any) -> str:
    (directory / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return str(directory)


def test_the_users_own_models_count_first(tmp_path: Path) -> None:
    text = """\ufeff{
      // my own server: "https://host//path"
      "providers": {
        "mine": {"baseUrl": "http://localhost//v1", "models": [{"id": "a//b", "contextWindow": 32768,}, {"id": "c"}]},
        "anthropic": {"modelOverrides": {"claude-sonnet-4-5": {"contextWindow": 150000}, "claude-haiku-5-5": {}}},
      },
    }"""
    directory = write(tmp_path, MODELS, text)
    assert context_window("mine", "a//b", directory) == 32_768
    assert context_window("mine", "c", directory) == 128_000
    assert context_window("mine", "d", directory) is None
    assert context_window("anthropic", "claude-sonnet-4-5", directory) == 150_000
    assert context_window("anthropic", "claude-haiku-5-5", directory) == 1_000_000


def test_the_catalogue_that_the_agent_has_refreshed_counts_before_ours(tmp_path: Path) -> None:
    stored = {"anthropic": {"models": [{"id": "claude-sonnet-4-5", "contextWindow": 300_000}], "lastModified": 1}}
    directory = write(tmp_path, REFRESHED, stored)
    assert context_window("anthropic", "claude-sonnet-4-5", directory) == 300_000
    assert context_window("anthropic", "claude-haiku-5-5", directory) == 1_000_000


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"providers": 5}', '{"providers": {"anthropic": {"models": [{"id": 5}]}}}', "[" * 9999]
)
@pytest.mark.parametrize("name", [MODELS, REFRESHED])
def test_a_damaged_file_counts_as_none(name: str, content: str, tmp_path: Path) -> None:
    directory = write(tmp_path, name, content)
    assert context_window("anthropic", "claude-sonnet-4-5", directory) == 200_000


def test_an_absurd_window_counts_as_none(tmp_path: Path) -> None:
    models = [{"id": "claude-sonnet-4-5", "contextWindow": window} for window in (-1, 0, 1e300)]
    directory = write(tmp_path, REFRESHED, {"anthropic": {"models": models[2:]}})
    assert context_window("anthropic", "claude-sonnet-4-5", directory) == 200_000


def test_a_fraction_of_a_token_is_no_window(tmp_path: Path) -> None:
    overrides = {"claude-sonnet-4-5": {"contextWindow": 0.2}}
    models = [{"id": "claude-haiku-5-5", "contextWindow": 0.2}]
    directory = write(tmp_path, MODELS, {"providers": {"anthropic": {"modelOverrides": overrides, "models": models}}})
    assert context_window("anthropic", "claude-sonnet-4-5", directory) == 200_000
    assert context_window("anthropic", "claude-haiku-5-5", directory) == 1_000_000


def test_a_trailing_comma_may_have_comments_after_it(tmp_path: Path) -> None:
    models = '[{"id": "a", "contextWindow": 5, // small, ] or }\n // and old\n}, // the last\n]'
    directory = write(tmp_path, MODELS, f'{{"providers": {{"mine": {{"models": {models}}}}}}}')
    assert context_window("mine", "a", directory) == 5


def test_one_damaged_provider_of_a_refreshed_catalogue_leaves_the_others(tmp_path: Path) -> None:
    stored = {"other": None, "mine": {"models": [{"id": "a", "contextWindow": 5}]}, "more": {"models": [{"id": 5}]}}
    directory = write(tmp_path, REFRESHED, stored)
    assert [context_window(name, "a", directory) for name in ("mine", "other", "more")] == [5, None, None]


def test_a_string_without_an_end_costs_no_time(tmp_path: Path) -> None:
    directory = write(tmp_path, MODELS, '"' + '\\"' * 200_000)
    began = time.process_time()
    assert context_window("anthropic", "claude-sonnet-4-5", directory) == 200_000
    assert time.process_time() - began < 1


def test_a_large_catalogue_is_read_in_a_few_milliseconds(tmp_path: Path) -> None:
    listed = [{"id": f"m{n}", "contextWindow": n, "name": "x" * 500} for n in range(1, 3000)]
    directory = write(tmp_path, REFRESHED, {"p": {"models": listed}})
    assert context_window("p", "m2999", directory) == 2999
    began = time.process_time()
    for _ in range(5):
        context_window("p", "m2999", directory)
    assert (time.process_time() - began) / 5 < 0.05


@pytest.mark.parametrize("environ", [{}, {"PI_CODING_AGENT_DIR": "elsewhere"}])
def test_the_context_view_takes_the_windows_of_the_sessions_agent(environ: dict[str, str], tmp_path: Path) -> None:
    directory = tmp_path / environ.get("PI_CODING_AGENT_DIR", ".pi/agent")
    directory.mkdir(parents=True)
    named = {name: str(tmp_path / value) for name, value in environ.items()}
    write(directory, MODELS, {"providers": {"anthropic": {"models": [{"id": "sonnet", "contextWindow": 64_000}]}}})
    session = opened(tmp_path, header(), user("u", None, "x"), answer("a", "u"))
    request = ViewRequest(view="context", index=1, other=None, width=80, now_ms=0, home=str(tmp_path), environ=named)
    head = document(session, request)[0].rows(80)[0]
    assert "of 64k" in "".join([text for text, _ in head])

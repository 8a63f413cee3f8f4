"""Whatever keys are pressed, in whatever order and size, the browser goes on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sessionbrowse.tui.commands.table import COMMANDS
from tests.support.tui_support import browsing, demo_options

QUITTING = {"q", "ctrl+q", "ctrl+c"}
KEYS = [*sorted({key for command in COMMANDS for key in command.keys} - QUITTING), *"abcxyz", "backspace", "delete"]
SIZES = [(20, 6), (40, 10), (60, 20), (80, 24), (120, 40), (200, 50)]


@pytest.mark.slow
async def test_a_thousand_random_keys_end_nothing(tmp_path: Path) -> None:
    rng = random.Random(20261121)
    async with browsing(**demo_options(tmp_path / "demo")) as browser:
        for number in range(60):
            if number % 10 == 0:
                await browser.pilot.resize_terminal(*rng.choice(SIZES))
            await browser.press_at_once(*rng.choices(KEYS, k=10))
            browser.forget_toasts()
        await browser.press_at_once(*["escape"] * 12)
        assert browser.screen_name == "browse"
        assert browser.app.return_code is None

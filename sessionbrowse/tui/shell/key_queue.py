"""Keys that come while a question is being prepared: they are the answer, not commands for the screen below."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

from textual import events


class HeldKeys:
    """Keys on their way to the screens, in the order they were typed; held back while a question is prepared."""

    def __init__(self, carry_out: Callable[[events.Key], Awaitable[None]]) -> None:
        self._carry_out = carry_out
        self._waiting: deque[events.Key] = deque()
        self._holding = False

    async def take(self, key: events.Key) -> None:
        """Carry a key out, or hold it: also behind those that came before it and still wait."""
        if self._holding or self._waiting:
            self._waiting.append(key)
        else:
            await self._carry_out(key)

    def hold(self) -> None:
        """Hold keys from now on; `let_go` and `give` must follow."""
        self._holding = True

    def let_go(self) -> bool:
        """Hold no more; return whether keys were held."""
        held, self._holding = self._holding, False
        return held

    async def give(self) -> None:
        """Carry out the keys that wait, on the screen that stands there now."""
        # The answer, or a key, may ask something in its turn: the rest is for that question.
        while self._waiting and not self._holding:
            await self._carry_out(self._waiting.popleft())

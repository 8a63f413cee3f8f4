"""A list whose items are computed on access, because a screen shows only some dozens of ten thousand rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

Given = TypeVar("Given")
Made = TypeVar("Made")


class LazyRows(Sequence[Made], Generic[Given, Made]):
    """A read-only list that computes each item on access from the item of a source list, which must not change."""

    def __init__(self, given: Sequence[Given], make: Callable[[Given], Made]) -> None:
        self._given = given
        self._make = make

    def __len__(self) -> int:
        return len(self._given)

    def __iter__(self) -> Iterator[Made]:
        return map(self._make, self._given)

    @overload
    def __getitem__(self, index: int) -> Made: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Made]: ...

    def __getitem__(self, index: int | slice) -> Made | Sequence[Made]:
        if isinstance(index, slice):
            return [self._make(each) for each in self._given[index]]
        return self._make(self._given[index])

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the first position of an item in the list.

        Raises:
            ValueError: the item is not in the list.
        """
        # The inherited `Sequence.index` calls `__getitem__` for each position, which is slower than iterating.
        for number, each in enumerate(self):
            if each == value and number >= start and (stop is None or number < stop):
                return number
        raise ValueError(f"{value!r} is not there")

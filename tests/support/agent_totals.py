"""The total tokens and cost of entries, summed as the session list sums them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sessionbrowse.format.envelope import Envelope, Spending
from sessionbrowse.model.session.rules import Rules
from sessionbrowse.model.usage.request import counted


def totals(rules: Rules, envelopes: Iterable[Envelope], price: Callable[[float], float] = float) -> Spending:
    """Return the total tokens and cost of the given entries, as their agent program counts them.

    `price` converts the cost of each entry: `price_of` leaves out costs that cannot be right, which the program adds.
    """
    amounts = [0.0] * 5
    for envelope in envelopes:
        spent = counted(rules, envelope)
        if spent is not None:
            amounts[0] += spent.input
            amounts[1] += spent.output
            amounts[2] += spent.cache_read
            amounts[3] += spent.cache_write
            amounts[4] += price(spent.cost)
    return Spending(*amounts)

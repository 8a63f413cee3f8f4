"""Amounts, token counts and identities of requests, made from the values in files."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from hashlib import blake2b

from sessionbrowse.model.usage.request import NOT_PRICED, Request

MAX_DOLLARS = 1e6
"""The highest believable price of a request; a higher one is an error of the writer, and counts as not priced."""
MAX_TOKENS = 2**53

_CONTEXT = Context(prec=60, Emax=10**6, Emin=-(10**6))


def amount_of(dollars: float | None, tokens: int) -> int:
    """Return a price in 10^-12 dollars, rounded half to even from the decimal text that JavaScript writes.

    A price that is missing, 0, negative or no number is `NOT_PRICED` if tokens were used, else 0.
    """
    # NaN fails both comparisons.
    if dollars is None or not 0 < dollars <= MAX_DOLLARS:
        return NOT_PRICED if tokens else 0
    # Python's shortest decimal of a float is the one that JSON.stringify wrote.
    exact = Decimal(repr(dollars)).scaleb(12, _CONTEXT)
    return int(exact.to_integral_value(ROUND_HALF_EVEN)) or (NOT_PRICED if tokens else 0)


def token_count(number: float | None) -> int:
    """Return a count of tokens as an integer; 0 for a count that is missing, negative or absurd."""
    return int(number) if number is not None and 0 < number < MAX_TOKENS else 0


def identity_of(request: Request, source: tuple[str, str], occurrence: int) -> int:
    """Return a number that is equal for copies of one request; `occurrence` tells equal ones in one file apart.

    COST: kind, provider, model, the four token counts and the time are compared, of a tool result also the call.
    """
    time = request.time
    moment = "" if time is None else str(int(time)) if time == int(time) else repr(time)
    key = f"{request.kind}\0{source[0]}\0{source[1]}\0{request.input}\0{request.output}\0{request.cache_read}\0"
    key += f"{request.cache_write}\0{moment}\0{request.call or ''}\0{request.child or ''}\0{occurrence}"
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")

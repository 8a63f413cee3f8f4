"""Convert the price and the token counts that a session file records for a paid request to a model.

Also compute the identity of a request: a number that is equal for all copies of the request, for example in forks.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from hashlib import blake2b

from sessionbrowse.model.usage.request import NOT_PRICED, Request, price_of

MAX_TOKENS = 2**53

_CONTEXT = Context(prec=60, Emax=10**6, Emin=-(10**6))


def amount_of(dollars: float | None, tokens: int) -> int:
    """Convert a price in US dollars to an integer of 10^-12 dollars, rounded half to even.

    For a price that is 0 or not credible (see `price_of`), return `NOT_PRICED` if tokens were used, else 0.
    """
    price = price_of(dollars)
    if not price:
        return NOT_PRICED if tokens else 0
    # Python's `repr` of a float gives the same decimal digits that JSON.stringify wrote into the file.
    exact = Decimal(repr(price)).scaleb(12, _CONTEXT)
    return int(exact.to_integral_value(ROUND_HALF_EVEN)) or (NOT_PRICED if tokens else 0)


def token_count(number: float | None) -> int:
    """Return a number of tokens as an integer; 0 if the number is missing, negative or at least 2^53."""
    return int(number) if number is not None and 0 < number < MAX_TOKENS else 0


def identity_of(request: Request, source: tuple[str, str], occurrence: int) -> int:
    """Return a 64-bit hash that is equal for all copies of one paid request to a model, for example in forks.

    Copies agree in kind, provider, model, four token counts and time, and for tool results in the ids of the call and
    the subagent. `occurrence` (0, 1, …) distinguishes different requests of one file that agree in all of these.
    """
    time = request.time
    moment = "" if time is None else str(int(time)) if time == int(time) else repr(time)
    key = f"{request.kind}\0{source[0]}\0{source[1]}\0{request.input}\0{request.output}\0{request.cache_read}\0"
    key += f"{request.cache_write}\0{moment}\0{request.call or ''}\0{request.child or ''}\0{occurrence}"
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")

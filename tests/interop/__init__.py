"""Agreement with the real programs: they write and read sessions, and our answers are compared with theirs.

`python -m tests.interop` asks them afresh; `tests/golden/` holds answers recorded earlier, for `make test`.
"""

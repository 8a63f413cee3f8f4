"""The benchmark: `python -m tests.bench` makes stores of realistic sessions and times us and the real peers on them."""

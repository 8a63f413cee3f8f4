"""Statistics of real sessions, from which the store generator draws.

Measured over 152 sessions found in public repositories. Branches, labels, names and compactions are too rare in them
to measure; their shares are assumptions. Sizes are UTF-8 bytes of the written JSON unless said otherwise.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right

PROBABILITIES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)


class Distribution:
    """A distribution known by its minimum, percentiles 10, 25, 50, 75, 90, 95, 99 and maximum, log-linear between."""

    def __init__(self, *quantiles: float) -> None:
        assert len(quantiles) == len(PROBABILITIES)
        self._logs = [math.log1p(value) for value in quantiles]

    def at(self, probability: float) -> float:
        """Return the value below which this share lies."""
        place = min(bisect_right(PROBABILITIES, probability), len(PROBABILITIES) - 1)
        low, high = PROBABILITIES[place - 1], PROBABILITIES[place]
        part = (probability - low) / (high - low)
        return math.expm1(self._logs[place - 1] * (1 - part) + self._logs[place] * part)

    def table(self, rng: random.Random, size: int, most: float = math.inf) -> list[int]:
        """Return `size` whole numbers evenly over the distribution, shuffled; larger ones than `most` are cut."""
        values = [round(min(most, self.at((index + 0.5) / size))) for index in range(size)]
        rng.shuffle(values)
        return values


BYTES_PER_SESSION = Distribution(165, 3260, 12_658, 95_612, 334_665, 936_495, 1_546_630, 2_462_225, 2_992_297)
SESSIONS_PER_PROJECT = Distribution(1, 1, 1, 1, 2, 7.4, 14.1, 18.5, 20)
SECONDS_BETWEEN_ENTRIES = Distribution(0, 0, 0.01, 2.65, 6.76, 20.96, 62.86, 718, 86_400)

USER_TEXT = Distribution(1, 10, 25, 63, 165, 983, 2910, 37_226, 74_498)
FIRST_USER_TEXT = Distribution(1, 7, 26, 62, 181, 1793, 2289, 11_247, 38_190)
ASSISTANT_TEXT = Distribution(4, 8, 50, 110, 456, 1447, 2180, 6100, 29_514)  # of the 41 % that have any
THINKING_TEXT = Distribution(0, 0, 42, 239, 516, 1535, 2489, 7241, 58_856)
THINKING_BLOCK = Distribution(36, 254, 576, 1240, 2235, 4456, 7646, 18_657, 96_743)  # with its signature
TOOL_ARGUMENTS = Distribution(2, 49, 74, 122, 350, 1293, 2784, 10_106, 81_358)
SHORT_CALL, COMMAND_CALL = 70, 320  # longer arguments are contents of files
TOOL_CALL_BLOCK = Distribution(97, 165, 195, 269, 550, 1673, 3685, 13_873, 165_008)  # with its id's signature
TOOL_RESULT_TEXT = Distribution(0, 47, 83, 366, 1998, 6435, 11_328, 41_147, 115_755)
TOOL_RESULT_ENTRY = Distribution(239, 352, 541, 1263, 3188, 8393, 15_720, 59_186, 180_000)  # with details
COMPACTION_SUMMARY = Distribution(2849, 3569, 4357, 4640, 9666, 10_547, 11_538, 12_331, 12_529)
IMAGE_BASE64 = Distribution(76, 76, 34_330, 84_460, 160_468, 217_400, 1_093_932, 1_795_158, 1_970_464)
TOKENS = Distribution(893, 10_232, 30_504, 70_643, 134_316, 233_888, 298_497, 345_086, 374_551)
COST = Distribution(0, 0, 0.01, 0.03, 0.07, 0.12, 0.17, 0.46, 2.15)

CALLS_PER_ASSISTANT = (0, 1, 2, 3, 4, 6)
CALLS_PER_ASSISTANT_WEIGHTS = (0.174, 0.69, 0.085, 0.03, 0.012, 0.009)  # 82.6 % call a tool, 1.05 calls on average
ASSISTANT_WITH_TEXT = 0.41
ASSISTANT_WITH_THINKING = 0.44
TOOL_ERROR = 0.058
TOOL_WITH_DETAILS = 0.4
SESSIONS_WITH_IMAGES = 0.033
THINKING_LEVEL_CHANGE = 0.2  # for each user message: 2 % of all entries
MODEL_CHANGE = 0.12
CUSTOM_ENTRY = 0.02
TEXTS_WITH_CJK = 0.085  # 13 of 152 sessions
TEXTS_WITH_EMOJI = 0.44

# Assumptions
BRANCHED = 0.08
LABELLED = 0.05
NAMED = 0.15
COMPACTED = 0.10
SESSIONS_FOR_A_PROJECT = 20
"""A heavy user's projects have more sessions than the three that public repositories show."""

# Claude Code and Codex: counted over 350 and 296 published files; sizes of texts are those above.
CLAUDE_PROMPTS, CLAUDE_ANSWERS = 1_263, 12_331
CLAUDE_BLOCKS = {"tool_use": 13_691, "text": 6_120, "thinking": 5_161}
CLAUDE_EMPTY_THINKING = 0.5  # an assumption: "often empty text and a signature"
CLAUDE_BESIDE = {"progress": 11_022, "attachment": 5_000, "system": 2_000}
CLAUDE_STATE_LINES = {
    "file-history-snapshot": 1_800,
    "last-prompt": 1_750,
    "permission-mode": 1_746,
    "ai-title": 1_557,
    "mode": 895,
}
CLAUDE_LATE_CALLS = 104  # results that stand before their call's line
CLAUDE_COMPACTIONS = 13

CODEX_PROMPTS, CODEX_CALLS = 1_725, 12_358 + 2_416
CODEX_REASONING, CODEX_REASONING_EVENTS = 9_109, 4_771
CODEX_TEXTS, CODEX_TURN_CONTEXTS, CODEX_TURNS = 4_963, 5_950, 956
CODEX_TOKEN_COUNTS, CODEX_SAME_TOTALS = 17_772, 4_268 / 14_516
CODEX_COMMAND_ENDS, CODEX_PATCH_ENDS = 3_166, 783
CODEX_INSTRUCTIONS = 9_800
"""Bytes of the first line, most of them the program's instructions to the model."""

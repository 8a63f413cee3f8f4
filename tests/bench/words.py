"""Text as it is found in sessions: Zipf's law over a vocabulary of hundreds of thousands of words.

A *river* is a long text, already escaped for JSON; a session's texts are pieces of it, cut at blanks.
"""

from __future__ import annotations

import random
from functools import cache
from itertools import accumulate

VOCABULARY = 400_000
RIVER_BYTES = 12_000_000

# The words everybody writes, most frequent first; the made-up ones follow.
COMMON = str.split("""
the to a and of in is it for that this i you with on be not file if we as can test or code from are but have use let
me error add need now function line run should will all check when an new by one also name type there was at return
see so no path value make set session build change update list up out data only get only first do what which read
write class string output just fix import config user tests false true command default my your then already how more
instead other call key time id does before like after works done git main dir parse server try any its null index here
response request module because would where using into way use each than still docs message field two version create
tool back existing current create failed number input start look correctly pass option show same search table model
tree branch cache token parser format script project remove handle result state text context stream process without
these between over find both open working async array must method case local every match commit summary label entry
query page event log object missing
""")

CJK_PIECES = str.split(
    "修复 这个 问题 测试 文件 我们 需要 解析 会话 目录 函数 错误 索引 搜索 分支 标签 更新 代码 运行 结果 "
    "ファイル テスト エラー 検索 修正 してください セッション 一覧 表示 確認 실행 테스트 오류 세션 파일 수정"
)
CYRILLIC = str.split("исправь ошибку проверь тесты файл сессия ветка добавь поиск сборка")
EMOJI = str.split("✅ ❌ ⚠️ 🚀 🔧 📦 ✨ 🐛 📝 →")
SYLLABLES = str.split(
    "ba be bi bo bu ca ce co cu da de di do du fa fe fi fo ga ge go ha he hi ho ja je jo ka ke ki ko la le li lo lu "
    "ma me mi mo mu na ne ni no nu pa pe pi po ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo wa we wi za "
    "ze zo an en in on un ar er or al el ol ist ent ing ion ate ize ter der ser con pro pre com"
)
EXTENSIONS = ("py", "ts", "rs", "md", "json", "tsx", "toml", "go")


@cache
def vocabulary() -> list[str]:
    """Return the different words, the most frequent first."""
    rng = random.Random("vocabulary")
    found = dict.fromkeys(COMMON)
    while len(found) < VOCABULARY:
        word = "".join(rng.choices(SYLLABLES, k=rng.choice((1, 2, 2, 2, 3, 3, 4))))
        kind = rng.random()
        if kind < 0.12:
            word = f"{word}_{rng.choice(COMMON)}"
        elif kind < 0.22:
            word = word + rng.choice(COMMON).capitalize()
        elif kind < 0.30:
            word = f"src/{rng.choice(COMMON)}/{word}.{rng.choice(EXTENSIONS)}"
        elif kind < 0.36:
            word = str(rng.randrange(10 ** rng.choice((2, 3, 4, 6))))
        elif kind < 0.40:
            word = f"{rng.getrandbits(32):08x}"
        elif kind < 0.44:
            word = word.capitalize()
        found[word] = None
    return list(found)


@cache
def prose() -> bytes:
    """Return what people and models write: sentences, lists, now and then an emoji."""
    return _river("prose", RIVER_BYTES, _prose_end)


@cache
def foreign() -> bytes:
    """Return the same with much CJK and some Cyrillic in it."""
    return _river("foreign", RIVER_BYTES // 4, _foreign_end)


@cache
def output() -> bytes:
    """Return what tools print: short lines, indents, quotes, brackets."""
    return _river("output", RIVER_BYTES, _output_end)


@cache
def noise() -> bytes:
    """Return base64 of nothing: images and signatures."""
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return random.Random("noise").randbytes(RIVER_BYTES // 2).translate(letters * 4)


def piece(river: bytes, start: int, size: int) -> bytes:
    """Return about `size` bytes of a river, cut at blanks, so that neither characters nor escapes are torn."""
    if size <= 0:
        return b""
    begin = river.find(b" ", start) + 1
    end = river.find(b" ", begin + size - 1)
    return river[begin:] if end < 0 else river[begin:end]


def _river(seed: str, size: int, end: list[str]) -> bytes:
    rng = random.Random(seed)
    words = vocabulary()
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))
    parts: list[bytes] = []
    length = 0
    while length < size:
        chosen = rng.choices(words, cum_weights=weights, k=100_000)
        ends = rng.choices(end, k=len(chosen))
        block = "".join([word + after for word, after in zip(chosen, ends, strict=True)]).encode()
        parts.append(block)
        length += len(block)
    return b"".join(parts)[:size].rsplit(b" ", 1)[0] + b" "


_emoji = [f" {each} " for each in EMOJI]
_cjk = [f" {''.join(CJK_PIECES[start : start + 5])}，{CJK_PIECES[start]} " for start in range(len(CJK_PIECES))]
_prose_end = [" "] * 1500 + [", "] * 110 + [". "] * 110 + [".\\n\\n "] * 25 + ["\\n- "] * 20 + _emoji[:1]
_foreign_end = _cjk * 2 + [f" {word} " for word in CYRILLIC] + [" "] * 60 + ["。\\n "] * 10
_output_end = (
    [" "] * 700
    + ["\\n "] * 120
    + ["\\n    "] * 120
    + ["\\n\\t "] * 30
    + [" = "] * 60
    + [' (\\"'] * 20
    + ['\\") ', "): ", "() ", " { ", " }\\n ", " // ", " # ", " -> ", " | ", "\\\\n "] * 12
)

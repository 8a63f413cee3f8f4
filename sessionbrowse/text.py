"""Make text from files safe and readable: sanitising, display width, ages, sizes, times, exact JSON.

Text of a session file passes `clean` or `clean_lines` before it reaches a terminal. This module knows nothing about
sessions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cached_property, lru_cache

import msgspec


class LazyPattern:
    """A regular expression compiled at its first use: compiling all patterns takes 5 % of the browser's start time."""

    def __init__(self, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    @cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        """Return the first match in a text, or None."""
        return self._compiled.search

    @cached_property
    def fullmatch(self) -> Callable[[str], re.Match[str] | None]:
        """Return a match if the pattern matches a whole text, else None."""
        return self._compiled.fullmatch

    @cached_property
    def sub(self) -> Callable[[str | Callable[[re.Match[str]], str], str], str]:
        """Replace every match in a text."""
        return self._compiled.sub


ELLIPSIS = "…"

MARKS_SHOWN = 6
"""Maximum number of zero-width characters kept on one letter; more of them would cover the rows above and below."""

JOINS_SHOWN = 4
"""Maximum number of zero-width joiners kept in one emoji; the longest emoji in use has three."""

# Characters that always take one or two terminal cells of their own; text of only these characters needs no cleaning.
_PLAIN = (
    "\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u058f\u05d0-\u05f4\u0620-\u064a\u0660-\u066f\u0671-\u06d5"
    "\u10a0-\u10ff\u1e00-\u1fff\u2010-\u2027\u202f-\u205e\u2070-\u20cf\u2100-\u2bff\u2e80-\u3029\u3030-\u3098"
    "\u309b-\u3163\u3165-\ua4cf\uac00-\ud7a3\ue000-\ufaff\uff01-\uff9f"
    "\U0001f000-\U0001f3fa\U0001f400-\U0001faff\U00020000-\U0002fffd"
)


_ODD = LazyPattern(f"[^{_PLAIN}]")
# Matches what `_ODD` matches, that is every character that may need cleaning, and also harmless characters from U+10000
# on. It is tried first, because it compiles three times as fast.
_MAYBE_ODD = LazyPattern(
    "[\x00-\x1f\x7f-\x9f\xad\u0300-\u036f\u0483-\u0489\u0590-\u05cf\u05f5-\u061f\u064b-\u065f\u0670\u06d6-\u109f"
    "\u1100-\u1dff\u2000-\u200f\u2028-\u202e\u205f-\u206f\u20d0-\u20ff\u2c00-\u2e7f\u302a-\u302f\u3099\u309a"
    "\u3164\ua4d0-\uabff\ud7a4-\udfff\ufb00-\uff00\uffa0-\U0010ffff]"
)
_ODD_RUN = LazyPattern(f"[^{_PLAIN}]{{{MARKS_SHOWN + 1},}}")

_CONTROL = LazyPattern("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NOT_A_CHARACTER = LazyPattern("[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

# Invisible characters that can hide or reorder others: bidi controls, soft hyphen, fillers, invisible operators,
# interlinear marks, shorthand and musical controls, tags, and variation selectors except 15 and 16.
_INVISIBLE_SET = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE = LazyPattern(f"[{_INVISIBLE_SET}]")

# A zero-width joiner has a meaning only between two emoji, a skin tone only after an emoji, and a zero-width non-joiner
# only in Persian and Indic words.
_PICTURE = "[\u2194\u2195\u2600-\u27bf\u2b1b\U0001f000-\U0001faff]"
_TONE = "[\U0001f3fb-\U0001f3ff]"
_STRAY_JOINER = LazyPattern(f"(?<!{_PICTURE})(?<!{_PICTURE}\ufe0f)\u200d|\u200d(?!{_PICTURE})")
_STRAY_TONE = LazyPattern(f"(?<!{_PICTURE})(?<!{_PICTURE}\ufe0f){_TONE}|(?<={_TONE}){_TONE}")
_STRAY_NON_JOINER = LazyPattern("(?<![\u0600-\u0dff])\u200c|\u200c(?![\u0600-\u0dff])")
_LONG_JOIN = LazyPattern(f"((?:{_PICTURE}{_TONE}?\ufe0f?\u200d){{{JOINS_SHOWN}}}{_PICTURE}{_TONE}?\ufe0f?)\u200d")

_NOT_RAW_IN_JSON = LazyPattern(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{_INVISIBLE_SET}]")
_JSON_STRING_OR_NAN = LazyPattern(r'"[^"\\]*(?:\\.[^"\\]*)*"|-?Infinity|NaN')

_MS_PER_MINUTE = 60_000
_MS_PER_DAY = 86_400_000
_USUAL_LENGTH = len("2026-11-21T08:00:00.000Z")
_LATEST_MS = 8_640_000_000_000_000  # ECMAScript limits dates to 100,000,000 days from 1970.
_ISO = LazyPattern(
    r"(?P<year>\d{4}|[+-]\d{6})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?"
    r"(?:(?P<at>[Tt ])(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?"
    r"(?P<zone>[Zz]|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)


# ---- sanitising --------------------------------------------------------------------------------------------


def clean(text: str) -> str:
    """Return `text` as one line that is safe to print on a terminal.

    Line ends, tabs and other control characters become blanks. Escape sequences, bidi controls and invisible characters
    are removed. Lone surrogates become U+FFFD. The number of marks on one letter is limited. Emoji with
    joiners are kept.
    """
    if _is_plain(text):
        return text
    return _visible(_CONTROL.sub(" ", without_sequences(text).replace("\r\n", "\n")))


def clean_lines(text: str, *, tab_size: int = 4) -> list[str]:
    """Return `text` as cleaned lines, split at LF, CR LF and CR only; tabs are expanded to columns of `tab_size`."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return [line if _is_plain(line) else _clean_line(line, tab_size) for line in text.split("\n")]


def _is_plain(text: str) -> bool:
    """Return True if `text` needs no cleaning; most texts are ASCII, so ASCII is tested first."""
    if text.isascii() and text.isprintable():
        return True
    found = _MAYBE_ODD.search(text)
    return found is None or (found[0] > "\uffff" and not _ODD.search(text))


def _clean_line(line: str, tab_size: int) -> str:
    pieces = [_visible(_CONTROL.sub(" ", piece)) for piece in without_sequences(line).split("\t")]
    for index, piece in enumerate(pieces[:-1]):
        pieces[index] = piece + " " * (tab_size - width(piece) % tab_size)
    return "".join(pieces)


def _visible(text: str) -> str:
    """Remove the characters that hide, reorder or cover others from a text that has no control characters."""
    if _is_plain(text):
        return text
    text = _NOT_A_CHARACTER.sub("\ufffd", _INVISIBLE.sub("", text))
    text = _STRAY_NON_JOINER.sub("", _STRAY_TONE.sub("", text))
    if "\u200d" in text:
        text = _LONG_JOIN.sub(r"\1", _STRAY_JOINER.sub("", text))
    text = _ODD_RUN.sub(_capped, text)
    if text and _is_zero_width(text[0]):
        return "\N{DOTTED CIRCLE}" + text  # A mark without a letter would be drawn on the cell to its left.
    return text


def _capped(run: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for character in run[0]:
        marks = marks + 1 if _is_zero_width(character) else 0
        if marks <= MARKS_SHOWN:
            kept.append(character)
    return "".join(kept)


# ---- escape sequences --------------------------------------------------------------------------------------


def without_sequences(text: str) -> str:
    """Return `text` without escape sequences: colours, cursor movements, links, titles and other terminal commands.

    No sequence goes beyond its line, and an unfinished one ends at the first blank. Other control characters stay.
    A search reads texts in this form, because they are displayed so.
    """
    if "\x1b" not in text and (text.isascii() or _EIGHT_BITS.search(text) is None):
        return text
    return _SEQUENCE.sub("", text)


# Escape sequences are removed as a whole: without its escape character, a sequence would be shown as "[31m" or as the
# address of a link. Nothing in these patterns can be matched in two ways, so a search takes linear time.
_STRING = r"[^\x00-\x08\x0a-\x1f\x7f-\x9f]*+(?:\x07|\x1b{1,2}\\|\x9c)"
_FINAL = r"(?: [@-~](?![a-z])|[!-/]*+[@-~]?)"
_SEQUENCE = LazyPattern(
    rf"\x1b(?:\[[0-?]*+{_FINAL}"  # colours and the cursor
    rf"|[]PX^_k]{_STRING}"  # links, titles, the clipboard, images
    # An unfinished sequence ends before the first blank or non-ASCII letter, so that it can hide an address but no
    # sentence.
    r"|[]PX^_][!-~]*+"
    r"|[(*)+./-][A-Z0-9<=>]|%[@G8]|\#[3-68]|[6-9<=>\\|}~]|[DEHMNOZc](?![a-z])"  # character sets, states
    r"|(?=[\x1b\r\n]|\Z))"
    # These sequences may also begin with an 8-bit control character, unless it is a byte of a UTF-8 letter that was
    # decoded as Latin-1 or Windows-1252.
    r"|(?<![\xc2-\xdf])(?<![\xe0-\xf4][^\x00-\x7f])(?<![\xf0-\xf4][^\x00-\x7f]{2})"
    rf"(?:\x9b(?:[0-?]++{_FINAL}|[HJKm])|[\x90\x98\x9d-\x9f]{_STRING}|\x9d[0-9]++;[!-~]*+)"
)
_EIGHT_BITS = LazyPattern("[\x90\x98\x9b\x9d-\x9f]")


# ---- display width -----------------------------------------------------------------------------------------


def width(text: str) -> int:
    """Return the number of terminal cells that cleaned `text` takes, according to Textual's width table."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # Imported here because it takes 4 ms, and ASCII text does not need it.

    return cell_len(text)


def truncate(text: str, cells: int) -> str:
    """Return cleaned `text` cut to at most `cells` cells, never inside a letter with marks or an emoji."""
    # The width of a text that is much too long is not measured, because that takes time.
    if len(text) <= 2 * cells and width(text) <= cells:
        return text
    room = cells - width(ELLIPSIS)
    if room < 0:
        return ""
    if text.isascii():
        return text[:room] + ELLIPSIS
    used = cut = 0
    for start, end in _clusters(text):
        used += width(text[start:end])
        if used <= room:
            cut = end
        if used > cells:
            return text[:cut] + ELLIPSIS
    return text


def fit(text: str, cells: int) -> str:
    """Return cleaned `text` in exactly `cells` cells: truncated or padded."""
    text = truncate(text, cells)
    return text + " " * (cells - width(text))


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each letter with its marks, each joined emoji and each flag."""
    end, size = 0, len(text)
    while end < size:
        start = end
        end += 1
        if end < size and _is_flag_half(text[start]) and _is_flag_half(text[end]):
            end += 1
        while end < size:
            if text[end] == "\u200d":
                end = min(end + 2, size)
            elif _is_zero_width(text[end]):
                end += 1
            else:
                break
        yield start, end


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _is_zero_width(character: str) -> bool:
    if character.isascii():
        return False
    from rich.cells import get_character_cell_size

    return get_character_cell_size(character) == 0


# ---- amounts -----------------------------------------------------------------------------------------------


def plural(count: int, word: str, words: str | None = None) -> str:
    """Return a number with its noun: `1 session`, `2,140 sessions`."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"


def size(byte_count: float) -> str:
    """Return a number of bytes in short form: `786B`, `1.5KB`, `214MB`."""
    if byte_count < 1024:
        return f"{byte_count:.0f}B"
    for unit in ("KB", "MB", "GB"):
        byte_count /= 1024
        if byte_count < 1023.5:
            return _short(byte_count) + unit
    return _short(byte_count / 1024) + "TB"


def tokens(count: float) -> str:
    """Return a number of tokens in short form: `812`, `12.4k`, `3.1M`, `45.2B`; from 999.5 billion on `999B+`."""
    if not count < _MOST_TOKENS:
        return "999B+"
    if count < 999.5:
        return f"{count:.0f}"
    if count < 999_500:
        return _short(count / 1000) + "k"
    return _short(count / 1e6) + "M" if count < 999_500_000 else _short(count / 1e9) + "B"


def cost(dollars: float) -> str:
    """Return US dollars in short form: `$1.20`; below half a cent `<$0.01`, from a billion dollars on `$999M+`."""
    if dollars < 0:
        return f"-{cost(-dollars)}"
    if not dollars < _MOST_DOLLARS:
        return "$999M+"
    return "<$0.01" if 0 < dollars < 0.005 else f"${dollars:,.2f}"


def model_name(provider: object, model: object) -> str | None:
    """Return `provider/model`, or only the part that is there; None if both are missing."""
    return "/".join([str(part) for part in (provider, model) if part]) or None


# A session file can contain any number, but a column has room for a few characters only.
_MOST_TOKENS = 999.5e9
_MOST_DOLLARS = 1e9


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if value < 99.95 else f"{value:.0f}"


def shell_quote(text: str) -> str:
    """Return `text` quoted as one word for dash, bash, zsh, fish and busybox; control characters stay as they are.

    Backslashes and single quotes are put outside the single quotes, because fish reads escapes inside them. Bytes of a
    path that are not UTF-8 stay surrogates. NUL and other lone surrogates, which no path has, become U+FFFD.
    """
    if _SHELL_WORD.fullmatch(text):
        return text
    if not _ESCAPED_BYTES_ONLY.fullmatch(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return "'" + _QUOTE_OR_BACKSLASH.sub(r"'\\\g<0>'", text.replace("\0", "\ufffd")) + "'"


# zsh expands a leading "=", and fish expands "%self". So words with "=" or "%" are quoted, although `shlex` would not
# quote them.
_SHELL_WORD = LazyPattern("[A-Za-z0-9_@+:,./-]+")
_QUOTE_OR_BACKSLASH = LazyPattern(r"['\\]")
_ESCAPED_BYTES_ONLY = LazyPattern("[^\ud800-\udfff]*(?:[\udc80-\udcff][^\ud800-\udfff]*)*")


def shorten_home(path: str, home: str) -> str:
    """Return `path` with the user's home directory written as `~`."""
    home = home.rstrip("/\\")
    if home and (path == home or path.startswith((home + "/", home + "\\"))):
        return "~" + path[len(home) :]
    return path


# ---- times -------------------------------------------------------------------------------------------------


def age(then: float | str | None, now: float) -> str:
    """Return the age of `then` (ms or ISO 8601) at `now` (ms) in the form of pi 1.5.2; "" if `then` is not a time.

    The forms are `now` (also for the future), `5m`, `5h`, `5d`, `5w`, `5mo` (months of 30 days) and `5y`.
    """
    then = time_ms(then)
    if then is None or not is_time(then):
        return ""
    minutes = int((now - then) // _MS_PER_MINUTE)
    hours, days = minutes // 60, minutes // 1440
    if minutes < 1:
        return "now"
    if days < 1:
        return f"{minutes}m" if hours < 1 else f"{hours}h"
    if days < 30:
        return f"{days}d" if days < 7 else f"{days // 7}w"
    return f"{days // 30}mo" if days < 365 else f"{days // 365}y"


def time_ms(time: str | float | None) -> float | None:
    """Return a time in milliseconds since 1970: an ISO 8601 text is parsed, a number stays as it is."""
    return parse_time(time) if isinstance(time, str) else time


def parse_time(text: str) -> int | None:
    """Return the milliseconds since 1970 of an ISO 8601 time as JavaScript's `Date` (V8) reads it.

    A time without a zone is local, a date without a time is UTC. Digits after the milliseconds are dropped. The 31st of
    a month with 30 days is the first of the next. Returns None if `text` is not such a time.
    """
    if len(text) == _USUAL_LENGTH and text[19] == "." and text[23] == "Z" and text[10] == "T" and text[13] == ":":
        # The form in which all programs write times; Python reads it several times faster.
        with suppress(ValueError):
            return round(datetime.fromisoformat(text).timestamp() * 1000)
    match = _ISO.fullmatch(text)
    if match is None or match["year"] == "-000000" or (match["at"] and not match["day"]):
        return None
    year, month, day = int(match["year"]), int(match["month"] or 1), int(match["day"] or 1)
    hour, minute, second = int(match["hour"] or 0), int(match["minute"] or 0), int(match["second"] or 0)
    in_day = ((hour * 60 + minute) * 60 + second) * 1000 + int((match["fraction"] or "")[:3].ljust(3, "0"))
    if not (
        1 <= month <= 12 and 1 <= day <= 31 and minute < 60 and second < 60 and hour < 25 and in_day <= _MS_PER_DAY
    ):
        return None
    # `date` supports only the years 1 to 9999. So the date is computed in the 400-year cycle (146,097 days) that begins
    # in 2000, and moved by whole cycles.
    cycles, year_of_cycle = divmod(year, 400)
    days = date(2000 + year_of_cycle, month, 1).toordinal() + day - 1 + (cycles - 5) * 146_097
    time_ms = (days - date(1970, 1, 1).toordinal()) * _MS_PER_DAY + in_day
    if match["hour"]:
        offset = _zone_offset(match["zone"], time_ms)
        if offset is None:
            return None
        time_ms -= offset
    return time_ms if abs(time_ms) <= _LATEST_MS else None


def _zone_offset(zone: str | None, wall_ms: int) -> int | None:
    """Return the number of milliseconds by which `zone` (None: this machine's zone) is ahead of UTC."""
    if zone is None:
        try:
            wall = datetime.fromtimestamp(wall_ms / 1000, UTC).replace(tzinfo=None)
            return round(wall_ms - wall.timestamp() * 1000)
        except (OverflowError, OSError, ValueError):
            return 0  # The system's clock functions do not support the year of `wall_ms`.
    if zone in "Zz":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if hours > 23 or minutes > 59:
        return None
    return (hours * 60 + minutes) * _MS_PER_MINUTE * (-1 if zone[0] == "-" else 1)


def duration(seconds: float) -> str:
    """Return a duration in readable form: `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`."""
    minutes = round(seconds / 60)
    if seconds < 60:
        return f"{round(seconds)} s"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days:,} d {hours} h" if hours else f"{days:,} d"


def iso_ms(time_ms: float) -> str:
    """Return milliseconds since 1970 as `2026-08-13T08:00:05.199Z`, as JavaScript's `toISOString` does.

    Raises `ValueError` outside the range of JavaScript's `Date`; check numbers from files with `is_time` first.
    """
    if not is_time(time_ms):
        raise ValueError(f"{time_ms!r} ms is not a time")
    days, in_day = divmod(int(time_ms), _MS_PER_DAY)
    seconds, ms = divmod(in_day, 1000)
    return f"{_iso_date(days)}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{ms:03d}Z"


@lru_cache(maxsize=1024)
def _iso_date(days: int) -> str:
    """Return the date that is `days` after 1 January 1970; cached because many times fall on the same day."""
    cycles, day_of_cycle = divmod(days + date(1970, 1, 1).toordinal() - date(2000, 1, 1).toordinal(), 146_097)
    day = date.fromordinal(date(2000, 1, 1).toordinal() + day_of_cycle)
    year = day.year + cycles * 400
    shown = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+07d}"
    return f"{shown}-{day.month:02d}-{day.day:02d}"


def local_time(time_ms: float) -> datetime | None:
    """Return the local time of a number of ms since 1970; None for years that Python or the system cannot represent."""
    try:
        return datetime.fromtimestamp(time_ms / 1000)
    except (OverflowError, OSError, ValueError):
        return None


def is_time(time_ms: float) -> bool:
    """Return True if a number of milliseconds since 1970 lies in the range of JavaScript's `Date`."""
    return -_LATEST_MS <= time_ms <= _LATEST_MS


# ---- exact data --------------------------------------------------------------------------------------------


def json_exact(value: object) -> str:
    """Return `value` (JSON values, msgspec structs) as one line of exact JSON that is safe to print.

    Control characters, U+2028/2029, lone surrogates, and invisible characters, which hide text from people that a model
    reads, are escaped; NaN and infinities, which JSON does not have, become null.
    """
    try:
        document = msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError):  # msgspec refuses lone surrogates and integers over 64 bits.
        import json

        document = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
        document = _JSON_STRING_OR_NAN.sub(lambda token: token[0] if token[0][0] == '"' else "null", document)
    return escape_json(document)


def escape_json(document: str) -> str:
    """Return JSON documents with control and invisible characters escaped by their code units; line ends stay."""
    if document.isascii() and document.isprintable():
        return document
    return _NOT_RAW_IN_JSON.sub(_json_escape, document)


def _json_escape(character: re.Match[str]) -> str:
    units = character[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join([f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)])

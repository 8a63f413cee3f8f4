"""Find secrets, home directories and user names in text, with the optional package kingfisher-secret-scanner.

Rules in this module and patterns from the settings are applied too. No network is used: no secret is tested.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec import Struct

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.text import clean

INSTALL = "pip install 'sessionbrowse[redact]'"
_KIND = re.compile(r"^[a-z]+\.|\.\d+$")
_DIGIT = re.compile(r"\d")
_PLACEHOLDER = re.compile(
    r"example|changeme|placeholder|dummy|redacted|your[-_]|xxxx|\*\*\*|\.\.\.|…|^(?:test|password|secret)$",
    re.IGNORECASE,
)
_RULES: tuple[tuple[str, re.Pattern[str], bool], ...] = tuple(
    (kind, re.compile(pattern), guessed)
    for kind, pattern, guessed in (
        (
            "private-key",
            r"(-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s\\:,-]{32,}?-----END [A-Z ]*PRIVATE KEY-----)",
            False,
        ),
        ("aws-access-key", r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b", False),
        ("openai-key", r"\b(sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,})", False),
        ("anthropic-key", r"\b(sk-ant-[A-Za-z0-9_-]{20,})", False),
        ("github-token", r"\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})", False),
        ("gitlab-token", r"\b(gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{20,})", False),
        ("slack-token", r"\b(xox[abeprs]-[A-Za-z0-9-]{20,}|xapp-\d-[A-Za-z0-9-]{20,})", False),
        ("slack-webhook", r"(https://hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,})", False),
        ("google-key", r"\b(AIza[A-Za-z0-9_-]{35})", False),
        ("npm-token", r"\b(npm_[A-Za-z0-9]{36})\b", False),
        ("pypi-token", r"\b(pypi-AgE[A-Za-z0-9_-]{50,})", False),
        ("hugging-face-token", r"\b(hf_[A-Za-z]{34})\b", False),
        ("stripe-key", r"\b((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{20,}|whsec_[A-Za-z0-9]{32,})", False),
        ("sendgrid-key", r"\b(SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})", False),
        ("json-web-token", r"\b(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,})", False),
        (
            "password-in-url",
            r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>`]{0,80}:([^\s/@\"'<>`${}\\]{4,100})@[\w\[]",
            True,
        ),
        ("bearer-token", r"\b[Bb]earer\s+([A-Za-z0-9._~+/-]{20,}=*)", True),
        (
            "secret-variable",
            r"\b[A-Z][A-Z0-9_]{0,60}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY)"
            r"[\"']?[=:]\s?[\"']?([^\s\"'`,;&<>(){}\[\]$\\|]{8,200})",
            True,
        ),
    )
)
_HOME = re.compile(r"(?:/home/|/Users/|\b[A-Za-z]:\\+Users\\+|\b[A-Za-z]:/Users/)([A-Za-z0-9][A-Za-z0-9._-]{0,40})")
_ORDINARY = (
    "root user users admin test dev home shared public default guest ubuntu runner node app me you name "
    "username git www data agent system local build code work"
)
_ORDINARY_NAMES = frozenset(_ORDINARY.split())
_LEAST_NAME = 3


class SecretAt(Struct, frozen=True):
    """A secret found in a text: its kind, the secret itself, and its offset in characters (`start`)."""

    kind: str
    secret: str
    start: int


class SecretDetector:
    """Finds secrets, home directories and user names in text.

    `patterns` are regular expressions from the settings, `names` the user names to mask, and `cache` is the directory
    for the compiled rules of the package.

    Raises:
        RefusedWrite: the package is not installed or fails, or a pattern is not valid.
    """

    def __init__(self, cache: str, patterns: Sequence[str] = (), names: Sequence[str] = ()) -> None:
        try:
            from kingfisher_sdk import Rules, Scanner
        except ImportError:
            raise RefusedWrite(f"Finding secrets needs an optional package; install it: {INSTALL}") from None
        try:
            os.makedirs(cache, mode=0o700, exist_ok=True)
            # A policy of the scanner says what to ignore. It is given none, because with a policy, certain words in a
            # session would make it ignore a secret.
            self._scanner = Scanner(Rules(cache_dir=cache), base64=False)
        except Exception as error:
            raise RefusedWrite(f"The rules for secrets cannot be loaded ({error}). Nothing was written.") from error
        try:
            self._patterns = [re.compile(pattern) for pattern in patterns]
        except re.error as error:
            raise RefusedWrite(f"A pattern of the settings is not valid ({error}). Nothing was written.") from None
        self.names = frozenset(name for name in names if is_telling(name))

    def secrets(self, text: str) -> Iterator[SecretAt]:
        """Yield the secrets in a text: all matches of our rules and the user's patterns, then what the package finds.

        A secret that the package finds gets the offset of its first occurrence in the text.
        """
        content = text.encode("utf-8", "surrogatepass")
        try:
            found = [(one.rule_id, one.secret) for one in self._scanner.scan(content) if one.visible]
        except Exception as error:
            raise RefusedWrite(f"The search for secrets failed ({error}). Nothing was written.") from error
        for kind, pattern, is_guessed in _RULES:
            for match in pattern.finditer(text):
                secret = match[1]
                if is_guessed and (_PLACEHOLDER.search(secret) or not _DIGIT.search(secret)):
                    continue
                yield SecretAt(kind, secret, match.start(1))
        for pattern in self._patterns:
            for match in pattern.finditer(text):
                group = 1 if pattern.groups else 0
                if match[group]:
                    yield SecretAt("own-pattern", match[group], match.start(group))
        for rule, secret in found:
            start = text.find(secret)
            if start >= 0 and len(secret) >= 6 and not _PLACEHOLDER.search(secret):
                yield SecretAt(_KIND.sub("", rule), secret, start)

    def people(self, text: str) -> Iterator[SecretAt]:
        """Yield the home directories in a text, and user names: those in home directories and those in `names`."""
        for match in _HOME.finditer(text):
            yield SecretAt("home-directory", match[0], match.start())
            if is_telling(match[1]):
                yield SecretAt("user-name", match[1], match.start(1))
        for name in self.names:
            found = re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text)
            if found:
                yield SecretAt("user-name", name, found.start())


def detector_with(patterns: Sequence[str], problems: Sequence[str], cache: str) -> SecretDetector:
    """Return a detector for the `patterns` of the settings and the current user's name; `cache` keeps compiled rules.

    Raises:
        RefusedWrite: the settings have `problems`, so patterns may be missing; or the detector cannot be made.
    """
    if problems:
        raise RefusedWrite(f"{clean(problems[0])} Patterns of your own may be missing, so nothing was written.")
    names = []
    with suppress(OSError, KeyError, ImportError):
        names.append(getpass.getuser())
    return SecretDetector(os.path.join(cache, "secrets"), patterns, names)


def is_telling(name: str) -> bool:
    """Return True if a user name identifies a person: it is not very short, and no common word such as "admin"."""
    return len(name) >= _LEAST_NAME and name.lower() not in _ORDINARY_NAMES

"""Browse the sessions of pi, omp, atomic and indusagi: the public library.

Names are imported when they are first used, so that `import sessionbrowse` costs nothing.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

# Public name -> module that holds it.
_EXPORTS: dict[str, str] = dict.fromkeys(
    (
        "CURRENT_SESSION_VERSION",
        "ModelChoice",
        "Progress",
        "ProjectedEntry",
        "SessionContext",
        "SessionInfo",
        "SessionManager",
        "SessionProjection",
        "SessionTreeNode",
        "build_context_entries",
        "build_session_context",
        "build_session_projection",
        "get_latest_compaction_entry",
        "migrate_session_entries",
        "parse_session_entries",
        "session_entry_to_context_messages",
    ),
    "sessionbrowse.session_manager",
)

__all__ = ["__version__", *_EXPORTS]


def __getattr__(name: str) -> object:
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})

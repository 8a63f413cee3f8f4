"""Browse the sessions of pi, omp, atomic, indusagi, Claude Code and Codex: the public library.

Names are imported when they are first used, so that `import sessionbrowse` costs nothing.
"""

import _signal  # type: ignore[import-not-found]
import sys

# Ctrl+C during the program's imports must end the program silently: an exception would print a traceback, and may crash
# extension modules that are half initialised. A script that imports this library keeps its own handling of Ctrl+C.
_named = sys.orig_argv if sys.argv[:1] == ["-m"] else [path.rpartition("/")[2] for path in sys.argv[:1]]
if "sessionbrowse" in _named and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING  # noqa: E402

from sessionbrowse.version import __version__  # noqa: E402

if TYPE_CHECKING:
    from sessionbrowse.session_manager import CURRENT_SESSION_VERSION as CURRENT_SESSION_VERSION
    from sessionbrowse.session_manager import ModelChoice as ModelChoice
    from sessionbrowse.session_manager import Progress as Progress
    from sessionbrowse.session_manager import ProjectedEntry as ProjectedEntry
    from sessionbrowse.session_manager import SessionContext as SessionContext
    from sessionbrowse.session_manager import SessionInfo as SessionInfo
    from sessionbrowse.session_manager import SessionManager as SessionManager
    from sessionbrowse.session_manager import SessionProjection as SessionProjection
    from sessionbrowse.session_manager import SessionTreeNode as SessionTreeNode
    from sessionbrowse.session_manager import build_context_entries as build_context_entries
    from sessionbrowse.session_manager import build_session_context as build_session_context
    from sessionbrowse.session_manager import build_session_projection as build_session_projection
    from sessionbrowse.session_manager import convert_session as convert_session
    from sessionbrowse.session_manager import get_latest_compaction_entry as get_latest_compaction_entry
    from sessionbrowse.session_manager import migrate_session_entries as migrate_session_entries
    from sessionbrowse.session_manager import parse_session_entries as parse_session_entries
    from sessionbrowse.session_manager import session_entry_to_context_messages as session_entry_to_context_messages

# Maps each public name to the module that defines it.
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
        "convert_session",
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

"""The text of the POSIX shell script that lists and sends files on another machine. It writes nothing there.

The shell reads the script from standard input, so every command reads from /dev/null instead. Names of files are
absolute paths in quotes.
"""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote

from msgspec import Struct

from sessionbrowse.agents.base import MAX_SETTINGS_BYTES
from sessionbrowse.store.find.discover import NO_SESSION_FILES, NO_SESSION_FOLDERS

MOST_BYTES = 32 * 1024
"""Maximum size of a piece of script in bytes."""
HEAD = 4096
"""The first `HEAD` bytes of a file are compared separately, because omp rewrites its title slot there."""

_NAMES = "HOME|USERPROFILE|TMPDIR|TMP|TEMP|XDG_DATA_HOME|XDG_STATE_HOME"
VARIABLES = f"({_NAMES}|(OMP|PI|ATOMIC|INDUSAGI|CLAUDE|CODEX)_([A-Z]+_)*(DIR|HOME|PROFILE))="
"""Pattern of the environment variables that change where agents keep sessions; no others are sent."""

_NO_SESSIONS = " ".join(
    [f"! -name {name}" for name in sorted(NO_SESSION_FILES)]
    + [f"! -path '*/{name}/*'" for name in sorted(NO_SESSION_FOLDERS)]
)
# The shell functions: e prints the mark that begins an answer, q finds files, r prints a line for each file below the
# current directory, p the same for a given directory, c counts files, f prints a file or its new part, d prints 0 for
# each directory that exists and 1 for others, v prints the agents' variables.
BEGIN = rf"""exec 2>/dev/null; unset CDPATH; LC_ALL=C; export LC_ALL; o=0
e() {{ printf '\n%s %s\n' "$m" "$*"; }}
if find / -maxdepth 0 -printf x; then o=1; elif stat -c %i /; then o=2; elif stat -f %i /; then o=3
fi >/dev/null </dev/null
q() {{ a=$1 b=$2; shift 2; find . "$a" "$b" {_NO_SESSIONS} "$@"; }}
r() {{ case $o in
1) q "$@" -printf '%i %s %T@ %C@ %p\n';;
2) q "$@" -exec stat -c '%i %s %Y %Z %n' {{}} +;;
3) q "$@" -exec stat -f '%i %z %Fm %Fc %N' {{}} +;;
*) false;; esac; }}
p() {{ [ ! -d "$1" ] || (cd "$1" && shift && r "$@") }}
c() {{ [ ! -d "$1" ] || (cd "$1" && shift && q "$@" | grep -c '^\./') }}
f() {{ if [ -f "$1" ] && [ ! -h "$1" ]; then k=w
if [ $# -gt 1 ] && [ "$(tail -c +{HEAD + 1} "$1" | head -c "$4" | cksum)" = "$5" ]; then
if [ "$(head -c "$2" "$1" | cksum)" = "$3" ]; then k=t; elif [ "$4" != 0 ]; then k=h; fi; fi
echo $k; case $k in w) cat "$1";; t) tail -c +"$6" "$1";; h) head -c {HEAD} "$1" && tail -c +"$6" "$1";; esac
else echo -; fi </dev/null; e $?; }}
d() {{ for n; do [ -d "$n" ]; printf $?; done; e; }}
v() {{ grep -E '^({VARIABLES})'; }}
e "$(date +%s) $o"
"""

# csh and tcsh do not accept -l together with -c. In an unknown shell, -l may mean something else, so `sh` is used.
SURROUNDINGS = """uname -s; printf '%s\\n' "$SHELL"; echo "$(uname -n) $(cd && r -maxdepth 0 -type d </dev/null)"
env | v
case $SHELL in */csh|*/tcsh) "$SHELL" -c env;; */bash|*/zsh|*/fish|*/dash|*/ash|*/ksh|*/mksh|*/sh) "$SHELL" -l -c env;;
*) sh -l -c env;; esac </dev/null | v"""


class Folder(Struct, frozen=True):
    """A directory to search on the other machine, for files with one of the suffixes, down to a depth."""

    root: str
    depth: int
    suffixes: tuple[str, ...]
    is_flat: bool = False

    def sum(self) -> str:
        """Return the command that prints a checksum of the sorted rows of all files."""
        return f"p {self._files()} </dev/null | sort | cksum"

    def rows(self) -> str:
        """Return the command that prints the rows, then the mark, the exit status, and the number of omitted names.

        Names with control characters are omitted: a newline in a name would look like two rows.
        """
        odd = f"$(c {self._files('')} </dev/null)"
        return f'p {self._files()} </dev/null; e "$? {odd}"'

    def newer_rows(self, time_s: float) -> str:
        """Return the command that prints the rows of files that changed since a time, then the mark."""
        return f"p {self._files()} </dev/null | awk '$4 >= {time_s}'; e"

    def holds(self, path: str) -> bool:
        """Return True if the search for rows would find a file with this path."""
        depth = path.count("/") - self.root.count("/")
        return path.startswith(self.root + "/") and depth <= self.depth and path.endswith(self.suffixes)

    def _files(self, negation: str = "! ") -> str:
        names = " -o ".join([f"-name {quote('*' + suffix)}" for suffix in self.suffixes])
        found = f"{quote(self.root)} -maxdepth {self.depth} -type f \\( {names} \\)"
        return f"{found} {negation}-path '*[[:cntrl:]]*'"


def question(kind: str, path: str) -> str:
    """Return the command that answers a question about the disk (see `agents.Disk`), then prints the mark."""
    name = quote(path)
    match kind:
        case "directory":
            command = f"[ -d {name} ] && echo 1"
        case "names":
            command = f'for n in {name}/*; do printf "%s\\n" "${{n##*/}}"; done'
        case _ if path.endswith(".env"):
            # Other lines of these files may contain secrets.
            command = (
                rf"[ -f {name} ] && grep -E '^[[:blank:]]*(export[[:blank:]]+)?{VARIABLES[:-1]}[[:blank:]]*=' {name}"
            )
        case _:
            command = f"[ -f {name} ] && head -c {MAX_SETTINGS_BYTES} {name}"
    return f"{{ {command}; }} </dev/null; e"


def in_pieces(commands: Iterable[str]) -> Iterable[list[str]]:
    """Divide commands into lists that each fit into one piece of script."""
    piece: list[str] = []
    size = 0
    for command in commands:
        length = len(command.encode()) + 1
        if piece and size + length > MOST_BYTES - 64:
            yield piece
            piece, size = [], 0
        piece.append(command)
        size += length
    if piece:
        yield piece

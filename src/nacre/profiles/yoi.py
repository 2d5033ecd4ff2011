"""yoi: a line about the command and the last 80 lines of its output; a file has all of it. Waits for background jobs.

It has no command rules: the host's permission layer decides what may run. The document has lost all text in
angle brackets; here it is filled in as it was probably meant.
"""

from nacre.policy.policy import EVERYTHING
from nacre.profiles.answer_format import Summary
from nacre.profiles.profile import Profile
from nacre.profiles.tool import Parameter, Tool
from nacre.types import KIB, MIB

_DESCRIPTION = """\
Execute a shell command via bash. Supports the full shell — pipes, redirects, command substitution, `&&`/`||`. Each \
call runs in a fresh shell rooted at the workspace; chain `cd <dir> && cmd` when you need to operate elsewhere. stdout \
and stderr are merged. Default timeout 120s, max 600s.

Output handling: when the command produces more than 80 lines (or ~12 KiB), the full output is saved to a file and \
only the LAST 80 lines are returned, prefixed with the saved path. The path is readable by Read; you can also inspect \
it from a follow-up Bash call (`grep ... <path>`, etc.).

Prefer dedicated tools when one fits: Read instead of `cat`/`head`/`tail` on workspace files, Edit instead of \
`sed`/`awk` rewrites, Glob instead of `find <dir>`, Grep instead of `grep`/`rg`. Reach for Bash when the task is \
shell-shaped: building, testing, version control, package management."""

YOI = Profile(
    name="yoi",
    timeout=120,
    max_timeout=600,
    merge=True,
    leftovers="wait",
    output=1 * MIB,  # its last half is always kept; the view reads half of that
    spill=256 * MIB,
    policy=EVERYTHING,
    tool=Tool(
        name="Bash",
        description=_DESCRIPTION,
        parameters=(
            Parameter(
                name="command",
                kind="string",
                to="command",
                required=True,
                description="Shell command to execute. Passed verbatim to `bash -c`.",
            ),
            Parameter(
                name="timeout",
                kind="integer",
                to="timeout",
                minimum=0,
                clamped=(1, 600),
                nullable=True,
                default=120,
                description="Timeout in seconds. Defaults to 120, capped at 600.",
            ),
        ),
        error_text="invalid Bash input: ",
    ),
    view=Summary(lines=80, bytes=12 * KIB, window=256 * KIB, command=80),
)

"""The text of `bash -c`: wait at the gate, take the command, run it. Pure.

`BASH_EXECUTION_STRING` is where bash itself keeps the text of `-c`, so the command's shell has no variable it would not
have had. `LC_ALL=C`, because in a UTF-8 locale `read` loses a byte 1 that follows half a character. `SECONDS=0`,
because the shell may have waited at its gate for a while. The gate opens with `START`: who reads no such thing was not
released, whatever else was read.
"""

from __future__ import annotations

START_PIPE_FD, TEXT_FD, STATE_FD = 9, 8, 63
"""Open while the command comes in; the last only in a session, and until its end."""
INLINE_COMMAND_MAX_BYTES = 4000
"""Bytes that fit a pipe at once, whatever its size; a longer text comes as a file."""
START, START_FROM_FILE = b"\0", b"\n"
"""After the text; or alone, when that is a file of its own."""
START_DEFERRED = b"\n"
"""Before the text, for a shell that first has to become another one: see `deferred_bash_argv`."""

SHELL_MARKER = "IFS= LC_ALL=C read -r"
"""How every shell of ours looks in a listing, and every fork of it that has not become another program."""

_READ_COMMAND = f'{SHELL_MARKER} -d "" -u 9 BASH_EXECUTION_STRING||exit 125;exec 9<&-;'
_READ_COMMAND_FROM_FILE = (
    f"{SHELL_MARKER} -u 9 BASH_EXECUTION_STRING||exit 125;"
    f'{SHELL_MARKER} -d "" -u 8 BASH_EXECUTION_STRING;exec 8<&- 9<&-;'
)
_RUN = '[[ $BASH_EXECUTION_STRING ]]||exit 125;SECONDS=0;eval -- "$BASH_EXECUTION_STRING"'

# A session: tell directory and environment on the way out, also by `exit` (the trap), also when the command has a
# trap of its own (after the text; but not both), once, and unseen by `set -x`. An empty entry marks the end.
# `builtin`, here and below: the command may have functions of these names.
_WRITE_STATE = (
    "{ builtin set +x; } 2>/dev/null;"
    "if [[ -z ${NACRE_TOLD-} ]];then { "
    'builtin printf "%s\\0" "$PWD" >&63;/usr/bin/env -0 >&63&&builtin printf "\\0" >&63; } 2>/dev/null;fi'
)
_AND_WRITE_STATE = f"{_WRITE_STATE};NACRE_TOLD=1;"
# An array is never exported, and the command's own parameters stay what they are.
_SAVE_STATUS = '{ NACRE_STATUS=("$?"); builtin set +x; } 2>/dev/null;'
_EXIT = 'builtin exit "$NACRE_STATUS"'

# How each command of the last pipeline ended: only a line of the text itself can see that. An assignment, because it
# neither changes what is trapped nor lets an exit status be lost. `stages` sees to it that nobody sees it: so no
# descriptor is redirected for it, which a shell may be unable to do. Where the text leaves by `exit`, or breaks off,
# nothing is told; and a variable of that name in the environment is no array.
_RUN_WITH_PIPESTATUS = f"""{_RUN}$'\\nNACRE_STATUS=("$?" told "${{PIPESTATUS[@]}}")'"""
_SAVE_PIPESTATUS = (
    'NACRE_STATUS=("$?" "${NACRE_STATUS[@]-}");'
    "if [[ ${NACRE_STATUS[2]-} == told ]];then "
    '{ builtin printf "%s " "${NACRE_STATUS[@]:3}"; builtin printf "\\0"; } >&63;'
    'NACRE_STATUS=("${NACRE_STATUS[1]}");fi;'
)

# The jobs of the shell, not what a program has made a daemon. Not after `exit`: who says that does not want to wait.
_WAIT = "{ builtin wait; } 2>/dev/null;"

STARTUP_VARIABLE = "NACRE_BASH_ENV"
"""Holds what BASH_ENV is to be, until the gate is open: bash would run that file before it has its limits."""
_STARTUP = (
    f"export BASH_ENV=${STARTUP_VARIABLE};unset {STARTUP_VARIABLE};"
    '[[ $BASH_ENV ]]&&eval "[[ -f \\"$BASH_ENV\\" ]]&&. \\"$BASH_ENV\\"";'
)

DEFERRED_PREFIX = b"NACRE_DEFERRED_"
"""Stands before the name of a variable that is held back, until the shell may have it."""
FUNCTION_PREFIX = b"BASH_FUNC_"
"""Names an exported function. Only `-p` holds it back: no shell could export such a name again."""
_DEFERRED = (
    'NACRE_OPTIONS=();for NACRE_NAME in "${!NACRE_DEFERRED_@}";do '
    "case $NACRE_NAME in "  # read-only in a shell, or complained of as soon as they are set, and again by the next one
    "*_SHELLOPTS|*_BASHOPTS|*_BASH_COMPAT|*_BASH_XTRACEFD)"
    'NACRE_OPTIONS+=("${NACRE_NAME#NACRE_DEFERRED_}=${!NACRE_NAME}");;'
    '*)export "${NACRE_NAME#NACRE_DEFERRED_}=${!NACRE_NAME}";;esac;'
    'unset "$NACRE_NAME";done;'
    'if [[ ${NACRE_OPTIONS-} ]];then exec /usr/bin/env "${NACRE_OPTIONS[@]}" "$1" -c "$2" bash;fi;'
    'exec -a bash "$1" -c "$2"'
)


def deferred_bash_argv(bash: bytes, text: str, files: int | None) -> list[bytes | str]:
    """Arguments for a bash that waits for `START_DEFERRED`, and then becomes one that has the deferred variables and
    runs `text`: the loader and bash act on them as soon as bash starts, so it is started once more, by then with its
    tag and limits. `files` as in `bootstrap_script`."""
    return [
        "bash",
        "-p",
        "-c",
        f"{SHELL_MARKER} -u 9 NACRE_NAME||exit 125;{_limit(files)}{_DEFERRED}",
        "bash",
        bash,
        text,
    ]


def _limit(files: int | None) -> str:
    return "" if files is None else f"ulimit -Sn {files} 2>/dev/null;"


def bootstrap_script(
    *,
    long: bool,
    session: bool,
    stages: bool,
    startup: bool,
    files: int | None,
    waits: bool = False,
    mark: str = "",
) -> str:
    """`long`: the command is a file of its own, and the gate only says when. `stages`: say how each command of the last
    pipeline ended. `startup`: there is a BASH_ENV. `files`: how many descriptors the command may have, where only the
    shell itself can set that. `waits`: it exits when its jobs have ended. `mark`: a pipe, its path as a
    word of bash, that is told with which status it exits; a signal lets it tell another, or none. It is opened for both
    ways: whoever listens may have been ended a moment before, and a pipe without a reader would not open."""
    before = (_READ_COMMAND_FROM_FILE if long else _READ_COMMAND) + _limit(files) + (_STARTUP if startup else "")
    wait = _WAIT if waits else ""
    last = (f'{{ builtin printf "said %d\\n" "$?" 1<>{mark};builtin set +x; }} 2>/dev/null;' if mark else "") + (
        _WRITE_STATE if session else ""
    )
    if last:
        inner = last.replace("'", "'\\''")
        before += f"trap '{inner}' EXIT;"
    if session:
        run = f"{_RUN_WITH_PIPESTATUS};{_SAVE_PIPESTATUS}" if stages else f"{_RUN};{_SAVE_STATUS}"
        return f"{before}{run}{wait}{_AND_WRITE_STATE}{_EXIT}"
    # between times the descriptor is bash's own, which no command inherits
    if stages:
        return f"{before}{_RUN_WITH_PIPESTATUS} 63>&-;{_SAVE_PIPESTATUS}{wait}{_EXIT}"
    return f"{before}{_RUN};{_SAVE_STATUS}{wait}{_EXIT}" if waits else before + _RUN

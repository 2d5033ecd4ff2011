"""The script for `bash -c`: wait for the start signal, read the command, run it. Pure.

`BASH_EXECUTION_STRING` is where bash itself keeps the argument of `-c`, so the command's shell has no extra variable.
`LC_ALL=C`, because in a UTF-8 locale `read` loses a byte 1 that follows half a character. `SECONDS=0`, because the
shell may have waited for its start signal for a while. The start signal is `START`: a shell that does not read it was
not released, whatever else it has read.
"""

from __future__ import annotations

START_PIPE_FD, TEXT_FD, STATE_FD = 9, 8, 63
"""File descriptors in the shell. The first two are open while it reads the command; the last is open until the shell
exits, and only if it reports its state."""
INLINE_COMMAND_MAX_BYTES = 4000
"""Bytes that fit into any empty pipe at once; a longer command is passed as a file."""
START, START_FROM_FILE = b"\0", b"\n"
"""Start signals, written after the command, or alone if the command is passed as a file."""
START_DEFERRED = b"\n"
"""Written before the command, to a shell that first has to replace itself: see `deferred_bash_argv`."""

SHELL_MARKER = "IFS= LC_ALL=C read -r"
"""Beginning of the script of every shell that nacre starts. In a process list, it also marks forks of the shell that
have not execed another program."""

_READ_COMMAND = f'{SHELL_MARKER} -d "" -u 9 BASH_EXECUTION_STRING||exit 125;exec 9<&-;'
_READ_COMMAND_FROM_FILE = (
    f"{SHELL_MARKER} -u 9 BASH_EXECUTION_STRING||exit 125;"
    f'{SHELL_MARKER} -d "" -u 8 BASH_EXECUTION_STRING;exec 8<&- 9<&-;'
)
_RUN = '[[ $BASH_EXECUTION_STRING ]]||exit 125;SECONDS=0;eval -- "$BASH_EXECUTION_STRING"'

# A session: report working directory and environment when the shell exits; also after `exit` (by the trap), also when
# the command sets its own EXIT trap (after the command; but not after both), only once, and not visible to `set -x`. An
# empty entry marks the end. `builtin`, here and below: the command may define functions of these names.
_WRITE_STATE = (
    "{ builtin set +x; } 2>/dev/null;"
    "if [[ -z ${NACRE_TOLD-} ]];then { "
    'builtin printf "%s\\0" "$PWD" >&63;/usr/bin/env -0 >&63&&builtin printf "\\0" >&63; } 2>/dev/null;fi'
)
_AND_WRITE_STATE = f"{_WRITE_STATE};NACRE_TOLD=1;"
# An array is never exported, and the command's positional parameters stay unchanged.
_SAVE_STATUS = '{ NACRE_STATUS=("$?"); builtin set +x; } 2>/dev/null;'
_EXIT = 'builtin exit "$NACRE_STATUS"'

# Exit status of each command of the last pipeline (PIPESTATUS): only a line of the command itself can read it. That
# line is an assignment, because an assignment neither changes traps nor loses an exit status. The caller sets `stages`
# only if the command cannot notice that line, so no descriptor is redirected for it, which a shell may be unable to do.
# If the command leaves by `exit` or stops at a syntax error, nothing is reported; and a variable of that name in the
# environment is not an array.
_RUN_WITH_PIPESTATUS = f"""{_RUN}$'\\nNACRE_STATUS=("$?" told "${{PIPESTATUS[@]}}")'"""
_SAVE_PIPESTATUS = (
    'NACRE_STATUS=("$?" "${NACRE_STATUS[@]-}");'
    "if [[ ${NACRE_STATUS[2]-} == told ]];then "
    '{ builtin printf "%s " "${NACRE_STATUS[@]:3}"; builtin printf "\\0"; } >&63;'
    'NACRE_STATUS=("${NACRE_STATUS[1]}");fi;'
)

# Waits for jobs of the shell, not for daemons. Not after `exit`: a command that calls it does not want to wait.
_WAIT = "{ builtin wait; } 2>/dev/null;"

STARTUP_VARIABLE = "NACRE_BASH_ENV"
"""Holds the value of BASH_ENV until the start signal: bash would run that file before the shell has its limits."""
_STARTUP = (
    f"export BASH_ENV=${STARTUP_VARIABLE};unset {STARTUP_VARIABLE};"
    '[[ $BASH_ENV ]]&&eval "[[ -f \\"$BASH_ENV\\" ]]&&. \\"$BASH_ENV\\"";'
)

DEFERRED_PREFIX = b"NACRE_DEFERRED_"
"""Prefix of a variable's name while the variable is withheld from the shell."""
FUNCTION_PREFIX = b"BASH_FUNC_"
"""Prefix of an exported function. Only `bash -p` ignores these: no shell could export such a name again."""
_DEFERRED = (
    'NACRE_OPTIONS=();for NACRE_NAME in "${!NACRE_DEFERRED_@}";do '
    "case $NACRE_NAME in "  # these are read-only, or bash complains when they are set, and again in the next shell
    "*_SHELLOPTS|*_BASHOPTS|*_BASH_COMPAT|*_BASH_XTRACEFD)"
    'NACRE_OPTIONS+=("${NACRE_NAME#NACRE_DEFERRED_}=${!NACRE_NAME}");;'
    '*)export "${NACRE_NAME#NACRE_DEFERRED_}=${!NACRE_NAME}";;esac;'
    'unset "$NACRE_NAME";done;'
    'if [[ ${NACRE_OPTIONS-} ]];then exec /usr/bin/env "${NACRE_OPTIONS[@]}" "$1" -c "$2" bash;fi;'
    'exec -a bash "$1" -c "$2"'
)


def deferred_bash_argv(bash: bytes, text: str, files: int | None) -> list[bytes | str]:
    """Return argv of a bash that waits for `START_DEFERRED`, then execs a bash that has the deferred variables and runs
    `text`. The dynamic loader and bash act on such variables as soon as bash starts; so it is started a second time,
    when the process has its tag and limits. `files` as in `bootstrap_script`."""
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
    report_pipestatus: bool,
    startup: bool,
    files: int | None,
    waits: bool = False,
    mark: str = "",
) -> str:
    """Return the script.

    `long`: the command is passed as a file, and the pipe only carries the start signal. `session`: report the final
    state. `report_pipestatus`: report the exit status of each command of the last pipeline. `startup`: BASH_ENV is set.
    `files`: soft limit of file descriptors, where only the shell itself can set it. `waits`: wait for the shell's jobs
    before exit. `mark`: path of a FIFO, quoted for bash, to which the shell writes its exit status; after a signal, it
    may write another one, or none. The FIFO is opened for reading and writing: its reader may have been killed a moment
    before, and opening a FIFO without a reader would block.
    """
    before = (_READ_COMMAND_FROM_FILE if long else _READ_COMMAND) + _limit(files) + (_STARTUP if startup else "")
    wait = _WAIT if waits else ""
    last = (f'{{ builtin printf "said %d\\n" "$?" 1<>{mark};builtin set +x; }} 2>/dev/null;' if mark else "") + (
        _WRITE_STATE if session else ""
    )
    if last:
        inner = last.replace("'", "'\\''")
        before += f"trap '{inner}' EXIT;"
    if session:
        run = f"{_RUN_WITH_PIPESTATUS};{_SAVE_PIPESTATUS}" if report_pipestatus else f"{_RUN};{_SAVE_STATUS}"
        return f"{before}{run}{wait}{_AND_WRITE_STATE}{_EXIT}"
    # While the command runs, bash itself holds a copy of the descriptor, which no command inherits.
    if report_pipestatus:
        return f"{before}{_RUN_WITH_PIPESTATUS} 63>&-;{_SAVE_PIPESTATUS}{wait}{_EXIT}"
    return f"{before}{_RUN};{_SAVE_STATUS}{wait}{_EXIT}" if waits else before + _RUN

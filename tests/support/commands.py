"""Commands that several tests run."""

from __future__ import annotations

STUBBORN = "setsid sleep 999 & (setsid sh -c 'trap \"\" TERM; sleep 999' &); sleep 999"
"""A process tree that survives a signal to its shell or its process group: own sessions, one process ignores TERM."""

_EACH_PROCESS = "for directory in /proc/[0-9]*; do"

CHILDREN_OF_PARENT = (
    f"{_EACH_PROCESS} {{ read -r _ stat <$directory/stat; }} 2>/dev/null || continue; "
    "set -- ${stat##*) }; [[ $2 != $PPID ]] || echo ${directory#/proc/}; done"
)
"""Prints the PIDs of the shell and its siblings, like `pgrep -P $PPID`, which a minimal system does not have. Clobbers
`$1…`, so use it in a substitution or a subshell."""


def processes_with_word(word: str) -> str:
    """Return a command that prints each argument list that contains `word`, like `pgrep -af word`, in plain bash."""
    return (
        f"{_EACH_PROCESS} {{ mapfile -d '' arguments <$directory/cmdline; }} 2>/dev/null || continue; "
        f'[[ "${{arguments[*]}}" != *{word}* ]] || echo "$directory ${{arguments[*]}}"; done'
    )

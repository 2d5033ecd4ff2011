"""Bash scripts that carry a command into the guest: start it on the host, become its shell in the guest, kill it. Pure.

Both sides see the run directory ("letter"). In the guest, `start_script` becomes the command's shell. On the host, a
shell of nacre's waits for the engine's program and then exits as the command did, or kills itself by the same signal,
so the keeper reports the run as if it had happened on the host.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence

from nacre.keeper.protocol.bootstrap import bootstrap_script
from nacre.types import Limits, Plan

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OWN = "own"
"""Name of a pipe in the run directory for `FOREGROUND` alone."""
_SET_BY_BASH = frozenset("_ BASH SHLVL PWD OLDPWD BASHOPTS SHELLOPTS UID EUID PPID BASH_VERSINFO".split())


def start_script(plan: Plan, *, tag: int | None, letter: str, cwd: str, export: Mapping[str, str]) -> bytes:
    """Return the script that becomes the command's shell. `letter` is the run directory as the guest sees it; `tag`
    identifies the run's processes where the keeper does not see them."""
    lines = [] if tag is None else [f"ulimit -x {tag} || exit 125"]  # untagged, it would count as a process of no run
    lines.append(f"echo begun 1<>{letter}/told")  # <>: opening for writing alone would block if the reader is dead
    if tag is not None:
        lines += [_EXPENDABLE, *_bounds(plan.limits)]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in export.items() if _can_be_exported(name)]
    lines.append(f"if ! cd -- {shlex.quote(cwd)} 2>/dev/null; then echo lost 1<>{letter}/told; exit 125; fi")
    lines.append("unset OLDPWD")  # the shell has not been in another directory
    shell = bootstrap_script(
        long=True,
        session=plan.reports_state,
        report_pipestatus=bool(plan.pipeline_commands),
        startup=False,
        files=None,
        waits=plan.leftovers == "wait",
        mark=f"{letter}/told",
    )
    state = f" 63>{letter}/state" if plan.reports_state or plan.pipeline_commands else ""
    lines.append(f'exec -a bash "$BASH" -c {shlex.quote(shell)} 8<{letter}/text 9<{letter}/gate{state}\n')
    return _encode_text("\n".join(lines))


_EXPENDABLE = (
    "{ read -r score </proc/self/oom_score_adj && ((score < 500)) && echo 500 >/proc/self/oom_score_adj; } 2>/dev/null"
)
"""Makes the kernel's OOM killer choose the command before the processes that wait for it and report its end. A process
that asks for memory while the largest one is dying makes the kernel choose another."""


def _bounds(limits: Limits) -> list[str]:
    """Return the limits of each process. The engine limits memory and the number of processes; CPU time is not counted
    for all processes together."""
    seconds = None if limits.cpu is None else math.ceil(limits.cpu)
    bounds = {
        "-c": 0,
        "-n": limits.open_files,
        "-St": seconds,
        "-Ht": None if seconds is None else seconds + 1,
        "-f": None if limits.file_size is None else max(1, limits.file_size // 1024),
    }
    return [f"ulimit {flag} {value} 2>/dev/null" for flag, value in bounds.items() if value is not None]


def _can_be_exported(name: str) -> bool:
    """Return whether bash can export the variable: its name is valid, and bash does not set it itself."""
    return _NAME.fullmatch(name) is not None and name not in _SET_BY_BASH


_READ_LINE = "IFS=' ' read -r -n 1000 word value <&5"
_READ_LINE_TIMED = "IFS=' ' read -r -t 5 -n 1000 word value <&5"
_GONE = r"builtin printf '\ngone\n' >&5"

_READ_EVENTS = f"""begun= said= code= lost= oom= full= word= lines=0
while {_READ_LINE}; do
    case $word in
    begun) begun=1 && rm -f go ;;
    lost) lost=1 ;;
    said) [[ $value =~ ^[0-9]{{1,3}}$ ]] && said=$value ;;
    code) [[ $value =~ ^[0-9]{{1,3}}$ ]] && code=$value ;;
    oom) [[ $value == [1?] ]] && oom=$value ;;
    full) full=1 ;;
    left) builtin printf 'left %s\\n' "$value" >&63 ;;
    stays | gone) break ;;
    esac
    ((++lines < 500)) || {{ code= && break; }}
done
"""
"""Reads reports from the run directory's pipe. The command can write anything there, too, and any amount: only numbers
and lines of text are used, and after 500 lines the exit status is discarded."""

_EXIT_AS_COMMAND = r"""
[[ $begun ]] && echo begun >&63
[[ $lost ]] && echo lost >&63
if [[ $lost || ! $code || ! $begun ]]; then exit 125; fi
echo ended >&63
code=$((10#$code))
if ((code > 128 && code < 193)) && [[ $said != "$code" ]]; then
    ulimit -c 0
    trap - $((code - 128)) 2>/dev/null
    kill -$((code - 128)) $$
fi
exit "$code"
"""
"""A status above 128 means a signal, unless the shell itself has reported that it exits with this status."""


def host_script(
    command: Sequence[str],
    *,
    letter: str,
    hold: str,
    end: bytes,
    apart: bool,
    memory: int | None = None,
    processes: int | None = None,
) -> bytes:
    """Return the script that starts the engine's program, and exits as the command did.

    Leftovers stay with that program, which keeps running and holds the container; with `apart`, the run itself holds it
    from its start. The run directory exists as long as any process of the run: a tag without a run directory marks
    processes of no run, which are killed. The shell text `end` kills the command if the engine's program exits first,
    and the leftovers of a command that exceeded the container's `memory`.
    """
    ending = f"{{ {end.decode('utf-8', 'surrogateescape')}; }} </dev/null >/dev/null 2>&1 5<&- 7<&- 63>&-"
    holds = f" 7<>{shlex.quote(hold)}" if apart else ""
    return _encode_text(f"""cd -- {shlex.quote(letter)} || exit 125
exec 5<>told{holds}
{{ {shlex.join(command)} 2>&9 9>&- 5<&- 7<&- 63>&-; {_forget(letter)}; {_GONE}; }} <&0 9>&2 2>/dev/null &
client=$!
{_READ_EVENTS}{_out_of(memory, processes)}if [[ $over && $word == stays ]]; then
    set -- 9 0.000
    {ending}
    until [[ $word == gone ]]; do {_READ_LINE_TIMED} || break; done
elif [[ $word == stays ]]; then
    {{ until {_READ_LINE} && [[ $word == gone ]]; do :; done; }} 7<>{shlex.quote(hold)} 63>&- &
elif [[ ! $code ]]; then
    if [[ $begun && ! $lost ]]; then
        set -- 9 0.000
        {ending}
    fi
    kill -9 $client 2>/dev/null  # it may have come to a pipe that is full
    echo over >&63
fi
{_EXIT_AS_COMMAND}""")


def _out_of(memory: int | None, processes: int | None) -> str:
    """Return the script that reports which resource a container has run out of. The kernel counts for the whole
    container; a command that was killed then exceeded its memory limit, if it has one."""
    most = "" if processes is None else f": {processes} at once"
    may = "" if memory is None else "It was killed, possibly because its container ran out of memory."
    over = "" if memory is None else f"over=1; echo limit memory {memory} {memory} >&63"
    return f"""over=
case $oom,$code in
1,137) {over or "echo oom >&63"} ;;
1,*) echo remark Its container ran out of memory, and the kernel killed a process there. >&63 ;;
"?",137) {f"echo remark {shlex.quote(may)} >&63" if may else ":"} ;;
esac
[[ $full ]] && echo remark Its container reached its limit on processes{most}. >&63
"""


def foreground_host_script(command: Sequence[str], *, letter: str, files: Mapping[int, str], discard: bool) -> bytes:
    """Return a script like that of `host_script`, for a program that does not wait for leftovers.

    `files` maps descriptors to files in the run directory, which only that program gets, open; they are unlinked. A
    pipe is opened for reading and writing.
    """
    opened = " ".join(f"{fd}<{'>' if name == OWN else ''}{name}" for fd, name in files.items())
    closed = " ".join(f"{fd}<&-" for fd in files)
    return _encode_text(f"""cd -- {shlex.quote(letter)} || exit 125
exec 5<>told 9>&2 2>/dev/null {opened}
rm -f -- {shlex.join(files.values())}
{shlex.join(command)} 2>&9 9>&- 5<&- 63>&-
status=$?
exec {closed}
{_GONE} &
{_READ_EVENTS}kill -9 $!; wait $!
code=$status
{_forget(letter) if discard else ""}{_EXIT_AS_COMMAND}""")


def _forget(letter: str) -> str:
    return f"cd / && rm -rf -- {shlex.quote(letter)}"


def keepalive_script(command: Sequence[str], *, remove: str, letters: str, patience: float = 10.0) -> bytes:
    """Return the script that runs a container until no process holds its standard input, and then ensures that it is
    removed.

    An engine may wait long for processes that were killed without it, and its program for an engine that does not
    answer; each is killed after `patience` seconds. `remove` is a single command, so that it is killed itself, and not
    a shell around it.
    """
    place = shlex.quote(letters)
    return _encode_text(f"""pause() {{ read -r -t "$1" -u 6; }}
exec 6<> <(:)
{shlex.join(command)} <&0 6<&- & client=$!
{{
    read -r _
    pause 2
    {remove} >/dev/null 2>&1 6<&- & removing=$!
    pause {patience:.3f}
    kill -9 $client $removing
}} <&0 2>/dev/null & last=$!
exec </dev/null
{{
    wait $client
    code=$?
    kill $last
    {remove} >/dev/null 2>&1 6<&- & removing=$!
    {{ pause {patience:.3f}; kill -9 $removing; }} & last=$!
    wait $removing
    kill $last
    wait
}} 2>/dev/null
rm -rf -- {place}
exit $code
""")


def kill_script(program: str, container: str, *, reap: str, tag: int, letter: str, confined: bool) -> bytes:
    """Return the script that kills a run in a container: as root there, or as the container's user. If neither can, it
    removes the container.

    It needs no more privileges than the container has: the program executed there may be the command's own. `confined`:
    without capabilities, root reaches only its own processes and cannot change its user, so root is tried last. The
    script inside waits by reading from a pipe of the host: there may be no room for another process.
    """
    program = shlex.quote(program)
    ways = ("", "--user 0") if confined else ("--user 0", "")
    tries = [f'{program} exec -i {way} {container} bash {reap} {tag} "$@" <&6' for way in ways]
    return _encode_text(f"exec 6<> <(:)\n{' || '.join([*tries, f'{program} rm -f {container}'])}\n{_forget(letter)}")


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")

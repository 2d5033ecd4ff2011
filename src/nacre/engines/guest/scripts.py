"""The bash texts that carry a command across: what starts it here, what becomes its shell there, what ends it. Pure.

A run has a folder that both sides see, its letter. There, `start_script` becomes the command's shell. Here, a shell of
ours waits for the engine's program and then ends as the command did, by a signal too: so the keeper reports what
happened as if it had happened here.
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
"""A letter's pipe that is for `front` alone."""
_SET_BY_BASH = frozenset("_ BASH SHLVL PWD OLDPWD BASHOPTS SHELLOPTS UID EUID PPID BASH_VERSINFO".split())


def start_script(plan: Plan, *, tag: int | None, letter: str, cwd: str, export: Mapping[str, str]) -> bytes:
    """Becomes the command's shell. `letter` is the run's folder as it is seen there; `tag`, what it is known by where
    the keeper does not see it."""
    lines = [] if tag is None else [f"ulimit -x {tag} || exit 125"]  # it would be taken for nobody's
    lines.append(f"echo begun 1<>{letter}/told")  # no reader, no end of waiting for one: it may be dead already
    if tag is not None:
        lines += [_EXPENDABLE, *_bounds(plan.limits)]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in export.items() if _can_be_exported(name)]
    lines.append(f"if ! cd -- {shlex.quote(cwd)} 2>/dev/null; then echo lost 1<>{letter}/told; exit 125; fi")
    lines.append("unset OLDPWD")  # it has been nowhere else
    shell = bootstrap_script(
        long=True,
        session=plan.reports_state,
        stages=bool(plan.pipeline_commands),
        startup=False,
        files=None,
        waits=plan.wait_for_jobs,
        mark=f"{letter}/told",
    )
    state = f" 63>{letter}/state" if plan.reports_state or plan.pipeline_commands else ""
    lines.append(f'exec -a bash "$BASH" -c {shlex.quote(shell)} 8<{letter}/text 9<{letter}/gate{state}\n')
    return _encode_text("\n".join(lines))


_EXPENDABLE = (
    "{ read -r score </proc/self/oom_score_adj && ((score < 500)) && echo 500 >/proc/self/oom_score_adj; } 2>/dev/null"
)
"""If memory runs out: before who waits for it and tells how it ended. What asks for more while the largest is dying
makes the kernel look for another."""


def _bounds(limits: Limits) -> list[str]:
    """What each process may have: memory and the number of processes are the engine's to count, and computing is not
    counted for all of them together."""
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
    """Bash itself holds on to the rest, or has no word for it."""
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
"""What is said through the letter's pipe. The command can say anything there, too, and as much as it likes: nothing of
it is more than a number or a line of text, and who says too much is believed nothing."""

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
"""A status above 128 is a signal's, unless the shell itself has said that it exits with it."""


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
    """Starts the engine's program, and ends as the command did. What the command leaves running is that program's,
    which goes on, and holds the container; `apart`: so does the run itself, from its start. The letter stays as long
    as something of the run does, which is known by it. `end` ends the command if that program ends before it, and what
    is left of one that was over the container's `memory`."""
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
    """Notes what a container has run out of: the kernel counts that for all of it. Who was killed then was over its
    limit if it has one."""
    most = "" if processes is None else f": {processes} at once"
    may = "" if memory is None else "It was killed, and may have been over what memory its container may have."
    over = "" if memory is None else f"over=1; echo limit memory {memory} {memory} >&63"
    return f"""over=
case $oom,$code in
1,137) {over or "echo oom >&63"} ;;
1,*) echo remark Its container ran out of memory, and the kernel ended something there. >&63 ;;
"?",137) {f"echo remark {shlex.quote(may)} >&63" if may else ":"} ;;
esac
[[ $full ]] && echo remark Its container could not have more processes{most}. >&63
"""


def foreground_host_script(command: Sequence[str], *, letter: str, files: Mapping[int, str], discard: bool) -> bytes:
    """The same for a program that leaves alone what the command leaves running. `files` of the letter are for that
    program only, which gets them open; a pipe for both ways."""
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
    """Runs a container until nobody holds its standard input, and sees that it is gone then: an engine may wait long
    for what was killed beside it, and its program for an engine that does not answer: `patience` is how many seconds
    either has then. `remove` is one command: what is killed is that, and no shell around it."""
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
    """Ends a run in a container, as root there or as whoever it is; and if neither reaches it, the container ends.
    With no more rights than the container has: what is executed in there may be the command's own. `confined`: without
    capabilities, root reaches only itself, and nobody can become somebody else. It waits by reading from what it gets
    from here: there may be no room for another process in there."""
    program = shlex.quote(program)
    ways = ("", "--user 0") if confined else ("--user 0", "")
    tries = [f'{program} exec -i {way} {container} bash {reap} {tag} "$@" <&6' for way in ways]
    return _encode_text(f"exec 6<> <(:)\n{' || '.join([*tries, f'{program} rm -f {container}'])}\n{_forget(letter)}")


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")

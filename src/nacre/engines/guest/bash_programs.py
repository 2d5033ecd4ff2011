"""Bash programs that nacre puts into a container, or into namespaces, next to the command. They use builtins only:
there may be no program but bash.

A run's processes are identified by a tag, the hard limit on file locks (RLIMIT_LOCKS): child processes inherit it, no
program sets it, and it cannot be raised again. A process that has lowered it has the tag of no run directory; it
belongs to no run, and is killed with the next run that is killed.
"""

from __future__ import annotations

_LIVING = r"""
# all that carry the tag; and what is nobody's, if the letters are told
living() {
    local file line
    pids=()
    for file in /proc/[0-9]*/limits; do
        while read -r line; do
            [[ $line =~ ^"Max file locks"\ +[^\ ]+\ +([0-9]+)\  ]] || continue
            if [[ ${BASH_REMATCH[1]} == "$tag" || ( $letters && ! -e $letters/${BASH_REMATCH[1]} ) ]]; then
                file=${file#/proc/}
                pids+=("${file%/limits}")
            fi
            break
        done 2>/dev/null <"$file"
    done 2>/dev/null
    ((${#pids[@]}))
}
pause() { read -r -t "$1" -u 6; }  # from a pipe in which there is never anything
"""

_COUNTERS = r"""
# how often the kernel has ended something in this container for want of memory, and refused it a process; ? for unknown
counters() {
    local file name value
    oom=? full=?
    for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
        while read -r name value; do [[ $name == oom_kill ]] && oom=$value; done <"$file"
    done
    for file in /sys/fs/cgroup/pids.events /sys/fs/cgroup/pids/pids.events; do
        while read -r name value; do [[ $name == max ]] && full=$value; done <"$file"
    done
}
"""

_JOB = r"""
# whether the job goes on, or is stopped, and what is known of its end. Only `jobs` tells an exit with 139 from a
# SIGSEGV, and only once, which may be while this looks: other words than a moment ago are those of the end
goes_on() {
    local line going=
    stopped=
    { jobs -s; builtin printf 'halted\n'; jobs -r; builtin printf 'dead\n'; jobs; builtin printf 'all\n'; } >&7
    while IFS= read -r -u 7 line && [[ $line != halted ]]; do going=$line stopped=1; done
    while IFS= read -r -u 7 line && [[ $line != dead ]]; do going=$line; done
    while IFS= read -r -u 7 line && [[ $line != all ]]; do [[ $line == "$going" ]] || ended=$line; done
    [[ $going ]]
}
# by looking, often at first: `wait`, for one that has ended a moment before, would be the end of what `jobs` knows, and
# nothing else in bash comes back when a child has changed
await() {
    local looks=0 rest=0.001
    ended=
    while goes_on; do
        # who is stopped may be missed as it ends: another child's end makes bash look again
        [[ ! $stopped ]] || (:)
        read -r -t $rest -u 7
        case $((++looks)) in 30) rest=0.01 ;; 100) rest=0.05 ;; esac
    done
    set +m
    wait "$1"
    code=$?
}
"""

SUPERVISE = (
    r"""# usage: ward LETTER TAG MERGE
#
# Runs `go` of a letter, tells how it ended, and stays while something of it lives: what that prints is heard as long as
# this does.
letter=$1 tag=$2 merge=$3 letters=
exec 4>&2 2>/dev/null 5>"$letter/told" 6<> <(:) 7<> <(:)
"""
    + _LIVING
    + _COUNTERS
    + _JOB
    + r"""
counters
before=("$oom" "$full")
set -m  # a group of its own, or it could not be interrupted
if [[ $merge ]]; then
    bash "$letter/go" <&0 2>&1 4>&- 5>&- 6>&- 7>&- &
else
    bash "$letter/go" <&0 2>&4 4>&- 5>&- 6>&- 7>&- &
fi
await $!
counters
if [[ $oom == '?' ]]; then builtin printf '\noom ?'; elif ((oom > before[0])); then builtin printf '\noom 1'; fi >&5
[[ $full != '?' ]] && ((full > before[1])) && builtin printf '\nfull 1' >&5
[[ $ended =~ [^0-9]${code}[^0-9] ]] && builtin printf '\nsaid %d' "$code" >&5
builtin printf '\ncode %d\n' "$code" >&5
living && pause 0.2  # it may be about to end; and what was printed is on its way
if living; then
    for pid in "${pids[@]:0:100}"; do
        mapfile -d '' words <"/proc/$pid/cmdline"
        line="${words[*]}"
        line=${line//$'\n'/ }
        builtin printf 'left %s %s\n' "$pid" "${line:0:200}"
    done >&5
    builtin printf 'stays\n' >&5
fi
while living; do pause 0.3; done
"""
)

FOREGROUND = (
    r"""# usage: front LETTER
#
# Runs `go` of a letter, tells if it exited by itself, and ends with its status. It gets a pipe for its own use as 8: to
# make one here would cost a process.
letter=$1
exec 4>&2 2>/dev/null 7<&8 8<&-
"""
    + _JOB
    + r"""
signals='HUP INT QUIT USR1 USR2 PIPE ALRM TERM'
trap : $signals  # who signals everybody (`kill -- -1`) goes on himself; what is only caught is not inherited
set -m  # a group of its own, or it could not be interrupted
{ . "$letter/go"; } <&0 2>&4 4>&- 7>&- &  # which becomes the shell: no other bash has to be loaded for it
trap '' $signals
await $!
[[ $ended =~ [^0-9]${code}[^0-9] ]] && builtin printf '\nsaid %d\n' "$code" 1<>"$letter/told"
exit "$code"
"""
)

KILL = (
    r"""# usage: reap TAG SIGNAL GRACE
#
# Ends all that carry a tag: the signal, GRACE seconds (with three decimals), KILL. 1: something is left; said at once
# if none of it can be reached.
tag=$1 number=$2 grace=${3%.*}${3#*.} letters=${0%/*}
exec 2>/dev/null 6<&0
"""
    + _LIVING
    + r"""
# whether some of it lives; and if none of that is ours to signal, another way has to be found
ours() { living && { kill -0 "${pids[@]}" || ! living || kill -0 "${pids[@]}" || exit 1; }; }
# until no more turn up: what is being forked just now would miss the signal
stop() {
    local before=-1 round
    for round in 1 2 3 4 5; do
        living || return
        ((${#pids[@]} == before)) && return
        before=${#pids[@]}
        kill -STOP "${pids[@]}"
    done
}
if ((number != 9)); then
    ours && stop
    if living; then
        kill -"$number" "${pids[@]}"
        kill -CONT "${pids[@]}"
    fi
    for ((waited = 0; waited < 10#$grace; waited += 50)); do
        ours || exit 0
        pause 0.05
    done
fi
for ((round = 0; round < 100; round++)); do
    ours || exit 0
    stop
    kill -KILL "${pids[@]}"
    pause 0.02
done
exit 1
"""
)

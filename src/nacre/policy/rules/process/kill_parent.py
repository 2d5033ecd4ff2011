"""kill-parent: sends KILL or STOP to the process that started this shell.

Why      that process is the agent, or the keeper of its shell: nothing would be left to read the result.
Instead  `exit`, which ends the shell itself.
Misses   signals that can be ignored (`kill $PPID`): nacre's keeper ignores them, another parent may not. Other
         ways to find the process id (`ps -o ppid= -p $$`, `/proc/self/status`).
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render
from nacre.policy.rules.process._signals import kill_call
from nacre.shell.command import Command
from nacre.shell.symbolic import PARENT_PID
from nacre.verdict import Decision

_SURE = ("KILL", "STOP", "19")


def match(command: Command, _: CheckContext) -> Hit | None:
    sent = kill_call(command)
    if sent is None or sent[0] not in _SURE or not any(PARENT_PID in word for word in sent[1]):
        return None
    return Hit(render(*command.argv))


RULE = Rule(
    id="kill-parent",
    decision=Decision.REFUSE,
    reason="would kill the process that runs this shell: the agent itself",
    instead="`exit` to end the shell",
    commands=("kill",),
    match=match,
    hits=(
        "kill -9 $PPID",
        "kill -STOP $PPID",
        'kill -KILL "$PPID"',
        "kill -s KILL ${PPID}",
        "kill -9 123 $PPID",
        "p=$PPID; kill -9 $p",
        "kill -KILL -- -$PPID",
        "bash -c 'kill -9 $PPID'",
    ),
    passes=(
        "kill $$",
        "kill $PPID",
        "kill -HUP $PPID",
        "kill -0 $PPID",
        "echo $PPID",
        'ps -p "$PPID" -o comm=',
        "kill 1234",
        'kill "$pid"',
        "kill -CONT $PPID",
        "kill -l $PPID",
    ),
)

"""kill-everything: signals every process, or process 1.

Why      the agent, its shell and all other programs of the user are killed.
Instead  kill by process id, or `pkill -x` with a program's full name.
Misses   lists made at run time (`kill $(ps -e -o pid=)`); `fuser -k`.
"""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render, which_program
from nacre.policy.rules.process._signals import HARMLESS, KillByName, by_name, kill_call
from nacre.shell.command import Command
from nacre.shell.symbolic import is_literal
from nacre.verdict import Decision

_INIT_LIVES = HARMLESS | {"HUP", "USR1", "USR2"}
_ALL = lazy_regex(r"(?:[.^$*+?() ]|\[[^]-]*-[^]]*\]|\\[wS])*")
"""Matches regular expressions that match every name."""


def match(command: Command, _: CheckContext) -> Hit | None:
    if which_program(command, "killall5"):
        return Hit(render(*command.argv))
    if (sent := kill_call(command)) is not None:
        signal, targets = sent
        numbers = [int(word) for word in targets if re.fullmatch(r"-?[0-9]{1,9}", word)]
        if -1 in numbers and signal not in HARMLESS:
            return Hit(render(*command.argv))
        if 1 in numbers and signal not in _INIT_LIVES:
            return Hit(render(*command.argv), "would end process 1, and with it everything that runs here")
    if (call := by_name(command)) is not None and not call.narrow:
        return _by_name(call, render(*command.argv))
    return None


def _by_name(call: KillByName, words: str) -> Hit | None:
    if not call.parsed.operands:
        users = call.parsed.values("-u", "--euid", "-U", "--uid", "--user")
        whose = users[0] if users and is_literal(users[0]) else "that user"
        return Hit(words, f"would kill every process of {whose}, whatever it is") if users else None
    if call.name == "pkill" and call.parsed.is_set("-v", "--inverse"):
        return Hit(words, "would kill every process but the ones named")
    if call.name == "pkill" or not call.full:
        return Hit(words) if any(_ALL.fullmatch(each) for each in call.parsed.operands) else None
    return None


RULE = Rule(
    id="kill-everything",
    decision=Decision.REFUSE,
    reason="would kill every process of this user, the agent and its shell among them",
    instead="`kill` with the process id you mean, from `pgrep -fl name`",
    commands=("kill", "pkill", "killall", "killall5"),
    match=match,
    hits=(
        "kill -9 -1",
        "kill -s KILL -- -1",
        "kill -n 9 1234 -1",
        "kill -- -1",
        "kill -SIGKILL 1",
        "killall5 -9",
        "pkill -u root",
        'killall -9 -u "$USER"',
        "pkill -9 .",
        "pkill -f ''",
        "killall -r '.*'",
        "sudo bash -c '/bin/kill -TERM -1'",
    ),
    passes=(
        "kill -9 -1234",
        "kill -1 1234",
        "kill -0 -1",
        "kill -HUP 1",
        "kill -l 1",
        "kill %1",
        'kill -TERM -- -"$pgid"',
        "kill -9 $(lsof -ti:3000)",
        "pkill -u dev -x my-server",
        "pkill -P 1234",
        "killall -q my-server",
        "pgrep -u root",
    ),
)

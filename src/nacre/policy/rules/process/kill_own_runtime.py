"""kill-own-runtime: kills every process with a name that the agent itself may have.

Why      `pkill python` also kills the agent's interpreter, and `pkill bash` its shell.
Instead  kill by process id, or by a pattern that only your process matches (`pkill -f 'python server.py'`).
Misses   parts of a name (`pkill pyth`); process ids from other commands (`kill $(pidof python)`).
"""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render
from nacre.policy.rules.process._signals import by_name
from nacre.shell.command import Command
from nacre.shell.symbolic import to_source
from nacre.verdict import Decision

_RUNTIMES = lazy_regex(
    r"python(?:[23](?:\.[0-9]+)?)?|node(?:js)?|bun|deno|bash|sh|dash|zsh|fish|tmux|nacre|claude|codex|gemini|opencode"
)
_BEFORE = lazy_regex(r"[\^( ]*(?:\\[b<])?(?:(?:/usr)?(?:/local)?/bin/)?")
_AFTER = ".*+?$) "
"""`_BEFORE` and `_AFTER`: what may surround the name in a pattern that still matches all processes of that name."""


def match(command: Command, context: CheckContext) -> Hit | None:
    call = by_name(command)
    if call is None or call.narrow:
        return None
    for pattern in call.parsed.operands:
        for each in to_source(pattern).lower().split("|"):
            plain = re.sub(r"\[(\w)\]", r"\1", each).rstrip(_AFTER).removesuffix("\\b").removesuffix("\\>")
            name = _BEFORE.sub("", plain, count=1)
            if name in context.own_runtime_names or _RUNTIMES.fullmatch(name):
                return Hit(render(*command.argv), f"would kill every {name} process, the agent's own among them")
    return None


RULE = Rule(
    id="kill-own-runtime",
    decision=Decision.REFUSE,
    reason="would kill every process of that name, the agent's own among them",
    instead="`kill` with the process id, or `pkill -f` with words only your process has (`pkill -f 'server.py'`)",
    commands=("pkill", "killall"),
    match=match,
    hits=(
        "pkill python",
        "pkill -9 -f python3",
        "pkill -x node",
        "pkill --signal 9 '^python3.11$'",
        "pkill -f 'python.*'",
        "pkill -f 'node|bun'",
        "killall -s KILL python3",
        "killall -9 bash",
        "killall -u dev node",
        "sudo pkill -KILL tmux",
        "bash -c 'sleep 1; pkill -f [p]ython'",
    ),
    passes=(
        "pkill -f 'my app'",
        "pkill -f 'node server.js'",
        "pkill -f 'python manage.py runserver'",
        "pkill -x myserver",
        "pkill -P $$ python",
        "killall -0 python3",
        "killall -q my-server",
        "pkill -HUP -x nginx",
        "pgrep -fl python",
        'pkill "$NAME"',
        "pkill -f /opt/app/node",
    ),
)

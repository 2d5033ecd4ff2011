"""shutdown: stops or restarts the machine.

Why      the agent, the session and the work of all users end.
Instead  restart the one service: `systemctl restart name`.
Misses   D-Bus calls; a kernel crash other than by `/proc/sysrq-trigger`.
"""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import WRITES, CheckContext, Hit, Rule
from nacre.policy.rules._options import parse_options, render, which_program
from nacre.shell.command import Command
from nacre.shell.paths import absolute
from nacre.verdict import Decision

_NOW = ("reboot", "halt", "poweroff")
_VERBS = (*_NOW, "kexec", "soft-reboot", "emergency", "rescue", "suspend", "hibernate", "hybrid-sleep")
_TARGETS = lazy_regex(r"(?:poweroff|reboot|halt|kexec|rescue|emergency|shutdown)\.target|runlevel[016]\.target")
_SYSTEM = lazy_regex(r"(?:/usr)?/s?bin/[^/]*|[^/]*")
_SYSRQ = "/proc/sysrq-trigger"
_SYSRQ_HARMLESS = lazy_regex(r"[0-9hlmpqstw\s]*")
_VALUED = "host= machine= type= property= lines= output= root= job-mode= state= signal= when= dry-run"


def match(command: Command, _: CheckContext) -> Hit | None:
    if any(each.writes and absolute(each.target, command.cwd) == _SYSRQ for each in command.redirects):
        return _sysrq(command, " ".join(command.args) if which_program(command, "echo", "printf") else "?")
    name = which_program(command, "shutdown", *_NOW, "init", "telinit", "systemctl", "tee")
    if not name or not _SYSTEM.fullmatch(command.argv[0]):
        return None
    if name == "tee":
        return _sysrq(command, command.stdin or "?") if _SYSRQ in command.args else None
    return Hit(render(*command.argv)) if _stops(name, command) else None


def _stops(name: str, command: Command) -> bool:
    if "--help" in command.args or "--version" in command.args:
        return False
    if name in ("init", "telinit"):
        return command.args[:1] in (("0",), ("1",), ("6",), ("s",), ("S",))
    if name == "systemctl":
        given = parse_options(command.args, "HMtpnos", _VALUED)
        verb, *units = given.operands or [""]
        if given.is_set("--dry-run") or "cancel" in given.values("--when"):
            return False
        return verb in _VERBS or (verb in ("start", "isolate") and any(_TARGETS.fullmatch(unit) for unit in units))
    return (
        not command.has_flag("-c", "-k", "--show") if name == "shutdown" else not command.has_flag("-w", "--wtmp-only")
    )


def _sysrq(command: Command, keys: str) -> Hit | None:
    if _SYSRQ_HARMLESS.fullmatch(keys):
        return None
    return Hit(f"{render(*command.argv)} > {_SYSRQ}".strip(), "would stop, restart or crash the machine at once")


RULE = Rule(
    id="shutdown",
    decision=Decision.REFUSE,
    reason="would stop the machine, with everything that runs on it and the agent itself",
    instead="restart only the service that needs it, or ask the user to restart the machine",
    commands=("shutdown", *_NOW, "init", "telinit", "systemctl", "tee", WRITES),
    match=match,
    hits=(
        "shutdown -h now",
        "/sbin/shutdown -P +1",
        "sudo reboot",
        "halt -p",
        "sleep 5 && poweroff -f",
        "init 0",
        "telinit 6",
        "systemctl --no-wall reboot",
        "systemctl isolate rescue.target",
        "echo b > /proc/sysrq-trigger",
        "echo o | sudo tee /proc/sysrq-trigger",
        "nohup sh -c 'sleep 1; reboot' &",
    ),
    passes=(
        "shutdown -c",
        "shutdown -k now",
        "reboot --help",
        "systemctl restart nginx",
        "systemctl --user stop reboot.service",
        "systemctl status reboot.target",
        "docker restart web",
        "./init 0",
        "git init",
        "npm run shutdown",
        "echo s > /proc/sysrq-trigger",
        "echo reboot > notes.txt",
    ),
)

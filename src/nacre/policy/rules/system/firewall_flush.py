"""firewall-flush: removes the machine's firewall.

Why      all ports are open, or, with a strict default, all connections are cut, including the user's.
Instead  list the rules (`iptables -S`, `nft list ruleset`) and change the one that you mean.
Misses   single rules that open everything; cloud firewalls.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.shell import Command
from nacre.verdict import Decision

_TABLES = ("iptables", "ip6tables", "iptables-legacy", "iptables-nft", "ip6tables-legacy", "ip6tables-nft")
_SERVICES = ("ufw", "firewalld", "nftables", "iptables")


def match(command: Command, context: CheckContext) -> Hit | None:
    operands = command.operands()
    match command.name:
        case "ufw":
            found = operands[:1] in (["disable"], ["reset"]) and not command.has_flag("--dry-run")
        case "nft":
            found = "flush ruleset" in " ".join(command.args)
        case "pfctl":
            found = command.has_flag("-d") or ("-F" in command.args and "all" in command.args)
        case "systemctl" | "service":
            acts = {"stop", "disable", "mask"}.intersection(operands)
            found = bool(acts) and any(each.removesuffix(".service") in _SERVICES for each in operands)
        case _:
            found = command.has_flag("--flush") or "-F" in command.args
    return Hit() if found else None


RULE = Rule(
    id="firewall-flush",
    decision=Decision.ASK,
    reason="would take the machine's firewall away",
    instead="list the rules (`iptables -S`, `nft list ruleset`) and change the one that is meant",
    commands=(*_TABLES, "ufw", "nft", "pfctl", "systemctl", "service"),
    match=match,
    hits=(
        "iptables -F",
        "sudo iptables -t nat -F",
        "ip6tables --flush INPUT",
        "ufw disable",
        "sudo ufw --force reset",
        "nft flush ruleset",
        "systemctl stop firewalld",
        "bash -c 'pfctl -d'",
    ),
    passes=(
        "iptables -L -n",
        "sudo iptables -S",
        "iptables -A INPUT -p tcp --dport 80 -j ACCEPT",
        "ufw status",
        "ufw allow 22",
        "nft list ruleset",
        "systemctl status firewalld",
        "systemctl stop nginx",
    ),
)

"""Describe to the model what a sandboxed command may do: what is enforced, and nothing else. Pure."""

from __future__ import annotations

from collections.abc import Collection

from nacre.sandbox.resolve import SandboxRequest, network_rules

_POINTLESS = (
    "The kernel enforces this. When something is denied, do not retry and do not look for a workaround: there is none. "
    "Say what you need instead."
)
AGENT_CONFIG = (
    "git's hooks and configuration, and the configuration of agents, editors and shells (AGENTS.md, CLAUDE.md, "
    ".claude, .cursor, .vscode, .envrc, .husky and the like)"
)
_REMOVED_NOTE = "; new ones are removed afterwards"


def describe(wanted: SandboxRequest, enforced: Collection[str], *, scratch: bool) -> str:
    """Return a paragraph for the tool description. `enforced` is as in `Result.enforced`; `scratch`: the command has a
    private TMPDIR."""
    workspace, unheld = wanted.workspace, ""
    parts = [_writes(wanted, scratch=scratch)] if "writes" in enforced else []
    parts += _network(wanted, enforced)
    if "unix-sockets" in enforced and workspace is not None:
        parts.append("Unix sockets (docker, databases) are closed.")
    if "metadata" in enforced:
        parts.append(_metadata(wanted, scratch=scratch))
    if "protected" in enforced or "protected-existing" in enforced:
        parts.append(f"{AGENT_CONFIG} can only be read{_REMOVED_NOTE if 'protected-existing' in enforced else ''}.")
    elif workspace is not None:  # compared and restored by nacre, not enforced by the kernel
        unheld = f"{AGENT_CONFIG} are restored if changed."
    if "hidden" in enforced:
        parts.append(f"These cannot be read: {', '.join(wanted.hidden)}.")
    deeds = [deed for rule, deed in (("signals", "signalled"), ("tracing", "traced")) if rule in enforced]
    if deeds:
        parts.append(f"Processes outside cannot be {' or '.join(deeds)}.")
    parts += [_POINTLESS, *([unheld] if unheld else [])]
    return " ".join(parts)


def _writes(wanted: SandboxRequest, *, scratch: bool) -> str:
    tmp = "a private $TMPDIR, which is empty at the start of each command and removed at its end"
    if wanted.workspace is not None:
        return f"Commands can write only below {', '.join(wanted.workspace.roots)} and in {tmp}."
    return f"Commands can read, and write nothing but {tmp}." if scratch else "Commands can read and write nothing."


def _metadata(wanted: SandboxRequest, *, scratch: bool) -> str:
    if wanted.workspace is not None:
        return "Permissions, owners and times of files outside cannot be changed."
    also = ", not even in $TMPDIR: touch, chmod, cp -p and plain tar x fail there" if scratch else ""
    return f"Permissions, owners and times of files cannot be changed{also}."


def _network(wanted: SandboxRequest, enforced: Collection[str]) -> list[str]:
    network = wanted.network
    if network is True:
        return ["The network can be used."]
    rule = next((rule for rule in network_rules(network) if rule in enforced), "")
    if rule == "network":
        return ["Commands have no network."]
    if rule == "tcp":
        return ["Commands have no TCP."]
    if rule == "network-loopback":
        return ["Commands have a private loopback and no other network."]
    ports = network if isinstance(network, tuple) else ()
    return [f"Only TCP to port {' or '.join(map(str, ports))} is allowed on the network."] if rule else []

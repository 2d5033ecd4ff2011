"""What a confined command may do, in words for the model that writes it. Pure."""

from __future__ import annotations

from nacre.sandbox.plan import Wanted
from nacre.types import Network

_POINTLESS = (
    "The kernel enforces this. When something is denied, do not retry and do not look for a way round: there is none. "
    "Say what you need instead."
)


def describe(wanted: Wanted, *, scratch: bool) -> str:
    """A paragraph for the description of the tool."""
    tmp = "a private $TMPDIR, which is empty at the start of each command and removed at its end"
    if wanted.workspace is None:
        where = f"Commands can read, and write nothing but {tmp}" if scratch else "Commands can read and write nothing"
        parts = [f"{where}. They have no network and cannot change permissions, owners or times of files."]
    else:
        roots = ", ".join(wanted.workspace.roots)
        parts = [f"Commands can write only below {roots} and in {tmp}. {_network(wanted.network)}"]
        if not wanted.unix_sockets:
            parts.append("Unix sockets (docker, databases) are closed.")
        parts.append("git's hooks and configuration, .claude and what else steers an agent can only be read.")
    if wanted.hidden:
        parts.append(f"These cannot be read: {', '.join(wanted.hidden)}.")
    return " ".join([*parts, "Processes outside cannot be signalled or traced.", _POINTLESS])


def _network(network: Network) -> str:
    if isinstance(network, tuple):
        return f"Of the network, only TCP to port {' or '.join(map(str, network))} can be reached."
    if network == "loopback":
        return "They have a loopback of their own and no other network."
    return "The network can be used." if network else "They have no network."

"""The network of a workspace: none, all, some ports, or a private loopback."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nacre.errors import AccessUnavailable
from tests.support.confined import HERE, PYTHON, confined, needs_networks, needs_ports, run, try_all

pytestmark = [pytest.mark.req("P-008"), *confined]


# the network


@contextmanager
def server(family: socket.AddressFamily = socket.AF_INET) -> Iterator[int]:
    with socket.create_server(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0), family=family) as listening:
        yield listening.getsockname()[1]


def tcp(port: int) -> str:
    return f"exec 3<>/dev/tcp/127.0.0.1/{port}"


UDP = "exec 3>/dev/udp/127.0.0.1/9; echo x >&3"
NETLINK = f"{PYTHON} -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)'"


async def test_workspace_blocks_tcp_udp_and_netlink_by_default(place: Path) -> None:
    with server() as port:
        through, result = await try_all({"tcp": tcp(port), "udp": UDP, "netlink": NETLINK}, place)
    assert through == []
    assert "network" in result.enforced


async def test_network_true_allows_tcp_udp_and_netlink(place: Path) -> None:
    with server() as port:
        through, result = await try_all({"tcp": tcp(port), "udp": UDP, "netlink": NETLINK}, place, network=True)
    assert through == ["tcp", "udp", "netlink"]
    assert not [name for name in result.enforced if name.startswith(("network", "tcp"))]


@needs_ports
async def test_port_list_allows_only_tcp_to_those_ports(place: Path) -> None:
    mptcp = f"{PYTHON} -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)'"
    with server() as named, server() as other:
        early = f'import socket; s = socket.socket(); s.sendto(b"x", 0x20000000, ("127.0.0.1", {other}))'
        bind = 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()'
        deeds = {
            "named": tcp(named),
            "other": tcp(other),
            "udp": UDP,
            "netlink": NETLINK,
            "mptcp": mptcp,
            "early": f"{PYTHON} -c {shlex.quote(early)}",
            "serve": f"{PYTHON} -c {shlex.quote(bind)}",
        }
        through, result = await try_all(deeds, place, network=(named, 65000))
        listed = await run(tcp(named), place, network=[named])
    assert through == ["named"]
    assert f"network-ports:{named},65000" in result.enforced
    assert listed.ok


@needs_networks
async def test_private_loopback_connects_only_processes_inside_it(place: Path) -> None:
    both = (
        "import socket, threading\n"
        "with socket.create_server(('127.0.0.1', 0)) as server:\n"
        "    def answer():\n"
        "        peer, _ = server.accept(); peer.sendall(b'hello'); peer.close()\n"
        "    threading.Thread(target=answer).start()\n"
        "    with socket.create_connection(server.getsockname()) as client: print(client.recv(9))\n"
    )
    with server() as port:
        result = await run(
            f"{PYTHON} -c {shlex.quote(both)}; ({tcp(port)}) 2>/dev/null && echo reached", place, network="loopback"
        )
    assert result.stdout == "b'hello'\n"
    assert "network-loopback" in result.enforced


@pytest.mark.skipif(HERE.networks, reason="network namespaces work here")
async def test_unavailable_private_loopback_is_refused(place: Path) -> None:
    with pytest.raises(AccessUnavailable, match="network-loopback"):
        await run("true", place, network="loopback")

"""Attempts on the user's terminals from both sandboxed modes: to read, write, freeze, resize or acquire one."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import struct
import sys
import termios
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from typing import NamedTuple

import pytest

from nacre import Request, Result, ToolContext
from nacre.result import Exited
from nacre.sandbox.probe import kernel
from tests.escapes.inside import needs_landlock, python, run_unrestricted
from tests.support.unchecked import UNCHECKED

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]
MODES = ("restricted", "workspace")
CONTROLLING = """
os.setsid()
terminal = os.open(sys.argv[1], os.O_RDONLY)
"""
ATTEMPTS = {
    "clipboard": r"os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_NOCTTY), b'\033]52;c;eA==\a')",
    "append": "os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_NOCTTY), b'x')",
    "read-and-write": "os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)",
    "read": "os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)",
    "through-proc": "os.open('/proc/self/root' + sys.argv[1], os.O_RDONLY | os.O_NOCTTY)",
    "through-path-descriptor": "os.open(f'/proc/self/fd/{os.open(sys.argv[1], os.O_PATH)}', os.O_RDONLY | os.O_NOCTTY)",
    "freeze": "import termios; termios.tcflow(os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY), termios.TCOOFF)",
    "resize": (
        "import fcntl; "
        "fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY), 0x5414, struct.pack('4H', 7, 7, 0, 0))"
    ),
    "flush": "import termios; termios.tcflush(os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY), termios.TCIOFLUSH)",
    "own": CONTROLLING,
    "own-and-write": f"{CONTROLLING}os.write(os.open('/dev/tty', os.O_WRONLY), b'x')",
    "own-and-resize": (
        f"{CONTROLLING}import fcntl; fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), 0x5414, struct.pack('4H', 7, 7, 0, 0))"
    ),
    "own-and-freeze": f"{CONTROLLING}import termios; termios.tcflow(os.open('/dev/tty', os.O_RDWR), termios.TCOOFF)",
}


class Terminal(NamedTuple):
    """A pseudo-terminal of this user, without a session."""

    master: int
    slave: int

    @property
    def path(self) -> str:
        return os.ttyname(self.slave)

    def state(self) -> tuple[object, ...]:
        """Return its settings, its size, and whether something was written to it."""
        size = struct.unpack("4H", ioctl(self.slave, termios.TIOCGWINSZ, bytes(8)))
        printed = bool(select.select([self.master], [], [], 0)[0])
        return str(termios.tcgetattr(self.slave)), size, printed


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    try:
        made = Terminal(*os.openpty())
    except OSError as error:
        pytest.skip(f"no pseudo-terminal can be opened here: {error}")
    try:
        made.path  # noqa: B018
    except OSError:
        pytest.skip("pseudo-terminals have no names here")
    yield made
    os.close(made.master)
    os.close(made.slave)


async def run_confined(command: str, access: str, place: Path) -> Result:
    result = await UNCHECKED.run(Request(command), ToolContext(access=access, working_dir=place))  # type: ignore[arg-type]
    assert "writes" in result.enforced
    return result


@pytest.mark.parametrize("access", MODES)
@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
async def test_terminal_of_the_user_is_out_of_reach(
    terminal: Terminal, tmp_path: Path, attempt: str, access: str
) -> None:
    before = terminal.state()
    result = await run_confined(python(attempt, terminal.path), access, tmp_path)
    assert result.outcome == Exited(1), result.output
    assert "PermissionError" in result.output or "FileNotFoundError" in result.output, result.output
    assert terminal.state() == before

    proof = await run_unrestricted(python(attempt, terminal.path), tmp_path)
    assert proof.outcome == Exited(0), proof.output


@pytest.mark.parametrize("access", MODES)
async def test_terminal_input_cannot_be_read_by_a_command(terminal: Terminal, tmp_path: Path, access: str) -> None:
    os.write(terminal.master, b"secret\n")
    attempt = python("print(os.read(os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY), 99))", terminal.path)
    result = await run_confined(attempt, access, tmp_path)
    assert (result.outcome, "secret" in result.output) == (Exited(1), False)
    assert os.read(terminal.slave, 99) == b"secret\n"


OWN_TERMINALS = {
    "openpty": python("a, b = os.openpty(); os.write(b, b'x'); print(os.read(a, 9), os.isatty(b))"),
    "controlling": python(
        """
        import pty
        pid, master = pty.fork()
        if not pid:
            os.write(os.open("/dev/tty", os.O_RDWR), b"x")
            os._exit(0)
        print(os.read(master, 9), os.waitpid(pid, 0)[1])
        """
    ),
    "spawn": f"{shlex.quote(sys.executable)} -ISc 'import pty; pty.spawn([\"tty\"])' </dev/null",
}
SAID = {"openpty": "b'x' True", "controlling": "b'x' 0", "spawn": "/dev/pts/0"}


@pytest.mark.skipif(not kernel().terminals, reason="private terminals need mount namespaces and devpts")
@pytest.mark.parametrize("name", OWN_TERMINALS)
async def test_workspace_has_its_own_terminals(tmp_path: Path, name: str) -> None:
    result = await run_confined(OWN_TERMINALS[name], "workspace", tmp_path)
    assert (result.outcome, result.stdout.strip()) == (Exited(0), SAID[name]), result.output


@pytest.mark.skipif(not kernel().terminals, reason="private terminals need mount namespaces and devpts")
@pytest.mark.skipif(shutil.which("script") is None, reason="no script here")
async def test_script_command_works_in_a_workspace(tmp_path: Path) -> None:
    result = await run_confined("script -qec 'tty; echo x >/dev/tty' typescript", "workspace", tmp_path)
    assert (result.outcome, result.stdout.split()) == (Exited(0), ["/dev/pts/0", "x"]), result.output


@pytest.mark.skipif(kernel().terminals, reason="private terminals work here")
async def test_workspace_without_own_terminals_cannot_open_one(tmp_path: Path) -> None:
    result = await run_confined(python("os.openpty()"), "workspace", tmp_path)
    assert (result.outcome, "PermissionError" in result.output) == (Exited(1), True), result.output

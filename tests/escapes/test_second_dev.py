"""Attempts to reach the user's terminal through a second mount of /dev, as in a chroot."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.sandbox.mount_aliases import Mount, device_paths
from tests.escapes.inside import needs_landlock
from tests.support.confined import confined
from tests.support.hosts import run_host
from tests.support.mounts import in_own_mounts

pytestmark = [*confined, pytest.mark.req("P-008"), needs_landlock]

TERMINAL = """
    import asyncio, os, pty, shlex, sys
    from nacre import Request, ToolContext
    from tests.support.unchecked import UNCHECKED

    place, access = sys.argv[1:]
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    path = shlex.quote(place + os.ttyname(theirs))
    # who leads a session and opens a terminal has it as its own, and /dev/tty is that
    attempt = "exec 5<" + path + " && echo reached >/dev/tty"
    for mode in (access, "unrestricted"):
        ctx = ToolContext(access=mode, working_dir=place + "/work")
        asyncio.run(UNCHECKED.run(Request("setsid -w bash -c " + shlex.quote(attempt) + " 2>/dev/null; true"), ctx))
        try:
            print(mode, os.read(ours, 100).decode().strip())
        except BlockingIOError:
            print(mode, "nothing")
"""


@pytest.mark.parametrize("access", ["restricted", "workspace"])
def test_terminal_is_unreachable_through_a_second_mount_of_dev(access: str, tmp_path: Path) -> None:
    for name in ("dev", "work"):
        (tmp_path / name).mkdir()
    through = in_own_mounts('mount --rbind /dev "$1/dev"; command -v setsid >/dev/null', tmp_path)
    assert run_host(TERMINAL, tmp_path, access, through=through) == f"{access} nothing\nunrestricted reached\n"


MASKED = """
    import asyncio, sys
    from nacre import Request, ToolContext
    from tests.support.unchecked import UNCHECKED

    place, access = sys.argv[1:]
    ctx = ToolContext(access=access, working_dir=place)
    print(asyncio.run(UNCHECKED.run(Request("cat /proc/version /proc/self/comm"), ctx)).output)
"""


@pytest.mark.parametrize("access", ["restricted", "workspace"])
def test_proc_is_readable_where_dev_null_is_mounted_over_a_file_in_it(access: str, tmp_path: Path) -> None:
    """So do container runtimes with files that nobody in a container should read."""
    through = in_own_mounts("mount --bind /dev/null /proc/version")
    assert run_host(MASKED, tmp_path, access, through=through) == "cat\n\n"


def test_only_mounts_of_dev_count_as_device_paths() -> None:
    mounts = [Mount(1, "0:1", "/", "/"), Mount(2, "0:5", "/", "/dev"), Mount(3, "0:6", "/", "/proc")]
    assert device_paths(mounts) == ("/dev",)

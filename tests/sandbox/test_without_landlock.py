"""Kernels with fewer abilities: Landlock's system calls fail for real, or lower ABIs are simulated. nacre never claims
to enforce more than it does."""

from __future__ import annotations

import errno
import json
import os
import shlex
import socket
import sys
from pathlib import Path

import pytest

from nacre import Bash, Result, ToolContext
from nacre.base.frozen import replace
from nacre.result import Exited
from nacre.sandbox import probe as kernels
from nacre.sandbox.kernel import landlock
from nacre.sandbox.probe import Kernel, probe
from nacre.types import Access
from tests.support.hosts import run_host

pytestmark = [pytest.mark.req("P-009"), pytest.mark.linux]

HOST = """
import asyncio, ctypes, json, logging, struct, sys

number, place = int(sys.argv[1]), sys.argv[2]

# a filter: the three calls of Landlock (444 to 446) fail with this error, all others pass
code = b"".join(struct.pack("HBBI", *each) for each in [
    (0x20, 0, 0, 0),               # load the number
    (0x35, 0, 2, 444),             # below 444: pass
    (0x25, 1, 0, 446),             # above 446: pass
    (0x06, 0, 0, 0x00050000 | number),
    (0x06, 0, 0, 0x7FFF0000),
])
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
buffer = ctypes.create_string_buffer(code, len(code))
head = struct.pack("H6xQ", len(code) // 8, ctypes.addressof(buffer))
assert libc.prctl(22, 2, head, 0, 0) == 0
assert libc.syscall(444, 0, 0, 1) == -1 and ctypes.get_errno() == number

import nacre
from nacre import Bash, ToolContext
from nacre.errors import AccessUnavailable

records = []
handler = logging.Handler()
handler.emit = lambda record: records.append([record.levelname, record.getMessage()])
logging.getLogger("nacre").addHandler(handler)

async def main():
    bash, refusals = Bash(), {}
    for access in ("restricted", "workspace", "restricted"):
        for partial in (False, True):
            try:
                await bash.run("touch made", ToolContext(access=access, working_dir=place, allow_partial=partial))
            except AccessUnavailable as error:
                refusals[f"{access} {partial}"] = [error.code, error.field, str(error)]
    free = await bash.run("touch free; echo fine", ToolContext(working_dir=place))
    checked = await bash.run("true || rm -rf /", ToolContext(working_dir=place))
    limited = await bash.run("ulimit -n", ToolContext(working_dir=place, limits=nacre.Limits(open_files=77)))
    return {
        "refusals": refusals,
        "free": [free.output, list(free.enforced)],
        "checked": type(checked.outcome).__name__,
        "limited": [limited.output, list(limited.enforced)],
        "records": records,
    }

print(json.dumps(asyncio.run(main())))
logging.getLogger("nacre").removeHandler(handler)
"""


@pytest.mark.req("P-008")
@pytest.mark.parametrize(
    ("number", "needed"),
    [
        (errno.ENOSYS, "Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK"),
        (errno.EOPNOTSUPP, "add `landlock` to `lsm=`"),
    ],
    ids=["ENOSYS", "EOPNOTSUPP"],
)
def test_without_landlock_sandboxed_modes_are_refused_and_the_rest_works(
    tmp_path: Path, number: int, needed: str
) -> None:
    said = json.loads(run_host(HOST, number, tmp_path))
    assert set(said["refusals"]) == {
        f"{access} {partial}" for access in ("restricted", "workspace") for partial in (True, False)
    }
    for case, (code, field, message) in said["refusals"].items():
        assert (code, field) == ("access_unavailable", "access")
        assert f"Access '{case.split()[0]}' cannot be enforced here, so the command was not run." in message
        assert needed in message
        assert "access='unrestricted'" in message
    assert os.listdir(tmp_path) == ["free"], "a command ran without its sandbox"
    assert said["free"] == ["fine\n", []]
    assert said["checked"] == "Refused"
    assert said["limited"] == ["77\n", ["limits"]]
    ((level, warning),) = said["records"]
    assert level == "WARNING"
    assert needed in warning


# lower ABIs

HERE = probe()
ABIS = range(1, landlock.MAX_ABI)
needs_landlock = pytest.mark.skipif(not HERE.confines, reason="no Landlock here")
needs_seccomp = pytest.mark.skipif(not HERE.seccomp, reason="no seccomp here, or unknown system call numbers")


def pretend(monkeypatch: pytest.MonkeyPatch, abi: int, **other: object) -> Kernel:
    if abi > HERE.landlock:
        pytest.skip(f"this kernel has ABI {HERE.landlock}")
    made = replace(HERE, landlock=abi, **other)
    monkeypatch.setattr(kernels, "kernel", lambda: made)
    return made


PYTHON = f"{shlex.quote(sys.executable)} -IS"
TRUNCATE_BY_PATH = f"{PYTHON} -c 'import os; os.truncate(\"kept\", 0)'"
TRUNCATE_BY_OPENING = f"{PYTHON} -c 'import os; os.open(\"kept\", os.O_RDONLY | os.O_TRUNC)'"
TRUNCATE_BY_NEITHER = f"{PYTHON} -c 'import os; os.open(\"kept\", 3 | os.O_TRUNC)'"
WRITES = {
    "make": "echo x > made",
    "append": "echo x >> kept",
    "overwrite": "echo x > kept",
    "truncate": TRUNCATE_BY_PATH,
    "truncate-by-opening": TRUNCATE_BY_OPENING,
    "truncate-by-the-fourth-mode": TRUNCATE_BY_NEITHER,
    "coreutils": "truncate -s 0 kept",
    "remove": "rm -f kept",
    "move": "mv kept moved",
    "link": "ln kept linked",
    "symlink": "ln -s kept linked",
    "directory": "mkdir made",
    "fifo": "mkfifo made",
    "chmod": "chmod 777 kept",
    "touch": "touch kept",
    "attribute": 'python3 -c \'import os; os.setxattr("kept", "user.x", b"1")\'',
}
OPEN_SOCKET = f'{PYTHON} -c "import socket; socket.socket({{}})" 2>&1 | grep -o "PermissionError"'
SOCKETS = ("socket.AF_INET", "socket.AF_INET6", "socket.AF_INET, socket.SOCK_DGRAM", "socket.AF_UNIX")


async def run(command: str, place: Path, access: Access = "restricted", **given: object) -> Result:
    ctx = ToolContext(access=access, working_dir=place, **given)  # type: ignore[arg-type]
    return await Bash().run(command, ctx)


@needs_landlock
@needs_seccomp
@pytest.mark.req("P-008")
@pytest.mark.parametrize("abi", ABIS)
async def test_restricted_enforces_what_it_reports_with_every_abi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abi: int
) -> None:
    pretend(monkeypatch, abi)
    (tmp_path / "kept").write_text("precious")
    before = (tmp_path / "kept").stat()
    # one run for all attempts: each prints whether it succeeded
    attempts = "\n".join(f"( {text} ) 2>/dev/null && echo through {name}" for name, text in WRITES.items())
    sockets = "\n".join(OPEN_SOCKET.format(each) for each in SOCKETS)
    result = await run(f"{attempts}\n{sockets}\n:", tmp_path)
    assert result.outcome == Exited(0)
    assert {"writes", "network", "unix-sockets", "metadata"} <= set(result.enforced)
    assert ("signals" in result.enforced) == (abi >= 6)
    assert ("devices" in result.enforced) == (abi >= 5)
    assert result.stdout.split("\n")[:-1] == ["PermissionError"] * len(SOCKETS)
    after = (tmp_path / "kept").stat()
    assert os.listdir(tmp_path) == ["kept"]
    assert (tmp_path / "kept").read_text() == "precious"
    assert (after.st_mode, after.st_mtime_ns, after.st_nlink) == (before.st_mode, before.st_mtime_ns, before.st_nlink)


@needs_landlock
@needs_seccomp
@pytest.mark.parametrize("abi", ABIS)
async def test_signals_are_blocked_exactly_when_reported_as_enforced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abi: int
) -> None:
    pretend(monkeypatch, abi)
    result = await run(f"kill -0 {os.getpid()} && echo reached", tmp_path)
    assert (result.stdout == "") == ("signals" in result.enforced)


@needs_landlock
@needs_seccomp
@pytest.mark.req("P-008")
@pytest.mark.parametrize("abi", ABIS)
async def test_workspace_prevents_writes_outside_with_every_abi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abi: int
) -> None:
    pretend(monkeypatch, abi)
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "kept").write_text("precious")
    outside = "\n".join(
        f"( {text.replace('kept', '../kept').replace('made', '../made')} ) 2>/dev/null && echo through {name}"
        for name, text in WRITES.items()
        if name not in ("chmod", "touch", "attribute", "symlink")
    )
    result = await run(f"{outside}\necho x > inside && mkdir d && mv inside d && cat d/inside", place, "workspace")
    assert {"writes", "network"} <= set(result.enforced)
    assert result.stdout == "x\n", "before ABI 2 `mv` must copy, and does"
    assert sorted(os.listdir(tmp_path)) == ["kept", "place"]
    assert (tmp_path / "kept").read_text() == "precious"


@needs_landlock
@needs_seccomp
@pytest.mark.parametrize("abi", ABIS)
async def test_port_rules_are_refused_before_landlock_abi_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abi: int
) -> None:
    from nacre.errors import AccessUnavailable

    pretend(monkeypatch, abi)
    with socket.create_server(("127.0.0.1", 0)) as named, socket.create_server(("127.0.0.1", 0)) as other:
        ports = named.getsockname()[1], other.getsockname()[1]
        command = "\n".join(f"(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached {port}" for port in ports)
        if abi < 4:
            with pytest.raises(AccessUnavailable, match="network-ports"):
                await run(command, tmp_path, "workspace", network=ports[:1])
            return
        result = await run(command, tmp_path, "workspace", network=ports[:1])
    assert f"network-ports:{ports[0]}" in result.enforced
    assert result.stdout == f"reached {ports[0]}\n"


@needs_landlock
@pytest.mark.parametrize("abi", ABIS)
async def test_without_seccomp_run_is_refused_or_reports_partial_enforcement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abi: int
) -> None:
    from nacre.errors import AccessUnavailable

    pretend(monkeypatch, abi, seccomp=False)
    (tmp_path / "kept").write_text("precious")
    with pytest.raises(AccessUnavailable, match="network"):
        await run("true", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        attempts = f"{TRUNCATE_BY_PATH} && echo truncated\n(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo connected\n:"
        result = await run(attempts, tmp_path, allow_partial=True)
    assert not {"network", "metadata", "kernel"} & set(result.enforced)
    assert ("truncated" not in result.stdout) == ("writes" in result.enforced) == (abi >= 3)
    assert ("connected" not in result.stdout) == ("tcp" in result.enforced) == (abi >= 4)

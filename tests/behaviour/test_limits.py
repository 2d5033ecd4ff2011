"""Resource limits in every access mode: a run over a limit is killed, its result says which, nothing is left."""

from __future__ import annotations

import os
import resource
import shlex
import sys
from pathlib import Path

import pytest

from nacre import Bash, Limits, Request, Result, ToolContext
from nacre.result import Exited, OverLimit
from nacre.sandbox.probe import probe
from nacre.types import MIB, Access
from tests.support.census import is_alive
from tests.support.lifeline import Lifeline
from tests.support.waiting import TIME_LIMITS_S, until

pytestmark = [pytest.mark.req("M-11", "P-008"), pytest.mark.linux]

CONFINES = probe().confines
needs_landlock = pytest.mark.skipif(not CONFINES, reason="no Landlock here")
every_access = pytest.mark.parametrize(
    "access",
    [
        pytest.param("restricted", marks=needs_landlock),
        pytest.param("workspace", marks=needs_landlock),
        "unrestricted",
    ],
)
writing_access = pytest.mark.parametrize("access", [pytest.param("workspace", marks=needs_landlock), "unrestricted"])
PYTHON = f"{shlex.quote(sys.executable)} -IS"

# Takes memory in steps and keeps what it has when it gets no more. The second limit, on the allocations of each
# process, only stops it from growing; it is the keeper's count that kills it.
HOG = """
import signal
held = []
try:
    while len(held) < 256:
        held.append(bytearray(b"x" * (8 << 20)))
except MemoryError:
    pass
print("has", len(held), flush=True)
signal.pause()
"""


async def run(command: str, access: Access, place: Path, limits: Limits, timeout: float = 60) -> Result:
    ctx = ToolContext(access=access, working_dir=place, limits=limits)
    return await Bash().run(Request(command, timeout=timeout), ctx)


async def works_again(access: Access, place: Path) -> None:
    """Check that the next command in the same mode runs."""
    result = await Bash().run("echo fine", ToolContext(access=access, working_dir=place))
    assert (result.outcome, result.output) == (Exited(0), "fine\n")


async def test_memory_of_a_shared_memfd_counts_once(tmp_path: Path) -> None:
    """Every process that has the file open shares it; none maps it."""
    hog = (
        "import os, signal\n"
        "file = os.memfd_create('x')\n"
        "for _ in range(100): os.write(file, bytes(1 << 20))\n"
        "if os.fork() and os.fork(): print('full', flush=True)\n"
        "signal.pause()\n"
    )
    command = f"{PYTHON} -c {shlex.quote(hog)}"
    for limit in TIME_LIMITS_S:
        within = await run(command, "unrestricted", tmp_path, Limits(memory=250 * MIB), timeout=limit)
        assert within.timed_out
        if within.stdout == "full\n":
            break
    assert within.stdout == "full\n"
    result = await run(command, "unrestricted", tmp_path, Limits(memory=90 * MIB))
    assert isinstance(result.outcome, OverLimit)
    assert result.outcome.limit == "memory"


async def test_bash_env_file_is_read_under_the_limits(tmp_path: Path) -> None:
    """Bash would read it before it waits to be released."""
    (tmp_path / "start").write_text('echo "$(ulimit -n) $0 $#"; COLOUR=blue\n')
    request = Request('echo "$COLOUR $BASH_ENV ${NACRE_BASH_ENV-none}"', env={"BASH_ENV": str(tmp_path / "start")})
    ctx = ToolContext(working_dir=tmp_path, limits=Limits(open_files=77), approve=lambda _: True)
    assert (await Bash().run(request, ctx)).stdout == f"77 bash 0\nblue {tmp_path}/start none\n"


@every_access
async def test_memory_limit_kills_the_run_and_is_named(access: Access, tmp_path: Path) -> None:
    result = await run(f"{PYTHON} -c {shlex.quote(HOG)}", access, tmp_path, Limits(memory=256 * MIB))
    assert isinstance(result.outcome, OverLimit)
    assert (result.outcome.limit, result.outcome.allowed) == ("memory", 256 * MIB)
    assert 256 * MIB < result.outcome.used < 2048 * MIB
    assert "over its limit of 256 MB of memory" in result.summary
    assert "limits" in result.enforced
    assert result.running == ()
    await works_again(access, tmp_path)


@pytest.mark.req("P-008")
@pytest.mark.skipif(not probe().mounts, reason="needs a private /dev/shm, which only root can mount")
async def test_dev_shm_is_no_larger_than_the_memory_limit(tmp_path: Path) -> None:
    hog = f"/dev/shm/nacre-test-{os.getpid()}"
    command = f"head -c 200M /dev/zero > {hog}; stat -c %s {hog}"
    result = await run(command, "workspace", tmp_path, Limits(memory=64 * MIB))
    assert result.stdout == f"{64 * MIB}\n"
    assert not os.path.exists(hog)


async def test_memory_limit_counts_all_processes_of_a_run_together(tmp_path: Path) -> None:
    """Four processes with 100 MB each: none is over the limit alone."""
    hold = 'import signal; held = bytearray(b"x" * (100 << 20)); print("held", flush=True); signal.pause()'
    command = f"for i in 1 2 3 4; do {PYTHON} -c {shlex.quote(hold)} & done; wait"
    result = await run(command, "unrestricted", tmp_path, Limits(memory=256 * MIB))
    assert isinstance(result.outcome, OverLimit)
    assert result.outcome.limit == "memory"


async def test_memory_shared_between_processes_counts_once(tmp_path: Path) -> None:
    """100 MB in a parent, shared with its four children: 500 MB resident in sum, 100 MB in fact.

    The limit cannot be lower: shares are read one after another, and while children are forked, the first processes
    look larger, up to 228 MB in all.
    """
    share = (
        'import os; held = b"x" * (100 << 20)\n'
        "ends = [os.pipe() for _ in range(4)]\n"
        "for _, write in ends:\n"
        "    if not os.fork(): os.write(write, b'up'); os.read(0, 1); os._exit(0)\n"
        "for read, _ in ends: os.read(read, 2)\n"
        "print('all up', flush=True)\n"
        "for _ in ends: os.wait()\n"
    )
    looked_at = "< <(sleep 0.5)"  # time for some polls; without any, the test would pass and prove nothing
    command = f"{PYTHON} -c {shlex.quote(share)} {looked_at}"
    result = await run(command, "unrestricted", tmp_path, Limits(memory=256 * MIB))
    assert (result.outcome, result.output) == (Exited(0), "all up\n")


@every_access
async def test_cpu_limit_kills_the_run_and_is_named(access: Access, tmp_path: Path) -> None:
    """Two processes at once, each with half of what is too much."""
    busy = "while :; do :; done"
    result = await run(f"({busy}) & ({busy}) & wait", access, tmp_path, Limits(cpu=1))
    assert isinstance(result.outcome, OverLimit)
    assert (result.outcome.limit, result.outcome.allowed) == ("cpu", 1)
    assert "over its limit of 1 s of CPU time" in result.summary
    assert result.running == ()
    await works_again(access, tmp_path)


async def test_cpu_limit_counts_processes_that_have_exited(tmp_path: Path) -> None:
    """A third of a second of CPU time each, one after another, some orphaned: none is alive for long."""
    burn = f"{PYTHON} -c 'import time\nwhile time.process_time() < 0.3: pass'"
    command = f"while :; do {burn}; ( {burn} & ) ; {burn}; done"
    result = await run(command, "unrestricted", tmp_path, Limits(cpu=1))
    assert isinstance(result.outcome, OverLimit)
    assert result.outcome.limit == "cpu"


@every_access
async def test_process_limit_kills_the_run_and_is_named(access: Access, tmp_path: Path) -> None:
    """A harmless fork bomb: two hundred processes that sleep."""
    command = "for i in $(seq 200); do sleep 60 & done 2>/dev/null; wait"
    result = await run(command, access, tmp_path, Limits(processes=50))
    assert isinstance(result.outcome, OverLimit)
    assert (result.outcome.limit, result.outcome.allowed) == ("processes", 50)
    assert 50 < result.outcome.used <= 210
    assert "over its limit of 50 processes" in result.summary
    assert result.running == ()
    await works_again(access, tmp_path)


async def test_run_over_its_limit_leaves_no_process_alive_not_even_daemons(tmp_path: Path, life: Lifeline) -> None:
    stubborn = "setsid sh -c 'trap \"\" TERM; sleep 60' & env -i setsid -f sleep 60;"
    command = f"{life.hold} {stubborn} for i in $(seq 30); do sleep 60 & done; wait"
    result = await run(command, "unrestricted", tmp_path, Limits(processes=20))
    assert isinstance(result.outcome, OverLimit)
    assert (result.running, life.over) == ((), True)


async def test_run_within_its_limits_is_not_disturbed(tmp_path: Path) -> None:
    limits = Limits(memory=512 * MIB, cpu=30, processes=50, file_size=MIB, open_files=64)
    command = "seq 10000 | sort | tail -1; for i in $(seq 20); do sleep 0.2 & done; wait; head -c 1000000 /dev/zero > f"
    result = await run(command, "unrestricted", tmp_path, limits)
    assert (result.outcome, result.output, result.enforced) == (Exited(0), "9999\n", ("limits",))


# limits for each process


@writing_access
async def test_file_size_limit_bounds_each_file(access: Access, tmp_path: Path) -> None:
    result = await run("head -c 5000000 /dev/zero > big; echo $?", access, tmp_path, Limits(file_size=MIB))
    assert (tmp_path / "big").stat().st_size == MIB
    assert result.stdout in ("153\n", "1\n"), "neither killed by SIGXFSZ nor failed with EFBIG"
    python = f"{PYTHON} -c \"open('other', 'wb').truncate(2 << 20)\""
    sparse = await run(python, access, tmp_path, Limits(file_size=MIB))
    assert not sparse.ok
    assert (tmp_path / "other").stat().st_size == 0


@every_access
async def test_process_cannot_open_more_files_than_its_limit(access: Access, tmp_path: Path) -> None:
    opens = (
        "held = []\n"
        "try:\n"
        "    while len(held) < 500: held.append(open('/dev/null'))\n"
        "except OSError as error: print(error.errno)"
    )
    result = await run(f"{PYTHON} -c {shlex.quote(opens)}; ulimit -n", access, tmp_path, Limits(open_files=40))
    assert result.stdout == "24\n40\n"


@every_access
async def test_command_cannot_raise_its_limits(access: Access, tmp_path: Path) -> None:
    """Root cannot either: it has lost CAP_SYS_RESOURCE, and no program restores it."""
    limits = Limits(memory=512 * MIB, cpu=100, processes=100, file_size=64 * MIB, open_files=128)
    letters = "dtfnuc"
    attempts = "\n".join(f"ulimit -H{letter} unlimited 2>/dev/null && echo raised {letter}" for letter in letters)
    names = "DATA CPU FSIZE NOFILE NPROC CORE".split()
    python = (
        "import resource\n"
        f"for name in {names!r}:\n"
        "    number = getattr(resource, 'RLIMIT_' + name)\n"
        "    soft, hard = resource.getrlimit(number)\n"
        "    assert hard != resource.RLIM_INFINITY, name\n"
        "    for many in (hard + 1, resource.RLIM_INFINITY):\n"
        "        try:\n"
        "            resource.prlimit(0, number, (soft, many))\n"
        "            print('raised', name)\n"
        "        except (ValueError, OSError):\n"
        "            pass\n"
    )
    result = await run(f"{attempts}\n{PYTHON} -c {shlex.quote(python)}\nulimit -Hd", access, tmp_path, limits)
    assert (result.outcome, result.output) == (Exited(0), f"{(512 + 1024) * 1024}\n")


@every_access
async def test_command_can_lower_a_limit(access: Access, tmp_path: Path) -> None:
    result = await run("ulimit -n 20; ulimit -n", access, tmp_path, Limits(open_files=128))
    assert result.output == "20\n"


async def test_limit_above_the_hosts_hard_limit_leaves_the_hard_limit(tmp_path: Path) -> None:
    """With a limit above the host's own hard limit, the hard limit stays."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    result = await run("ulimit -Hn", "unrestricted", tmp_path, Limits(open_files=hard + 1000))
    assert result.output == f"{hard}\n"


async def test_limits_of_one_run_do_not_apply_to_the_next(tmp_path: Path) -> None:
    first = await run("ulimit -n", "unrestricted", tmp_path, Limits(open_files=40))
    second = await Bash().run("ulimit -n; ulimit -d", ToolContext(working_dir=tmp_path))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert (first.output, second.output) == ("40\n", f"{soft}\nunlimited\n")
    assert second.enforced == ()


async def test_core_dump_size_limit_is_zero(tmp_path: Path) -> None:
    result = await run("ulimit -Hc", "unrestricted", tmp_path, Limits(processes=100))
    assert result.output == "0\n"


async def test_keeper_survives_killing_runs_over_their_limit(tmp_path: Path) -> None:
    bash = Bash()
    keeper = int((await bash.run("echo $PPID")).stdout)
    for _ in range(3):
        result = await run(
            "for i in $(seq 100); do sleep 60 & done; wait", "unrestricted", tmp_path, Limits(processes=20)
        )
        assert isinstance(result.outcome, OverLimit)
    await until(lambda: is_alive(keeper), "the keeper")
    assert int((await bash.run("echo $PPID")).stdout) == keeper
    assert os.sched_getscheduler(keeper) & ~0x40000000 == os.SCHED_OTHER, "the keeper's priority is still raised"


async def test_long_output_line_does_not_stop_the_host_from_naming_a_limit(bash: Bash) -> None:
    """A search that backtracks over the whole line would take minutes."""
    last = "bash: fork: retry: Resource temporarily unavailable"
    command = f"""{PYTHON} -c 'print("fork: " * 170_000)'; echo '{last}'; exit 1"""
    result = await bash.run(command, ToolContext(limits=Limits(processes=5000)))
    assert result.notes == ("Likely over the limit of 5000 processes, for each process.",)

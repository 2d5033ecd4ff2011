"""Disks that are full or read-only, directories that are missing or cannot be made."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from faults.count import COUNT, HANG_TIMEOUT_S
from faults.round import Round, Wrong, need
from nacre import InvalidRequest, Request, ToolContext
from nacre.base.system import LINUX
from nacre.result import Exited
from nacre.tasks import Tasks
from tests.support.census import is_alive
from tests.support.disks import small_disk
from tests.support.waiting import until

_NO_SPACE = "No space left on device"


async def full(round: Round) -> None:
    """Fill the disk before a task, during its output, or during a command's. Output must be counted, the kept part must
    be right, and the outcome must be reported."""
    size = round.random.randrange(300_000, 2_000_000)
    with small_disk(round.place / "disk", str(size)) as disk:
        printed = round.random.randrange(size // 2, size * 3)
        text = f"head -c {printed} /dev/zero | tr '\\0' x; exit 7"
        if round.random.random() < 0.2:
            room = os.statvfs(disk)
            (disk / ".ballast").write_bytes(bytes(room.f_bavail * room.f_frsize))
            await _is_refused(round, disk, _NO_SPACE)
        else:
            await _is_kept_in_part(round, disk, text, printed)
        result = await round.bash.run(Request(text), ToolContext(spill_dir=disk))
        need(result.outcome == Exited(7) and result.out.total_bytes == printed, f"the command: {result.summary}")
        if result.spill is not None:
            kept = Path(result.spill.path).read_bytes()
            need(kept == b"x" * result.spill.bytes, f"{len(kept)} bytes are spilled, of {result.spill.bytes}")
            need(result.spill.complete == (len(kept) == printed), f"{len(kept)} of {printed}: {result.spill}")


async def _is_kept_in_part(round: Round, disk: Path, text: str, printed: int) -> None:
    result = await round.bash.run(Request(text, mode="background"), ToolContext(output_dir=disk))
    assert result.task is not None
    await Tasks(disk).wait(result.task.id, timeout=HANG_TIMEOUT_S)
    task = Tasks(disk).get(result.task.id)
    need(task.outcome == Exited(7), f"the task: {task.summary}")
    need(task.bytes == printed, f"{task.bytes} bytes, of {printed}")
    kept = Tasks(disk).output(task.id, limit=10_000_000).text.count("x")
    need(kept == printed - task.dropped, f"{kept} kept, {task.dropped} dropped, of {printed}")


async def _is_refused(round: Round, store: Path, why: str) -> None:
    """Check that no task is started there, and that the error says why and what to do."""
    try:
        result = await round.bash.run(Request("sleep 300", mode="background"), ToolContext(output_dir=store))
    except InvalidRequest as error:
        need(error.code == "task_not_kept" and why in error.message, f"refused: {error}")
        need(bool(error.hint), f"no next step: {error}")
    else:
        raise Wrong(f"it was started: {result.summary}")


async def read_only(round: Round) -> None:
    """A task cannot be started; a command can, whatever it prints."""
    with small_disk(round.place / "disk", "1M", "ro") as disk:
        await _is_refused(round, disk, "Read-only file system")
        printed = round.random.randrange(3_000_000)
        result = await round.bash.run(
            f"head -c {printed} /dev/zero; exit 7", ToolContext(output_dir=disk, spill_dir=disk)
        )
        need(result.outcome == Exited(7), f"the command: {result.summary}")
        need(
            (result.out.total_bytes, result.spill) == (printed, None), f"{result.out.total_bytes} bytes, {result.spill}"
        )


async def no_state(round: Round) -> None:
    """The task directory is a file, does not exist yet, or is removed while a task runs."""
    kind = round.random.choice(("file", "missing", "removed"))
    if kind == "file":
        (round.place / "file").write_text("")
        await _is_refused(round, round.place / "file" / "tasks", "Not a directory")
        return
    task = await round.start_task(f"{COUNT}")
    if kind == "missing":
        need(round.store.stat().st_mode & 0o777 == 0o700, "others can look into it")
        await round.has_counted(task)
        return
    pid = round.tasks.get(task).pid
    assert pid is not None
    await round.sleep_randomly()
    while round.store.exists():
        with suppress(FileNotFoundError):  # the task's keeper, which is about to exit, removes files, too
            shutil.rmtree(round.store)
    need(not round.tasks.list(), "it is still listed")
    await until(lambda: not is_alive(pid), "the end of a task whose files are gone", within=HANG_TIMEOUT_S)
    await round.has_counted(await round.start_task())


async def no_temporary(round: Round) -> None:
    """TMPDIR is missing, a file, not writable, or full; or no directory for temporary files is usable."""
    program = """
        import sys, tempfile
        if sys.argv[1] == "none":
            tempfile.tempdir = "/proc/nowhere"
        import nacre
        for command in ("echo one", "cat <<< two; exit 7", "cat <<E\\nthree\\nE", "head -c 3000000 /dev/zero"):
            result = nacre.run_sync(command)
            print(result.summary, result.total_bytes, result.output if result.total_bytes < 100 else "")
    """
    said = "exit 0 4 one\n\nexit 7 4 two\n\nexit 0 6 three\n\nexit 0 3000000 \n"
    (round.place / "file").write_text("")
    kinds = ["missing", "file", "/proc"]
    if LINUX:  # elsewhere, stdin of a command is a temporary file
        kinds += ["none", *(["full"] if os.geteuid() == 0 else [])]
    kind = round.random.choice(kinds)
    if kind == "full":
        with small_disk(round.place / "disk", "64k") as disk:
            (disk / ".ballast").write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize))
            done = await round.program(program, kind, env={"TMPDIR": str(disk)})
    else:
        done = await round.program(program, kind, env={"TMPDIR": str(round.place / kind)})
    need(done == said, f"{kind}: printed {done!r}")

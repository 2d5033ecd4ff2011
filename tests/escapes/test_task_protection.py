"""Protected paths hold for tasks, too: what a task plants is undone when it has ended, even without its host."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre import Request, Result, ToolContext
from nacre.keeper.protocol.task_dir import NOTES, PROCESS, PROTECTION
from nacre.protected_paths.quarantine import QUARANTINED
from nacre.result import Exited, Killed, Lost, Running
from nacre.tasks import Tasks
from nacre.tasks.kill import surviving_processes
from nacre.tasks.store.records import parse_process_file
from nacre.tasks.store.store import default_directory
from nacre.tasks.store.task import Task
from nacre.toolcall.task_tools import call
from tests.support.confined import confined, run
from tests.support.held import Held
from tests.support.hosts import started_host
from tests.support.lifeline import Gate
from tests.support.unchecked import UNCHECKED
from tests.support.waiting import HANG_TIMEOUT_S, until

pytestmark = [pytest.mark.req("P-008"), *confined]

PLANTS = (
    "ln -sf ~/.bashrc .git/COMMIT_EDITMSG; mkdir -p .claude; echo evil > .claude/settings.json; echo evil > AGENTS.md; "
    "mkdir -p refs objects; echo 'ref: refs/heads/x' > HEAD; git init -q inner; "
    "git -C inner config core.fsmonitor evil; (echo evil > .mcp.json) 2>/dev/null; true"
)


@pytest.fixture
def repo(repo: Path) -> Path:
    (repo / ".git" / "COMMIT_EDITMSG").unlink()
    (repo / ".mcp.json").write_text("before")
    return repo


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def planted_paths(repo: Path) -> list[str]:
    """Return the planted files that a tool of the user would find."""
    names = [".git/COMMIT_EDITMSG", ".claude", "AGENTS.md", "HEAD", "inner/.git/config"]
    found = [name for name in names if os.path.lexists(repo / name)]
    return found + [".mcp.json"] * ((repo / ".mcp.json").read_text() != "before")


def context(repo: Path, store: Path, **given: object) -> ToolContext:
    return ToolContext(**{"access": "workspace", "working_dir": repo, "output_dir": store, **given})  # type: ignore[arg-type]


async def begin(kind: str, command: str, gate: Gate, ctx: ToolContext) -> Result:
    """Start a task that runs the command when the gate is opened."""
    waiting = f"{gate.wait}; {command}"
    if kind == "background":
        request = Request(waiting, mode="background")
    elif kind == "promoted":
        request = Request(waiting, yield_after=0.01)
    else:
        request = Request(f"{{ {waiting}; }} >/dev/null 2>&1 & echo started")
    result = await UNCHECKED.run(request, ctx)
    assert result.task is not None, result
    return result


async def wait_until_ended(store: Path, result: Result) -> Task:
    assert result.task is not None
    (task,) = (await Tasks(store).wait(result.task.id, timeout=HANG_TIMEOUT_S)).tasks
    return task


def files_of(store: Path, result: Result) -> set[str]:
    assert result.task is not None
    return set(os.listdir(store / result.task.id))


@pytest.mark.parametrize("kind", ["background", "promoted", "adopted"])
async def test_planted_files_are_undone_when_the_task_has_ended(
    repo: Path, store: Path, mounts: bool, gate: Gate, kind: str
) -> None:
    result = await begin(kind, PLANTS, gate, context(repo, store))
    assert PROTECTION in files_of(store, result)
    assert (store / str(result.task and result.task.id) / PROTECTION).stat().st_mode & 0o777 == 0o600
    gate.open()
    task = await wait_until_ended(store, result)
    assert (task.outcome, planted_paths(repo)) == (Exited(0) if kind != "adopted" else task.outcome, [])
    assert len(task.notes) == (5 if mounts else 6)
    kept = [path.name.removesuffix(QUARANTINED) for path in repo.iterdir() if path.name.endswith(QUARANTINED)]
    changed = [] if mounts else [".mcp.json"]
    assert {name.rpartition("-")[0] for name in kept} == {".claude", "AGENTS.md", "HEAD", *changed}
    assert task.to_dict()["notes"] == list(task.notes)
    assert PROTECTION not in files_of(store, result)
    again = await run("true", repo)
    assert (again.notes, planted_paths(repo)) == ((), [])


async def test_task_output_tells_the_model_about_undone_files(repo: Path, store: Path, gate: Gate) -> None:
    result = await begin("background", "echo evil > AGENTS.md", gate, context(repo, store))
    gate.open()
    task = await wait_until_ended(store, result)
    text = await call("TaskOutput", {"task_id": task.id}, Tasks(store))
    assert f"{repo}/AGENTS.md is protected: it was made, and has been removed." in text


async def test_cli_prints_the_protection_notes_of_a_task(repo: Path, store: Path, gate: Gate) -> None:
    result = await begin("background", "echo evil > AGENTS.md", gate, context(repo, store))
    gate.open()
    task = await wait_until_ended(store, result)

    def nacre(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "nacre", *words, "--dir", str(store)]
        return subprocess.run(command, capture_output=True, text=True, check=True)

    for words in (("wait", task.id), ("output", task.id)):
        assert f"nacre: {repo}/AGENTS.md is protected: it was made" in nacre(*words).stderr
    (row,) = json.loads(nacre("tasks", "--all", "--json").stdout)["tasks"]
    assert row["notes"] == list(task.notes)


async def test_task_that_exits_at_once_reports_its_notes_in_the_result(repo: Path, store: Path, mounts: bool) -> None:
    result = await UNCHECKED.run(Request("echo evil > AGENTS.md; exit 3", mode="background"), context(repo, store))
    assert result.task is not None
    task = await wait_until_ended(store, result)
    assert (task.outcome, planted_paths(repo), len(task.notes)) == (Exited(3), [], 1)
    if not isinstance(result.outcome, Running):
        assert list(result.notes) == list(task.notes)


async def test_task_that_plants_nothing_has_no_notes(repo: Path, store: Path, mounts: bool, gate: Gate) -> None:
    result = await begin("background", "echo work > file", gate, context(repo, store))
    gate.open()
    task = await wait_until_ended(store, result)
    assert (task.outcome, task.notes) == (Exited(0), ())
    assert "notes" not in json.loads((store / task.id / "status.json").read_text())
    assert result.notes == ()


@pytest.mark.parametrize("access", ["restricted", "unrestricted"])
async def test_task_without_protection_saves_no_view(repo: Path, store: Path, gate: Gate, access: str) -> None:
    result = await begin("background", "true", gate, context(repo, store, access=access))
    before = files_of(store, result)
    gate.open()
    await wait_until_ended(store, result)
    assert {PROTECTION, NOTES}.isdisjoint(before | files_of(store, result))


async def test_files_planted_by_a_killed_task_are_undone(repo: Path, store: Path, mounts: bool, gate: Gate) -> None:
    result = await UNCHECKED.run(
        Request(f"{PLANTS}; touch planted; {gate.wait}", mode="background"), context(repo, store)
    )
    await until((repo / "planted").exists, "the plants")
    assert result.task is not None
    task = await Tasks(store).kill(result.task.id)
    assert isinstance(task.outcome, Killed)
    assert planted_paths(repo) == []
    assert task.notes


HOST = """
    import asyncio, sys
    from nacre import Request, ToolContext
    from nacre.base.frozen import replace
    from tests.support.confined import HERE
    from tests.support.unchecked import UNCHECKED
    import nacre.sandbox.probe
    repo, store, command, mounts = sys.argv[1:]
    if mounts != "True":
        nacre.sandbox.probe.kernel = lambda: replace(HERE, mounts=False, networks=False)
    async def main():
        ctx = ToolContext(access="workspace", working_dir=repo, output_dir=store)
        result = await UNCHECKED.run(Request(command, mode="background"), ctx)
        print(result.task.id, flush=True)
        await asyncio.Event().wait()
    asyncio.run(main())
"""


async def test_files_planted_by_a_task_are_undone_without_its_host(
    repo: Path, store: Path, mounts: bool, gate: Gate
) -> None:
    with started_host(HOST, repo, store, f"{gate.wait}; {PLANTS}", mounts) as host:
        assert host.stdout is not None
        id = host.stdout.readline().strip()
        host.kill()
        host.wait()
    gate.open()
    (task,) = (await Tasks(store).wait(id, timeout=HANG_TIMEOUT_S)).tasks
    assert (task.outcome, planted_paths(repo)) == (Exited(0), [])
    assert task.notes


async def test_files_planted_by_another_task_are_not_taken_for_the_users(
    repo: Path, store: Path, mounts: bool, gate: Gate, tmp_path: Path
) -> None:
    other_gate = Gate(tmp_path / "other-gate")
    command = f"{PLANTS}; touch planted; {gate.wait}"
    first = await UNCHECKED.run(Request(command, mode="background"), context(repo, store))
    await until((repo / "planted").exists, "the plants")
    second = await begin("background", "true", other_gate, context(repo, store))
    gate.open()
    await wait_until_ended(store, first)
    assert planted_paths(repo) == []
    other_gate.open()
    task = await wait_until_ended(store, second)
    assert planted_paths(repo) == []
    assert not [note for note in task.notes if "has been" in note]
    other_gate.close()


@pytest.mark.parametrize("task_ends_first", [True, False], ids=["task ends first", "run ends first"])
async def test_later_run_shares_the_view_of_a_task(
    repo: Path, store: Path, mounts: bool, gate: Gate, task_ends_first: bool
) -> None:
    """It neither takes the task's plants for the user's files, nor restores them after they were removed."""
    command = f"{PLANTS}; touch planted; {gate.wait}"
    result = await UNCHECKED.run(Request(command, mode="background"), context(repo, store))
    await until((repo / "planted").exists, "the plants")
    meanwhile = await Held(repo, "meanwhile", ":").begin()
    if not task_ends_first:
        await meanwhile.end()
    gate.open()
    await wait_until_ended(store, result)
    assert planted_paths(repo) == []
    if task_ends_first:
        await meanwhile.end()
    assert planted_paths(repo) == []
    assert [note for note in (await run("true", repo)).notes if "has been" in note] == []
    assert planted_paths(repo) == []


async def test_change_by_the_user_after_a_task_is_kept(repo: Path, store: Path, mounts: bool, gate: Gate) -> None:
    result = await begin("background", "true", gate, context(repo, store))
    gate.open()
    await wait_until_ended(store, result)
    (repo / "AGENTS.md").write_text("mine")
    (repo / ".mcp.json").write_text("mine")
    assert (await run("true", repo)).notes == ()
    assert ((repo / "AGENTS.md").read_text(), (repo / ".mcp.json").read_text()) == ("mine", "mine")


async def test_change_by_the_user_during_a_task_is_quarantined(
    repo: Path, store: Path, mounts: bool, gate: Gate
) -> None:
    result = await begin("background", "true", gate, context(repo, store))
    (repo / "AGENTS.md").write_text("three hours of work")
    gate.open()
    task = await wait_until_ended(store, result)
    (kept,) = [path for path in repo.iterdir() if path.name.endswith(QUARANTINED)]
    assert kept.read_text() == "three hours of work"
    assert task.notes[0].endswith(f"What was there is now called {kept.name}.")


async def test_hidden_file_replaced_during_a_task_is_reported(place: Path, store: Path, gate: Gate) -> None:
    (place / "key").write_text("old")
    ctx = context(place, store, hidden=("key",), allow_partial=True)
    result = await begin("background", "true", gate, ctx)
    (place / "new").write_text("new")
    (place / "new").rename(place / "key")
    gate.open()
    task = await wait_until_ended(store, result)
    if "hidden" in result.enforced:
        assert [note for note in task.notes if "not hidden from then on" in note]


# failures


def spoil(saved: Path) -> None:
    saved.write_bytes(b'["Scope"')


def forge(saved: Path) -> None:
    """Change the saved state so that nacre would write the wrong file."""
    saved.write_bytes(saved.read_bytes().replace(b"AGENTS.md", b"forged.md"))


def link(saved: Path) -> None:
    saved.unlink()
    saved.symlink_to("/etc/passwd")


@pytest.mark.parametrize("how", [spoil, forge, link, Path.unlink])
async def test_failed_comparison_is_reported(repo: Path, store: Path, gate: Gate, how: Callable[[Path], None]) -> None:
    result = await begin("background", "exit 7", gate, context(repo, store))
    assert result.task is not None
    how(store / result.task.id / PROTECTION)
    gate.open()
    task = await wait_until_ended(store, result)
    assert task.outcome == Exited(7)
    assert [note.partition(":")[0] for note in task.notes] == [
        "Protected paths were not compared with what was there before this task"
    ]


async def lose(repo: Path, store: Path, gate: Gate) -> str:
    """Return a task that has planted something, and whose keeper was killed."""
    command = f"{PLANTS}; touch planted; {gate.wait}"
    result = await UNCHECKED.run(Request(command, mode="background"), context(repo, store))
    await until((repo / "planted").exists, "the plants")
    assert result.task is not None
    os.kill(json.loads((store / result.task.id / PROCESS).read_text())["keeper"][0], signal.SIGKILL)
    return result.task.id


async def test_reading_a_lost_task_undoes_its_planted_files(
    repo: Path, tmp_path: Path, mounts: bool, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = Path(default_directory())
    id = await lose(repo, store, gate)
    task = await until(lambda: next((each for each in [Tasks(store).get(id)] if each.notes), None), "the notes")
    assert task is not None
    assert (task.outcome, planted_paths(repo)) == (Lost("its keeper was killed"), [])
    assert Tasks(store).get(id).notes == task.notes


async def test_next_run_undoes_the_planted_files_of_a_lost_task(
    repo: Path, store: Path, mounts: bool, gate: Gate
) -> None:
    id = await lose(repo, store, gate)
    begun = parse_process_file(json.loads((store / id / PROCESS).read_text()))
    await until(lambda: not surviving_processes(begun), "the end of its processes")
    await run("true", repo)
    assert planted_paths(repo) == []


async def test_saved_view_in_a_foreign_store_is_not_trusted(repo: Path, store: Path, mounts: bool, gate: Gate) -> None:
    """A command may have forged the whole store. The host still undoes what it remembers itself."""
    id = await lose(repo, store, gate)
    task = await until(lambda: next((each for each in [Tasks(store).get(id)] if not each.alive), None), "its loss")
    assert task is not None
    assert [note.partition(": ")[2] for note in task.notes] == ["its keeper was killed. Look at them yourself."]
    assert "AGENTS.md" in planted_paths(repo)


async def test_nothing_is_undone_after_a_reboot(
    repo: Path, tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = Path(default_directory())
    id = await lose(repo, store, gate)
    begun = json.loads((store / id / PROCESS).read_text())
    (store / id / PROCESS).write_text(json.dumps({**begun, "boot": "another"}))
    task = await until(lambda: next((each for each in [Tasks(store).get(id)] if not each.alive), None), "its loss")
    assert task is not None
    assert task.outcome == Lost("the machine was restarted")
    assert len(task.notes) == 1
    assert "the machine was restarted" in task.notes[0]
    assert "AGENTS.md" in planted_paths(repo)


async def test_saved_view_is_plain_json(repo: Path, store: Path, gate: Gate) -> None:
    result = await begin("background", "true", gate, context(repo, store))
    assert result.task is not None
    saved = store / result.task.id / PROTECTION
    assert isinstance(json.loads(saved.read_bytes()), list)
    assert shlex.quote(str(repo)) in saved.read_text()
    gate.open()
    await wait_until_ended(store, result)

"""The workspace that is shipped to a node, and paths in it. Runs without Ray."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre import ToolContext
from nacre.base.frozen import replace
from nacre.engines.ray.node import workspace as workspaces
from nacre.engines.ray.node.agent import Agent
from nacre.engines.ray.node.payload import MARK, make_sendable
from nacre.engines.ray.node.workspace import (
    ShippedWorkspace,
    digest_of,
    keep_archive,
    pack,
    real_context,
    real_directory,
    unpack,
)
from nacre.errors import EngineUnavailable, InvalidRequest
from nacre.keeper.client.events import OutputChunk
from nacre.planning.plan import plan_for
from nacre.profiles import DEFAULT
from nacre.types import Request
from tests.engines.ray_payloads import collect_events, make_payload, make_plan


async def test_refusal_by_a_node_names_the_local_path(
    tmp_path: Path, shipped: Callable[[Path], ShippedWorkspace]
) -> None:
    """The same error is raised in the foreground and in the background."""
    work = tmp_path / "work"
    work.mkdir()
    there = shipped(work)
    os.close(unpack(there))
    run = make_payload(replace(make_plan("true"), cwd=str(work / "none")), workspace=there)
    _, final = await collect_events(Agent(), run)
    begun = await Agent().start_task(run)
    for told in (final.event, begun):
        assert isinstance(told, InvalidRequest)
        assert (told.code, told.message) == ("cwd_missing", f"The working directory '{work}/none' does not exist.")


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], ShippedWorkspace]:
    """Return a function that packs a directory for a node."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "node"))

    def ship(work: Path) -> ShippedWorkspace:
        archive = pack(str(work))
        made = ShippedWorkspace(here=str(work), digest=digest_of(archive), copy=os.urandom(4).hex())
        keep_archive(made.digest, archive)
        return made

    return ship


def test_workspace_copy_equals_the_original(tmp_path: Path, shipped: Callable[[Path], ShippedWorkspace]) -> None:
    work = tmp_path / "work"
    (work / "empty").mkdir(parents=True)
    (work / "run").write_text("#!/bin/sh\n")
    (work / "run").chmod(0o775)
    (work / "link").symlink_to("run")
    (work / "empty" / "whole").symlink_to(work / "run")
    os.mkfifo(work / "pipe")
    assert pack(str(work)) == pack(str(work))
    there = shipped(work)
    os.close(unpack(there))
    root = Path(there.root)
    assert sorted(path.name for path in root.iterdir()) == ["empty", "link", "run"]
    assert (root / "link").is_symlink()
    assert (root / "run").stat().st_mode & 0o777 == 0o775
    assert (root / "empty" / "whole").resolve() == root / "run"
    assert there.node_path(f"{work}/empty") == f"{root}/empty"
    assert there.local_path(f"{root}/empty") == f"{work}/empty"
    assert there.node_path("/usr") == "/usr"


def test_symlinks_into_the_workspace_lead_into_the_copy(
    tmp_path: Path, shipped: Callable[[Path], ShippedWorkspace]
) -> None:
    work, alias = tmp_path / "work", tmp_path / "alias"
    (work / "sub" / "deep").mkdir(parents=True)
    (work / "f").write_text("shipped")
    alias.symlink_to(work)
    (tmp_path / "to_f").symlink_to(work / "f")
    (work / "above").symlink_to("..")
    inside = {
        "plain": "f",
        "dotted": "./sub/../f",
        "out_and_in": "../work/f",
        "absolute": f"{work}/f",
        "absolute_dotted": f"{work}/sub/../f",
        "by_another_name": f"{alias}/f",
        "by_a_link_outside": "../to_f",
        "over_a_link_that_leads_out": "above/work/f",
        "of_a_link": f"{alias}/plain",
        "sub/deep/up": "../../f",
        "sub/deep/out_and_in": "../../../alias/f",
    }
    for name, target in inside.items():
        (work / name).symlink_to(target)
    (work / "whole").symlink_to("../alias")
    (work / "outside").symlink_to("/etc/hostname")
    (work / "dangling").symlink_to("none")
    (work / "loop").symlink_to("loop")
    there = shipped(work)
    os.close(unpack(there))
    root = Path(there.root)
    (work / "f").write_text("changed here")
    assert {name: (root / name).read_text() for name in inside} == dict.fromkeys(inside, "shipped")
    assert (root / "whole").resolve() == root
    kept = {"plain": "f", "sub/deep/up": "../../f", "outside": "/etc/hostname", "dangling": "none", "loop": "loop"}
    assert {name: os.readlink(root / name) for name in kept} == kept


def test_old_workspace_copy_stays_while_it_is_used(tmp_path: Path, shipped: Callable[[Path], ShippedWorkspace]) -> None:
    """The age of the original directory does not matter."""
    work, long_ago = tmp_path / "work", 1_000_000_000
    work.mkdir()
    (work / "closed").mkdir(mode=0o500)
    os.utime(work, (long_ago, long_ago))
    first, second, third = shipped(work), shipped(work), shipped(work)
    used, unused = unpack(first), unpack(second)
    os.close(unused)
    for name in os.listdir(os.path.dirname(first.root)):
        os.utime(os.path.join(os.path.dirname(first.root), name), (long_ago, long_ago))
    keep_archive(third.digest, pack(str(work)))
    os.close(unpack(third))
    assert [os.path.isdir(each.root) for each in (first, second, third)] == [True, False, True]
    os.close(used)


def test_workspace_that_cannot_be_shipped_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large").write_bytes(bytes(1000))
    monkeypatch.setattr(workspaces, "MAX_ARCHIVE_BYTES", 999)
    with pytest.raises(EngineUnavailable, match=r"is larger than .* Put it on storage that every node shares"):
        pack(str(tmp_path))
    with pytest.raises(EngineUnavailable, match=r"Cannot pack the workspace .*No such file"):
        pack(str(tmp_path / "none"))
    with pytest.raises(InvalidRequest, match="not a directory"):
        workspaces.check_workspace(tmp_path / "large")


@pytest.mark.linux
async def test_hidden_path_is_hidden_on_the_node_through_any_symlink(
    tmp_path: Path, shipped: Callable[[Path], ShippedWorkspace]
) -> None:
    work, link = tmp_path / "work", tmp_path / "link"
    work.mkdir()
    (work / "key").write_text("PRIVATE")
    (work / "alias").symlink_to("key")
    link.symlink_to(work)
    there = shipped(work)
    hold = unpack(there)
    for name in ("key", "alias", f"{link}/key", f"{work}/key", f"{link}/alias"):
        ctx = ToolContext(working_dir=link, access="restricted", hidden=(name,))
        cwd = real_directory(str(link), str(work))
        plan = plan_for(Request("cat key; echo"), ctx, DEFAULT, {MARK: "ray"})
        real = real_context(make_sendable(ctx), str(work))
        happened, _ = await collect_events(Agent(), make_payload(replace(plan, cwd=cwd), ctx=real, workspace=there))
        assert b"PRIVATE" not in b"".join(each.data for each in happened if isinstance(each, OutputChunk)), name
    os.close(hold)


def test_hidden_path_outside_the_workspace_is_left_to_the_node(tmp_path: Path) -> None:
    ctx = ToolContext(workspace=tmp_path, hidden=("~/.ray", "/etc/shadow", "../beside"))
    real = real_context(ctx, str(tmp_path))
    assert real.hidden == ("~/.ray", "/etc/shadow", str(tmp_path.parent / "beside"))


def test_working_directory_outside_the_shipped_workspace_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="outside the shipped workspace"):
        real_directory("/home/me/workshop", "/home/me/work")

"""Files that other programs of the user read automatically: none can be planted, wherever it would be found."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from nacre import Bash, ToolContext
from nacre.errors import InvalidRequest
from nacre.hooks.install.locations import AGENTS
from nacre.protected_paths.quarantine import QUARANTINED
from nacre.sandbox.protected_names import AT_ROOTS, IN_HOME, TABLE, known_names
from tests.support.confined import confined, run, try_all
from tests.support.repositories import repository

pytestmark = [pytest.mark.req("P-008"), *confined]

NAMES = [each.name for each in AT_ROOTS]
ISSUE = """.cursor .gemini .codex .agents .vscode .idea .envrc .gitmodules .husky .devcontainer .devcontainer.json
AGENTS.md CLAUDE.md CLAUDE.local.md GEMINI.md .cursorrules .windsurf .claude .mcp.json .nacre .hg/hgrc
.jj/repo/config.toml .lefthook.yml lefthook.yaml lefthook-local.yml mise.local.toml .mise/config.toml .config/mise.toml
opencode.jsonc .opencode.json .roomodes .qwen .continue .github/instructions .github/agents .exrc .nvim.lua .nvimrc
.dir-locals.el .trae .augment .crush.json QWEN.md WARP.md""".split()
PARENTS = {name.partition("/")[0] for name in NAMES if "/" in name}
"""Directories that contain protected names, and are not protected themselves."""


def plant(name: str) -> str:
    """Return shell text that creates the file, or a file in it if it is a directory."""
    path = shlex.quote(name)
    return f"mkdir -p -- $(dirname {path}); if [ -d {path} ]; then echo x > {path}/x; else echo x > {path}; fi"


def is_quarantined(path: Path) -> bool:
    return any(part.endswith(QUARANTINED) for part in path.parts)


def contents(place: Path) -> dict[str, bytes | None]:
    """Return all files except quarantined ones."""
    paths = [path for path in sorted(place.rglob("*")) if not is_quarantined(path)]
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


def test_protected_names_are_unique_and_have_a_reason() -> None:
    assert set(ISSUE) <= set(NAMES)
    names = [each.name for each in TABLE]
    assert len(set(names)) == len(names)
    assert all(each.reason and each.name == os.path.normpath(each.name) for each in TABLE)


async def test_protected_name_cannot_be_planted(place: Path, mounts: bool) -> None:
    (place / "own").write_text("mine")
    before = contents(place)
    through, result = await try_all({str(number): plant(name) for number, name in enumerate(NAMES)}, place)
    made = {str(path) for path in place.iterdir() if not is_quarantined(path)}
    made -= {*before, *(str(place / name) for name in PARENTS)}
    assert made == set()
    assert len(through) == len(NAMES), "the command made them all: each is removed and named"
    removed = [note for note in result.notes if "and has been removed." in note]
    assert {str(place / name) for name in NAMES} == {note.partition(" is protected")[0] for note in removed}
    assert "protected" not in result.enforced


async def test_existing_protected_file_cannot_be_changed(place: Path, mounts: bool) -> None:
    for name in NAMES:
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        if "." in name[1:] or name in (".envrc", ".goosehints"):
            (place / name).write_text("before")
        else:
            (place / name).mkdir()
            (place / name / "settings").write_text("before")
    before = contents(place)
    deeds = {f"planted-{number}": plant(name) for number, name in enumerate(NAMES)}
    deeds |= {f"moved-{number}": f"mv {shlex.quote(name)} moved-{number}" for number, name in enumerate(NAMES)}
    deeds |= {"parent": "mv .github elsewhere"}
    through, result = await try_all(deeds, place)
    after = {path: text for path, text in contents(place).items() if not path.startswith(f"{place}/moved-")}
    if mounts:
        assert through == []
        assert after == before
        assert "protected-existing" in result.enforced
    else:
        elsewhere = f"{place}/elsewhere"
        assert {path: text for path, text in after.items() if not path.startswith(elsewhere)} == {
            path: text for path, text in before.items() if "/.github" not in path
        }
        assert "protected-existing" not in result.enforced
        assert len(result.notes) >= len(NAMES)


async def test_protected_name_cannot_be_planted_in_a_writable_directory(place: Path, mounts: bool) -> None:
    other = place.parent / "other"
    other.mkdir()
    await try_all({"orders": f"echo x > {shlex.quote(str(other))}/AGENTS.md"}, place, writable=(other,))
    assert [path for path in other.iterdir() if not is_quarantined(path)] == []


@pytest.mark.parametrize("below", [False, True], ids=["the workspace is home", "home is in the workspace"])
async def test_shell_startup_files_are_protected_in_home(
    place: Path, mounts: bool, monkeypatch: pytest.MonkeyPatch, below: bool
) -> None:
    home = place / "user" if below else place
    home.mkdir(exist_ok=True)
    (home / ".bashrc").write_text("before")
    monkeypatch.setenv("HOME", str(home))
    names = [each.name for each in IN_HOME]
    await try_all(
        {str(number): f"cd {shlex.quote(str(home))}; {plant(each)}" for number, each in enumerate(names)}, place
    )
    left = [path for path in home.rglob("*") if not path.is_dir() and not is_quarantined(path)]
    assert left == [home / ".bashrc"]
    assert (home / ".bashrc").read_text() == "before"


async def test_shell_startup_names_outside_home_are_ordinary(place: Path, mounts: bool) -> None:
    result = await run("echo x > .bashrc; mkdir bin config; echo x > config/app; echo x > Makefile", place)
    assert result.notes == ()
    assert {path.name for path in place.iterdir()} == {".bashrc", "bin", "config", "Makefile"}


@pytest.mark.parametrize("agent", AGENTS)
async def test_hooks_installed_by_nacre_are_protected(place: Path, mounts: bool, agent: str) -> None:
    paths = AGENTS[agent].paths(env={}, home="/nowhere", project=str(place))
    for path in paths:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_text("before")
    await try_all({str(number): f"echo x > {shlex.quote(path)}" for number, path in enumerate(paths)}, place)
    assert [Path(path).read_text() for path in paths] == ["before"] * len(paths)


async def test_settings_moved_by_an_environment_variable_are_protected(
    place: Path, mounts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(place / "codex"))
    result = await run("mkdir codex; echo x > codex/config.toml; echo x > codex/other", place)
    assert [path.name for path in (place / "codex").iterdir() if not is_quarantined(path)] == ["other"]
    assert len(result.notes) == 1


# unprotected names


async def test_only_the_unprotected_names_become_writable(place: Path, mounts: bool) -> None:
    (place / "AGENTS.md").write_text("before")
    deeds = {"freed": "echo x > AGENTS.md", "below": "mkdir .github; echo x > .github/copilot-instructions.md"}
    through, result = await try_all(deeds, place, unprotected=("AGENTS.md", ".github"))
    assert through == ["freed", "below"]
    assert (place / "AGENTS.md").read_text() == "x\n"
    assert (place / ".github" / "copilot-instructions.md").exists()
    assert result.notes == ()
    _, result = await try_all({"other": "echo x > CLAUDE.md"}, place, unprotected=("AGENTS.md",))
    assert not (place / "CLAUDE.md").exists()


async def test_git_directory_can_be_unprotected_by_name(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    result = await run("git config user.name Other; echo x > .git/hooks/pre-commit", repo, unprotected=(".git",))
    assert (result.ok, result.notes) == (True, ())
    assert (repo / ".git" / "hooks" / "pre-commit").exists()
    assert "Other" in (repo / ".git" / "config").read_text()


@pytest.mark.parametrize(("name", "hint"), [("AGENT.md", "'AGENTS.md'"), ("src", "docs/sandbox.md"), ("", "docs")])
def test_unprotected_rejects_an_unknown_name(place: Path, name: str, hint: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Bash().constraints(ToolContext(access="workspace", working_dir=place, unprotected=(name,)))
    assert caught.value.code == "bad_unprotected"
    assert hint in str(caught.value.hint)


async def test_unprotected_takes_a_list_and_only_in_workspace_mode(place: Path) -> None:
    with pytest.raises(InvalidRequest, match="not a sequence"):
        await run("true", place, unprotected="AGENTS.md")
    with pytest.raises(InvalidRequest, match="no effect"):
        Bash().constraints(ToolContext(access="restricted", working_dir=place, unprotected=("AGENTS.md",)))


def test_every_protected_name_is_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text(encoding="utf-8")
    assert [each.name for each in TABLE if f"`{each.name}`" not in page] == []


def test_every_protected_name_can_be_unprotected(place: Path) -> None:
    for name in known_names():
        assert Bash().constraints(ToolContext(access="workspace", working_dir=place, unprotected=(name,)))

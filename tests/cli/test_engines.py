"""`nacre run --engine`."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import Bash
from nacre.engines.bubblewrap import check
from nacre.errors import EngineUnavailable
from tests.cli.door import Nacre


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "moon"], "Use one of local, bwrap, podman, docker"),
        (["--engine", "podman"], "podman needs an image"),
        (["--image", "debian"], "An image has no meaning with engine='local'"),
        (["--engine", "bwrap", "--image", "debian"], "An image has no meaning with engine='bwrap'"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_said(nacre: Nacre, words: list[str], said: str) -> None:
    done = nacre("run", *words, "true")
    assert done.code == 125
    assert said in done.err.decode()


def test_an_engine_that_is_not_here_is_said_to_be_missing(nacre: Nacre, tmp_path: Path) -> None:
    (tmp_path / "bash").symlink_to("/bin/bash")
    done = nacre("run", "--engine", "docker", "--image", "debian", "true", env={"PATH": str(tmp_path)})
    assert done.code == 125
    assert "There is no docker here. Install docker" in done.err.decode()


@pytest.mark.linux
def test_a_command_runs_in_namespaces_of_its_own(nacre: Nacre) -> None:
    try:
        check("bwrap")
    except EngineUnavailable as error:
        pytest.skip(str(error))
    done = nacre("run", "--engine", "bwrap", "echo $$; exit 3")
    assert (done.code, int(done.out) < 100) == (3, True)


@pytest.mark.linux
@pytest.mark.parametrize("engine", ["local", "bwrap"])
def test_what_a_session_may_write_stays_where_it_was_begun(nacre: Nacre, tmp_path: Path, engine: str) -> None:
    if engine == "bwrap":
        try:
            check("bwrap")
        except EngineUnavailable as error:
            pytest.skip(str(error))
    if not Bash().engine.confines:
        pytest.skip("nothing can be confined here")
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    work.mkdir()
    elsewhere.mkdir()

    def run(command: str, *options: str, cwd: Path = work) -> int:
        words = ["--engine", engine, "--access", "workspace", "--session", f"stays-{engine}", *options]
        return nacre("run", *words, command, cwd=cwd).code

    assert run("cd /var/tmp") == 0
    assert run(f"echo >{work}/first", cwd=elsewhere) == 0
    assert run("echo >written-by-a-test", cwd=Path("/var/tmp")) != 0
    assert run(f"echo >{elsewhere}/file", cwd=elsewhere) != 0
    assert run("echo >file", "--cwd", str(elsewhere)) == 0  # the person says so
    assert (sorted(path.name for path in work.iterdir()), (elsewhere / "file").exists()) == (["first"], True)

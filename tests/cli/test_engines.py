"""`nacre run --engine`."""

from __future__ import annotations

from pathlib import Path

import pytest

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

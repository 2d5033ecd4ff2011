"""Fixtures for tests that run on every engine. `place` is a workspace, and a Bash whose commands run there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, Request, Result, ToolContext
from nacre.engines import LOCAL, Bubblewrap, Containers, Engine
from nacre.engines.bubblewrap import check
from nacre.errors import EngineUnavailable

PROGRAMS = os.environ.get("NACRE_TEST_CONTAINERS", "").split()
"""Programs, of podman and docker, that have the image here; set by `make test-containers`."""
IMAGE = "localhost/nacre-test"


@dataclass
class Place:
    bash: Bash
    directory: Path

    def context(self, **settings: Any) -> ToolContext:
        return ToolContext(**{"working_dir": self.directory, "output_dir": self.directory.parent / "kept", **settings})

    async def run(self, request: Request | str, **settings: Any) -> Result:
        return await self.bash.run(request, self.context(**settings))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path


@pytest.fixture
def fifo_directory(directory: Path) -> Path:
    """Return the directory of the place: containers see no other."""
    return directory


@pytest.fixture(
    params=[
        pytest.param("local", marks=pytest.mark.linux),
        pytest.param("bwrap", marks=pytest.mark.linux),
        pytest.param("podman", marks=pytest.mark.containers),
        pytest.param("docker", marks=pytest.mark.containers),
    ]
)
async def place(request: pytest.FixtureRequest, directory: Path) -> AsyncIterator[Place]:
    engine = engine_named(request.param)
    yield Place(Bash(engine=engine), directory)
    await engine.aclose()


@pytest.fixture(params=["podman", "docker"])
def program(request: pytest.FixtureRequest) -> str:
    """A container program that works here."""
    engine_named(request.param)
    return str(request.param)


@pytest.fixture
async def made(program: str) -> AsyncIterator[Callable[..., Bash]]:
    """Yield a function that makes a Bash with its own engine; close the engines at the end."""
    engines: list[Containers] = []

    def make(**settings: Any) -> Bash:
        engines.append(Containers(IMAGE, **{"program": program, **settings}))
        return Bash(engine=engines[-1])

    yield make
    for engine in engines:
        await engine.aclose()


def containers(program: str, directory: Path) -> list[str]:
    """Return the names of the containers, running or not, that have this directory mounted."""
    names = command_output(program, "ps", "-a", "--filter", "label=nacre", "--format", "{{.Names}}").split()
    found = []
    for name in names:
        described = subprocess.run([program, "inspect", name], capture_output=True, text=True, check=False).stdout
        if str(directory) in described:
            found.append(name)
    return found


def command_output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def engine_named(name: str) -> Engine:
    if name == "bwrap":
        try:
            check("bwrap")
        except EngineUnavailable as error:
            pytest.skip(str(error))
        return Bubblewrap()
    if name in ("podman", "docker"):
        if name not in PROGRAMS:
            pytest.skip(f"needs {name} and an image, which `make test-containers` sees to where it can")
        return Containers(IMAGE, program=name)
    return LOCAL

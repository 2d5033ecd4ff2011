"""`minisweagent.environments.local.LocalEnvironment.execute`, and its answer as the default agent (`mini.yaml`) shows
it to the model. Set: only the directory and, for each call, the timeout. `/bin/sh`, a process for each command."""

from __future__ import annotations

import asyncio
from pathlib import Path

import yaml
from jinja2 import StrictUndefined, Template
from minisweagent.config import get_config_path
from minisweagent.environments.local import LocalEnvironment

from bench.peers.contract import Answer

PACKAGES = ["mini-swe-agent==2.4.6"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = False


class Shell:
    def __init__(self, directory: Path) -> None:
        self._environment = LocalEnvironment(cwd=str(directory))
        config = yaml.safe_load(get_config_path("mini").read_text())
        self._template = Template(config["model"]["observation_template"], undefined=StrictUndefined)

    async def run(self, command: str, timeout: float) -> Answer:
        return await asyncio.to_thread(self._run, command, timeout)

    def _run(self, command: str, timeout: float) -> Answer:
        output = self._environment.execute({"command": command}, timeout=int(timeout))
        timed_out = output.get("extra", {}).get("exception_type") == "TimeoutExpired"
        text = self._template.render(output=output)
        return Answer(text, output["returncode"], "timeout" if timed_out else "exit")

    async def close(self) -> None:
        pass


async def open_shell(directory: Path) -> Shell:
    return Shell(directory)

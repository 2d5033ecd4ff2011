"""Real agents, from the package registry, with a model on loopback, and `nacre hook` installed as a user would.

The commands are harmless if nothing stops them; each first creates a file that shows that it ran.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.hooks.handle import PROTOCOLS
from tests.agents.model import Model, model

pytestmark = pytest.mark.agents
PROGRAMS = Path(os.environ.get("NACRE_AGENTS", ".agents")) / "node_modules" / ".bin"
AGENT_TIMEOUT_S = 100
ALLOWED = "touch ran; echo hello"
REFUSED = "touch ran; git push -f nowhere main"
ASKED = "touch ran; git stash drop"

Start = Callable[[Path, Model], tuple[list[str], dict[str, str]]]


def claude_code(home: Path, fake: Model) -> tuple[list[str], dict[str, str]]:
    words = ["claude", "-p", "Go.", "--allowedTools", "Bash"]
    return words, {
        "ANTHROPIC_BASE_URL": fake.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def codex(home: Path, fake: Model) -> tuple[list[str], dict[str, str]]:
    config = home / ".codex" / "config.toml"
    provider = f'name = "fake"\nbase_url = "{fake.url}/v1"\nwire_api = "responses"\nenv_key = "FAKE_KEY"\n'
    config.write_text(
        'model = "gpt-5"\nmodel_provider = "fake"\n\n[model_providers.fake]\n' + provider + "\n" + config.read_text()
    )
    words = ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return [*words, "--dangerously-bypass-hook-trust", "Go."], {"FAKE_KEY": "none"}


def gemini(home: Path, fake: Model) -> tuple[list[str], dict[str, str]]:
    file = home / ".gemini" / "settings.json"
    settings = json.loads(file.read_text())
    settings["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    settings["general"] = {"disableAutoUpdate": True}
    file.write_text(json.dumps(settings))
    return ["gemini", "-p", "Go.", "--yolo"], {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": fake.url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


AGENTS: dict[str, Start] = {"claude-code": claude_code, "codex": codex, "gemini": gemini}


def run(agent: str, command: str, home: Path) -> tuple[Model, bool, list[bytes]]:
    """Run the agent; return the model, whether the command ran, and the payloads that the hook got."""
    work = home / "work"
    work.mkdir()
    program = home / "nacre"  # wrapper that records the payload and runs nacre
    record = home / "payloads"
    record.mkdir()
    program.write_text(
        f'#!/bin/sh\nfile=$(mktemp {record}/XXXXXX)\ncat >"$file"\nexec {sys.executable} -m nacre "$@" <"$file"\n'
    )
    program.chmod(0o755)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env = {**kept, "HOME": str(home), "TERM": "dumb", "NO_COLOR": "1"}
    words = [sys.executable, "-m", "nacre", "hook", "install", agent, "--program", str(program)]
    subprocess.run(words, check=True, capture_output=True, env=env, timeout=AGENT_TIMEOUT_S)
    with model(command) as fake:
        words, more = AGENTS[agent](home, fake)
        words[0] = str(PROGRAMS / words[0])
        done = subprocess.run(
            words,
            env={**env, **more},
            cwd=work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=AGENT_TIMEOUT_S,
            check=False,
        )
        assert fake.results, (done, fake.requests)
    return fake, (work / "ran").exists(), [path.read_bytes() for path in record.iterdir()]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("command", [ALLOWED, REFUSED, ASKED], ids=["allowed", "refused", "asked"])
def test_real_agent_obeys_the_hook(agent: str, command: str, tmp_path: Path) -> None:
    fake, ran, payloads = run(agent, command, tmp_path)
    assert ran == (command == ALLOWED)
    if command != ALLOWED:
        assert "nacre" in fake.results[0]
    (payload,) = payloads
    fields = json.loads(payload)
    dialect = next(dialect for dialect in PROTOCOLS if dialect.recognises(fields))
    heard = dialect.read(fields)
    assert (dialect.NAME, getattr(heard, "command", None)) == (agent, command)

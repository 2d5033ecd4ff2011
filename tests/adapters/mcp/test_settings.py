"""Configured settings apply to the server; command line options override them; the client is recorded as the caller."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from mcp import Client
from mcp_types import Implementation

from tests.adapters.mcp.clients import MODES, PYTHON, client_at, environment, parameters, start_http_server, text_of
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = pytest.mark.mcp

TOKEN = "a-token-of-the-test-4711"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return the user's configuration directory."""
    place = tmp_path / "config"
    (place / "nacre").mkdir(parents=True)
    return place


def write(config: Path, text: str) -> dict[str, str]:
    """Write the user's settings; return the environment variable with which the server finds them."""
    (config / "nacre" / "config.toml").write_text(text)
    return {"XDG_CONFIG_HOME": str(config)}


async def test_configured_permission_rules_apply_to_the_server(tmp_path: Path, config: Path) -> None:
    env = write(config, '[permissions]\ndeny = ["Bash(echo:*)"]\n')
    async with Client(parameters(cwd=tmp_path, env=env)) as client:
        refused = await client.call_tool("Bash", {"command": "echo hello"})
        verdict = await client.call_tool("CheckCommand", {"command": "echo hello"})
    async with Client(parameters("--no-config", cwd=tmp_path, env=env)) as client:
        run = await client.call_tool("Bash", {"command": "echo hello"})
    assert refused.structured_content["outcome"]["rule"] == "permission-deny"
    assert text_of(verdict).startswith("refuse (permission-deny): ")
    assert text_of(run) == "hello"


@pytest.mark.linux
async def test_configured_access_is_enforced_and_an_option_overrides_it(tmp_path: Path, config: Path) -> None:
    env = write(config, 'access = "restricted"\n')
    place = tmp_path / "work"
    place.mkdir()
    async with Client(parameters(cwd=place, env=env)) as client:
        [bash, *_] = (await client.list_tools()).tools
        blocked = await client.call_tool("Bash", {"command": "touch it"})
        assert list(place.iterdir()) == []
    async with Client(parameters("--access", "workspace", cwd=place, env=env)) as client:
        [freer, *_] = (await client.list_tools()).tools
        await client.call_tool("Bash", {"command": "touch it"})
    assert bash.annotations is not None
    assert freer.annotations is not None
    assert (bash.annotations.read_only_hint, freer.annotations.read_only_hint) == (True, False)
    assert "Blocked by access='restricted'" in text_of(blocked)
    assert [each.name for each in place.iterdir()] == ["it"]


@pytest.mark.linux
async def test_open_world_hint_stays_when_enforcement_may_be_partial(tmp_path: Path, config: Path) -> None:
    env = write(config, 'access = "restricted"\nallow_partial = true\n')
    async with Client(parameters(cwd=tmp_path, env=env)) as client:
        [bash, *_] = (await client.list_tools()).tools
    assert bash.annotations is not None
    assert (bash.annotations.read_only_hint, bash.annotations.open_world_hint) == (True, True)


@pytest.mark.linux
async def test_project_settings_can_restrict_the_server(tmp_path: Path) -> None:
    place = tmp_path / "work"
    place.mkdir()
    (place / "pyproject.toml").write_text('[tool.nacre]\naccess = "restricted"\n')
    async with Client(parameters("--cwd", str(place), cwd=tmp_path)) as client:
        [bash, *_] = (await client.list_tools()).tools
    assert bash.annotations is not None
    assert bash.annotations.read_only_hint


async def test_configured_profile_and_limits_apply_and_an_option_overrides(tmp_path: Path, config: Path) -> None:
    env = write(config, 'profile = "tunacode"\n')
    async with Client(parameters(cwd=tmp_path, env=env)) as client:
        assert (await client.list_tools()).tools[0].name == "bash"
    env = {**write(config, 'profile = "tunacode"\nopen_files = 60\n'), "NACRE_FILE_SIZE": "1M"}
    async with Client(parameters("--profile", "default", cwd=tmp_path, env=env)) as client:
        assert (await client.list_tools()).tools[0].name == "Bash"
        result = await client.call_tool("Bash", {"command": "ulimit -n -f"})
    assert [line.split()[-1] for line in text_of(result).splitlines()] == ["60", "1024"]


async def test_configured_secret_variable_is_masked_over_http(tmp_path: Path, config: Path) -> None:
    env = {**write(config, 'secret_env = ["PLAIN_NAME"]\n'), "PLAIN_NAME": "harmless-looking-value"}
    command = {"command": "printf 'harmless-'; echo looking-value; env | grep -c PLAIN_NAME"}
    with start_http_server(cwd=tmp_path, token=TOKEN, env=env) as (url, _):
        async with client_at(url, TOKEN, "2026-07-28") as client:
            result = await client.call_tool("Bash", command)
    assert "[secret]\n0" in text_of(result)


@pytest.mark.parametrize("options", [(), ("--http", "0")], ids=["stdio", "http"])
def test_invalid_settings_are_reported_before_the_protocol_starts(
    options: tuple[str, ...], tmp_path: Path, config: Path
) -> None:
    env = write(config, 'acess = "restricted"\n')
    done = subprocess.run(
        [PYTHON, "-m", "nacre", "mcp", *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=HANG_TIMEOUT_S,
        check=False,
        cwd=tmp_path,
        env={**environment(), **env},
    )
    assert (done.returncode, done.stdout) == (2, b"")
    said = done.stderr.decode()
    assert f"{config}/nacre/config.toml:1" in said
    assert "access" in said
    assert "Traceback" not in said


async def test_audit_trail_is_written_to_the_configured_file(tmp_path: Path, config: Path) -> None:
    trail = tmp_path / "trail.jsonl"
    async with Client(parameters(cwd=tmp_path, env=write(config, f'audit = "{trail}"\n'))) as client:
        await client.call_tool("Bash", {"command": "exit 3"})
    [line] = trail.read_text().splitlines()
    assert (json.loads(line)["command"], json.loads(line)["exit_code"]) == ("exit 3", 3)


@pytest.mark.parametrize("mode", MODES)
async def test_audit_trail_names_the_mcp_client(mode: str, tmp_path: Path) -> None:
    trail = tmp_path / "trail.jsonl"
    server = parameters(cwd=tmp_path, env={"NACRE_AUDIT": str(trail)})
    info = Implementation(name="claude-code\n", version="2.1")
    async with Client(server, mode=mode, client_info=info) as client:
        await client.call_tool("Bash", {"command": "true"})
        await client.call_tool("Bash", {"command": "git push -f"})
    callers = {json.loads(line)["caller"] for line in trail.read_text().splitlines()}
    assert callers == {"mcp claude-code?/2.1"}

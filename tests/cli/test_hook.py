"""`nacre hook`: the checker as a hook of other agents."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nacre.hooks.install.locations import AGENTS
from tests.cli.hook_payloads import ALLOWED, ASKED, REFUSED
from tests.cli.nacre_program import Done, Nacre, finish
from tests.hooks.fixtures import FIXTURES, payload_of
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S

SEEN = [
    pytest.param(agent, case, id=f"{agent}: {case['name']}")
    for agent, fixture in FIXTURES.items()
    for case in fixture["cases"]
    if case["name"] in ("no opinion", "refused", "asked", "no command")
]


@pytest.mark.parametrize(("agent", "case"), SEEN)
def test_hook_command_answers_as_recorded_for_each_agent(nacre: Nacre, agent: str, case: dict[str, Any]) -> None:
    done = nacre("hook", stdin=json.dumps(case["payload"]).encode())
    assert done.code == case["code"]
    assert bool(done.err) == (case["code"] == 2)
    assert bool(done.out) == ("out" in case)


@pytest.mark.parametrize("stdin", [b"", b"{", b"\xff", b"[]"])
def test_hook_refuses_invalid_input(nacre: Nacre, stdin: bytes) -> None:
    done = nacre("hook", stdin=stdin)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith(b"nacre hook cannot read its input: ")


def test_hook_with_no_ask_refuses_instead_of_prompting(nacre: Nacre) -> None:
    assert nacre("hook", stdin=ASKED).code == 0
    assert nacre("hook", "--no-ask", stdin=ASKED).code == 2


def ask_mode_payload(command: str, cwd: Path) -> bytes:
    """Return the payload that Claude Code sends in a mode in which it asks the user."""
    payload = payload_of("claude-code", "asked")
    return json.dumps({**payload, "cwd": str(cwd), "tool_input": {"command": command}}).encode()


def configure(nacre: Nacre, text: str) -> None:
    nacre.config.parent.mkdir(parents=True, exist_ok=True)
    nacre.config.write_text(text)


def test_hook_applies_the_permissions_of_the_user(nacre: Nacre, tmp_path: Path) -> None:
    configure(
        nacre, '[permissions]\nallow = ["Bash(git stash:*)"]\nask = ["Bash(make:*)"]\ndeny = ["Bash(npm publish:*)"]\n'
    )
    assert nacre("hook", stdin=ask_mode_payload("git stash drop", tmp_path)) == Done(0, b"", b"")
    made = nacre("hook", stdin=ask_mode_payload("make -j2", tmp_path))
    assert (made.code, json.loads(made.out)["hookSpecificOutput"]["permissionDecision"]) == (0, "ask")
    published = nacre("hook", stdin=ask_mode_payload("cd web && sudo bash -c 'npm publish'", tmp_path))
    assert (published.code, published.out) == (2, b"")
    assert b"Bash(npm publish:*)" in published.err
    configure(nacre, "")
    assert nacre("hook", stdin=ask_mode_payload("make -j2", tmp_path)) == Done(0, b"", b"")


def test_hook_applies_deny_rules_of_a_project_but_not_its_allow_rules(nacre: Nacre, tmp_path: Path) -> None:
    """The project is that of the command's directory, not of the directory in which the hook was started."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "pyproject.toml").write_text(
        '[tool.nacre.permissions]\nallow = ["Bash(git stash:*)"]\ndeny = ["Bash(make:*)"]\n'
    )
    assert nacre("hook", stdin=ask_mode_payload("make", project / "src"), cwd=tmp_path).code == 2
    assert nacre("hook", stdin=ask_mode_payload("make", tmp_path), cwd=project).code == 0
    stashed = nacre("hook", stdin=ask_mode_payload("git stash drop", project))
    assert (stashed.code, json.loads(stashed.out)["hookSpecificOutput"]["permissionDecision"]) == (0, "ask")


@pytest.mark.parametrize("agent", AGENTS)
def test_hook_decisions_are_audited_when_configured(nacre: Nacre, agent: str) -> None:
    nacre("hook", stdin=json.dumps(payload_of(agent, "refused")).encode())
    assert nacre("audit", "--json").out == b""
    configure(nacre, "audit = true\n")
    for name in ("no opinion", "refused"):
        nacre("hook", stdin=json.dumps(payload_of(agent, name)).encode())
    passed, refused = [json.loads(line) for line in nacre("audit", "--json").out.splitlines()]
    assert (passed["caller"], passed["profile"], passed["outcome"]) == (agent, "hook", {"kind": "passed"})
    assert (refused["outcome"], refused["verdict"]["decision"]) == ({"kind": "refused"}, "refuse")
    assert refused["conversation"]
    shown = nacre("audit", "--outcome", "failed").out.decode()
    assert shown.count("\n") == 1
    assert refused["command"] in shown


def test_hook_audit_masks_secrets_and_its_failure_changes_no_answer(nacre: Nacre, tmp_path: Path) -> None:
    configure(nacre, f'audit = "{tmp_path}/trail"\n')
    secret = "0123456789abcdefXYZ"
    asked = ask_mode_payload(f"curl -H 'Authorization: {secret}' x", tmp_path)
    assert nacre("hook", stdin=asked, env={"SERVICE_TOKEN": secret}).code == 0
    kept = (tmp_path / "trail").read_text()
    assert "Authorization" in kept
    assert secret not in kept
    configure(nacre, f'audit = "{tmp_path}"\n')  # a directory where a file is expected
    done = nacre("hook", stdin=asked)
    assert (done.code, done.out) == (0, b"")
    assert b"Cannot write the audit trail" in done.err


@pytest.mark.parametrize("agent", AGENTS)
def test_hook_with_invalid_settings_refuses_and_names_file_and_line(nacre: Nacre, agent: str) -> None:
    """They may contain a rule that denies the command."""
    configure(nacre, 'timeout = 30\nacess = "workspace"\n')
    done = nacre("hook", stdin=json.dumps(payload_of(agent, "no opinion")).encode())
    assert done.code == 2
    assert f"{nacre.config}:2" in done.err.decode()
    assert "Did you mean 'access'?" in done.err.decode()


@pytest.mark.parametrize("words", [["--bogus"], ["claude-code"], ["--no-ask", "x"]])
def test_hook_with_invalid_arguments_refuses(nacre: Nacre, words: list[str]) -> None:
    done = nacre("hook", *words, stdin=ALLOWED)
    assert (done.code, done.out) == (2, b"")
    assert done.err


@pytest.mark.parametrize("closed", ["<&-", "1>&-"])
def test_hook_with_closed_stdin_or_stdout_refuses(nacre: Nacre, closed: str) -> None:
    payload = json.dumps(payload_of("cursor", "asked")).encode()
    with nacre.start("hook", through=("bash", "-c", f'exec "$@" {closed}', "bash")) as program:
        assert finish(program, payload).code == 2


def test_hook_refuses_when_its_answer_cannot_be_written(nacre: Nacre) -> None:
    with open("/dev/full", "wb") as full, nacre.start("hook", stdout=full.fileno()) as program:
        assert finish(program, ASKED).code == 2


def test_hook_refuses_on_an_internal_error(nacre: Nacre, tmp_path: Path) -> None:
    broken = tmp_path / "nacre"
    shutil.copytree(Path(__file__).parents[2] / "src" / "nacre", broken)
    (broken / "approval" / "check.py").write_text("raise MemoryError\n")
    done = nacre("hook", stdin=ALLOWED, env={"PYTHONPATH": str(tmp_path)})
    assert done.code == 2
    assert b"MemoryError" in done.err


def test_hook_refuses_after_its_time_limit(nacre: Nacre) -> None:
    program = """
import sys
import nacre.cli.serve.hook as hook, nacre.hooks.handle as answer
def check_command(asked, config):
    while True:
        pass
hook.TIMEOUT_S, answer.check_command = 0.1, check_command
sys.exit(hook.hook([]))
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, input=ALLOWED, capture_output=True, timeout=HANG_TIMEOUT_S, env=nacre.env, check=False)
    assert done.returncode == 2
    assert (
        done.stderr == b"nacre hook failed (TimeoutError: no answer within 0.1 seconds), so the command is refused.\n"
    )


def test_hook_still_refuses_in_a_deleted_working_directory(nacre: Nacre, tmp_path: Path) -> None:
    payload = json.loads(REFUSED)
    del payload["cwd"]
    script = f'cd {quote(tmp_path)}; rmdir {quote(tmp_path)}; exec "$@"'
    with nacre.start("hook", through=("bash", "-c", script, "bash")) as program:
        assert finish(program, json.dumps(payload).encode()).code == 2


HEAVY = {"argparse", "asyncio", "mcp", "nacre.keeper", "nacre.bash", "platformdirs", "pydantic", "rich", "socket"}
HEAVY |= {
    "anthropic",
    "claude_agent_sdk",
    "inspect_ai",
    "langchain_core",
    "agents",
    "pydantic_ai",
    "tomllib",
    "subprocess",
}


@pytest.mark.parametrize("options", [[], ["--no-ask"]])
@pytest.mark.parametrize("payload", [ALLOWED, REFUSED, ASKED])
def test_hook_loads_no_heavy_modules(nacre: Nacre, payload: bytes, options: list[str]) -> None:
    program = "import sys; from nacre.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    words = [sys.executable, "-c", program, "hook", *options]
    done = subprocess.run(words, input=payload, capture_output=True, timeout=HANG_TIMEOUT_S, env=nacre.env, check=True)
    loaded = set(done.stderr.decode().split())
    assert "nacre.hooks.handle" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize("words", [["hook", "--help"], ["hook", "install", "--help"]])
def test_hook_help_goes_to_stdout_and_exits_0(nacre: Nacre, words: list[str]) -> None:
    done = nacre(*words)
    assert (done.code, done.err) == (0, b"")
    assert done.out.startswith(f"usage: nacre {' '.join(words[:-1])} ".encode())

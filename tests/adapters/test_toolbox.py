"""The core that every adapter uses. Needs no framework."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, Decision, Policy, ToolContext
from nacre.adapters.shared.files import check, read_request, write_request
from nacre.adapters.shared.streams import CommandStreams, read_streams
from nacre.adapters.shared.toolbox import Toolbox, missing_extra, with_caller
from nacre.base.frozen import replace
from nacre.observe import Audit
from nacre.profiles import DEFAULT
from nacre.tasks import Tasks
from nacre.views.answers import Answer
from tests.adapters.conversation import (
    ASKED,
    COMMANDS,
    ERRORS,
    ODD,
    ODD_ERRORS,
    OUTCOMES,
    STREAMS,
    TEXTS,
    CallerObserver,
    next_call,
    outcome_in,
    plain,
    plain_streams,
    project,
)
from tests.adapters.examples import shown_for
from tests.support.hosts import run_host


async def test_toolbox_conversation_gives_the_standard_answers(tmp_path: Path) -> None:
    ctx, heard = project(tmp_path), CallerObserver()
    box = Toolbox(Bash(observers=[heard]), ctx, caller="a test")
    said: list[Answer] = []
    while (call := next_call([answer.text for answer in said])) is not None:
        said.append(await box.call(call.name, call.arguments))
    assert plain([answer.text for answer in said], ctx) == TEXTS
    assert [answer.error for answer in said] == ERRORS
    assert [outcome_in(answer.data) for answer in said] == OUTCOMES
    assert heard.callers == ["a test"] * ASKED


async def test_shell_only_conversation_gives_the_standard_streams(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    found = [read_streams(await Bash().run(command, ctx)) for command in COMMANDS]
    (task,) = Tasks(ctx.output_dir).list(all=False)
    await Tasks(ctx.output_dir).kill(task.id)
    assert plain_streams(found, ctx) == STREAMS


async def test_odd_calls_are_answered_and_the_next_one_works(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    box = Toolbox(ctx=ctx)
    found = [await box.call(call.name, call.arguments) for call in ODD]
    assert [answer.error for answer in found] == ODD_ERRORS
    undecodable, many, wide, secret, crashed, last = [answer.text for answer in found[-6:]]
    assert undecodable == "a\ufffdb"
    assert (many[:4], many[-7:]) == ("1\n2\n", "\n400000")
    assert 20_000 < len(wide) <= 30_000
    assert secret == "[nacre: exit 1]\n[secret]\ncat: nowhere/[secret]: No such file or directory"
    assert crashed.startswith("[nacre: ended by SIGSEGV")
    assert last == "still here"


@pytest.mark.parametrize(
    "given",
    [
        *(None, 7, [], "", "null", "{", '{"command": ', "[" * 100_000, b"\xff", {7: 8}, {"command": "echo \ud800"}),
        *({"command": "a\0b"}, {"command": ["ls"]}, {"command": "ls", "timeout_seconds": float("nan")}),
        *({"task_id": "\ud800"}, {"task_id": "x" * 100_000}, {"task_id": None}),
    ],
    ids=lambda given: repr(given)[:30],
)
@pytest.mark.parametrize("name", ["Bash", "TaskOutput", "KillShell", "Nothing"])
async def test_malformed_calls_are_answered_with_an_error(tmp_path: Path, name: str, given: Any) -> None:
    box = Toolbox(ctx=ToolContext(working_dir=tmp_path, output_dir=tmp_path))
    answer = await box.call(name, given)
    assert answer.error
    assert answer.text.startswith(f"Error ({answer.error}): ")
    assert len(answer.text) < 1000
    assert box.needs_approval(name, given) is None


async def test_log_and_audit_trail_name_the_caller(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="nacre.run")
    trail = tmp_path / "audit.jsonl"
    bash = Bash(observers=[Audit(trail)])
    ctx = ToolContext(working_dir=tmp_path)
    await Toolbox(bash, ctx, caller="an adapter").call("Bash", {"command": "true"})
    await Toolbox(bash, replace(ctx, caller="my program"), caller="an adapter").call("Bash", {"command": "true"})
    await bash.run("true", with_caller("an adapter", None))
    expected = ["an adapter", "my program", "an adapter"]
    assert [json.loads(line)["caller"] for line in trail.read_text().splitlines()] == expected
    assert [record.nacre_caller for record in caplog.records] == expected  # type: ignore[attr-defined]


def test_toolbox_has_the_tool_of_the_profile_and_the_task_tools() -> None:
    assert [each.name for each in Toolbox().definitions] == ["Bash", "TaskOutput", "KillShell", "TaskList"]
    assert [each.name for each in Toolbox(Bash("tunacode"), tasks=False).definitions] == ["bash"]


async def test_errors_of_every_tool_have_a_code(tmp_path: Path) -> None:
    box = Toolbox(ctx=ToolContext(working_dir=tmp_path, output_dir=tmp_path))
    calls: list[tuple[str, dict[str, str] | str]] = [
        ("Bash", {"comand": "ls"}),
        ("TaskOutput", {"task_id": "bash-00000000"}),
        ("TaskOutput", '{"task_id": "bash-00000000"}'),
        ("TaskOutput", "{"),
        ("Nothing", {}),
    ]
    assert [(await box.call(name, given)).error for name, given in calls] == [
        "missing_argument",
        "no_such_task",
        "no_such_task",
        "bad_arguments",
        "no_such_tool",
    ]


async def test_need_for_approval_is_known_before_the_call(tmp_path: Path) -> None:
    policy = Policy(default_decision=Decision.ASK)
    box = Toolbox(Bash(replace(DEFAULT, policy=policy)), ToolContext(working_dir=tmp_path))
    given = {"command": "touch made"}
    verdict = box.needs_approval("Bash", given)
    assert verdict is not None
    assert verdict.rule == "not-plain"
    assert [box.needs_approval(*each) for each in (("Bash", {"command": "ls"}), ("Bash", {}), ("TaskList", {}))] == [
        None
    ] * 3
    assert (await box.call("Bash", given)).data["outcome"]["kind"] == "refused"
    assert (await box.call("Bash", given, approve=lambda _: True)).data["ok"]


async def test_refusal_message_is_in_the_stderr_stream(tmp_path: Path) -> None:
    bash, ctx = Bash(), ToolContext(working_dir=tmp_path)
    assert read_streams(await bash.run("printf out; printf err >&2; exit 3", ctx)) == CommandStreams("out", "err", 3)
    refused = read_streams(await bash.run("git push --force", ctx))
    assert (refused.stdout, refused.stderr, refused.code) == ("", TEXTS[2] + "\n", 126)


async def test_command_streams_mask_secrets(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, secrets=("hunter2-hunter2",))
    found = read_streams(await Bash().run("echo hunter2-hunter2; echo hunter2-hunter2 >&2", ctx))
    assert (found.stdout, found.stderr) == ("[secret]\n", "[secret]\n")


async def test_files_written_and_read_by_commands_keep_their_bytes(tmp_path: Path) -> None:
    bash, ctx = Bash(), ToolContext(working_dir=tmp_path)
    file, data = str(tmp_path / "a b" / "c'd"), bytes(range(256))
    check(await bash.run(write_request(file, data), ctx), file)
    result = await bash.run(read_request(file), ctx)
    check(result, file)
    assert result.out.head + result.out.tail == data
    for path, error in ((file + "x", FileNotFoundError), (str(tmp_path), IsADirectoryError)):
        with pytest.raises(error):
            check(await bash.run(read_request(path), ctx), path)
    with pytest.raises(IsADirectoryError):
        check(await bash.run(write_request(str(tmp_path), b""), ctx), str(tmp_path))


def test_toolbox_with_unavailable_access_raises_when_created() -> None:
    program = """
        import logging
        from nacre import ToolContext
        from nacre.adapters.shared.toolbox import Toolbox
        from nacre.errors import AccessUnavailable
        logging.disable()  # it warns of it, too
        try:
            Toolbox(ctx=ToolContext(access="restricted"))
        except AccessUnavailable as error:
            print(error.code)
    """
    assert run_host(program, env={"NACRE_PORTABLE": "1"}) == "access_unavailable\n"


async def test_settings_apply_only_to_a_toolbox_that_loads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.nacre.permissions]\ndeny = ["Bash(ls:*)"]\n')
    monkeypatch.chdir(tmp_path)
    page = shown_for("")
    listed = [await Toolbox(*given).call("Bash", {"command": "ls"}) for given in ((), (page["bash"], page["ctx"]))]
    assert [answer.data["outcome"]["kind"] for answer in listed] == ["exited", "refused"]


ADAPTERS = ["anthropic", "claude_agent_sdk", "deepagents", "inspect_ai", "langchain", "openai_agents", "pydantic_ai"]


@pytest.mark.parametrize("name", ADAPTERS)
def test_adapter_without_its_framework_says_how_to_install_it(name: str) -> None:
    package = {"langchain": "langchain_core", "openai_agents": "agents"}.get(name, name)
    program = f"""
        import sys
        sys.modules[{package!r}] = None
        try:
            import nacre.adapters.{name}
        except ImportError as error:
            print(error)
    """
    assert f"pip install 'nacre[{name.replace('_', '-')}]'" in run_host(program)


@pytest.mark.parametrize("name", ADAPTERS)
def test_adapter_with_an_incompatible_framework_says_how_to_install_it(name: str) -> None:
    package = {"langchain": "langchain_core", "openai_agents": "agents"}.get(name, name)
    program = f"""
        import sys, types
        sys.modules[{package!r}] = types.ModuleType({package!r})
        try:
            import nacre.adapters.{name}
        except ImportError as error:
            print(error)
    """
    assert f"pip install 'nacre[{name.replace('_', '-')}]'" in run_host(program)


def test_install_hint_keeps_the_name_of_the_missing_module() -> None:
    error = missing_extra("langchain", ImportError("No module named 'langchain_core'", name="langchain_core"))
    assert (error.name, str(error)) == (
        "langchain_core",
        "No module named 'langchain_core'. This adapter needs: pip install 'nacre[langchain]'",
    )


def test_shared_adapter_modules_load_no_framework() -> None:
    program = """
        import sys
        import nacre.adapters.shared.toolbox, nacre.adapters.shared.streams, nacre.adapters.shared.files
        known = "agents anthropic claude_agent_sdk deepagents inspect_ai langchain_core mcp pydantic pydantic_ai rich"
        print(sorted(set(known.split()) & sys.modules.keys()))
    """
    assert run_host(program) == "[]\n"

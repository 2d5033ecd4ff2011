"""What every adapter hands over. Needs no framework."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import Bash, Decision, Policy, ToolContext
from nacre.adapters.extras import missing
from nacre.adapters.files import check, reading, writing
from nacre.adapters.streams import Streams, streams
from nacre.adapters.toolbox import Toolbox
from nacre.errors import AccessUnavailable
from nacre.frozen import replace
from nacre.profiles import DEFAULT
from tests.adapters.conversation import TEXTS, next_call, plain, project
from tests.support.hosts import run_host


async def test_the_conversation_without_any_framework(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    box = Toolbox(ctx=ctx)
    said: list[str] = []
    while (call := next_call(said)) is not None:
        said.append((await box.call(call.name, call.arguments)).text)
    assert plain(said, ctx) == TEXTS


def test_it_has_the_tool_of_the_profile_and_those_for_tasks() -> None:
    assert [each.name for each in Toolbox().definitions] == ["Bash", "TaskOutput", "KillShell", "TaskList"]
    assert [each.name for each in Toolbox(Bash("tunacode"), tasks=False).definitions] == ["bash"]


async def test_an_error_has_a_code_whichever_tool_it_is_of(tmp_path: Path) -> None:
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


async def test_what_asks_is_known_ahead_and_decided_by_the_call(tmp_path: Path) -> None:
    policy = Policy(otherwise=Decision.ASK)
    box = Toolbox(Bash(replace(DEFAULT, policy=policy)), ToolContext(working_dir=tmp_path))
    given = {"command": "touch made"}
    verdict = box.asks("Bash", given)
    assert verdict is not None
    assert verdict.rule == "not-plain"
    assert [box.asks(*each) for each in (("Bash", {"command": "ls"}), ("Bash", {}), ("TaskList", {}))] == [None] * 3
    assert (await box.call("Bash", given)).data["outcome"]["kind"] == "refused"
    assert (await box.call("Bash", given, approve=lambda _: True)).data["ok"]


async def test_streams_carry_what_nacre_has_to_say(tmp_path: Path) -> None:
    bash, ctx = Bash(), ToolContext(working_dir=tmp_path)
    assert streams(await bash.run("printf out; printf err >&2; exit 3", ctx)) == Streams("out", "err", 3)
    refused = streams(await bash.run("git push --force", ctx))
    assert (refused.stdout, refused.stderr, refused.code) == ("", TEXTS[2] + "\n", 126)


async def test_streams_show_no_secret(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, secrets=("hunter2-hunter2",))
    found = streams(await Bash().run("echo hunter2-hunter2; echo hunter2-hunter2 >&2", ctx))
    assert (found.stdout, found.stderr) == ("[secret]\n", "[secret]\n")


async def test_files_by_commands_are_bytes_or_an_error(tmp_path: Path) -> None:
    bash, ctx = Bash(), ToolContext(working_dir=tmp_path)
    file, data = str(tmp_path / "a b" / "c'd"), bytes(range(256))
    check(await bash.run(writing(file, data), ctx), file)
    result = await bash.run(reading(file), ctx)
    check(result, file)
    assert result.out.head + result.out.tail == data
    for path, error in ((file + "x", FileNotFoundError), (str(tmp_path), IsADirectoryError)):
        with pytest.raises(error):
            check(await bash.run(reading(path), ctx), path)
    with pytest.raises(IsADirectoryError):
        check(await bash.run(writing(str(tmp_path), b""), ctx), str(tmp_path))


def test_access_that_cannot_be_enforced_is_said_when_the_box_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    if "restricted" in Bash().access_modes:
        pytest.skip("it can be, here")
    with pytest.raises(AccessUnavailable):
        Toolbox(ctx=ToolContext(access="restricted"))


ADAPTERS = ["anthropic", "claude_agent_sdk", "deepagents", "inspect_ai", "langchain", "openai_agents", "pydantic_ai"]


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_without_its_framework_says_how_to_install_it(name: str) -> None:
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


def test_the_hint_keeps_what_was_missing() -> None:
    error = missing("langchain", ImportError("No module named 'langchain_core'", name="langchain_core"))
    assert (error.name, str(error)) == (
        "langchain_core",
        "No module named 'langchain_core'. This adapter needs what comes with: pip install 'nacre[langchain]'",
    )


def test_no_framework_is_loaded_by_the_tools_that_they_are_given() -> None:
    program = """
        import sys
        import nacre.adapters.toolbox, nacre.adapters.streams, nacre.adapters.files
        known = "agents anthropic claude_agent_sdk deepagents inspect_ai langchain_core mcp pydantic pydantic_ai rich"
        print(sorted(set(known.split()) & sys.modules.keys()))
    """
    assert run_host(program) == "[]\n"

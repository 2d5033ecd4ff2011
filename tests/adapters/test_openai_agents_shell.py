"""The shell tool of the OpenAI Agents SDK, with a scripted model behind the SDK's own interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents import Agent

from nacre import Bash, Decision, Policy, ToolContext
from nacre.adapters.openai_agents import shell_tool
from nacre.adapters.shared.streams import CommandStreams
from nacre.base.frozen import replace
from nacre.profiles import DEFAULT
from nacre.profiles.tool import Parameter
from nacre.tasks import Tasks
from nacre.types import Limits
from tests.adapters.conversation import COMMANDS, SECRET, STREAMS, CallerObserver, normalize_streams, project
from tests.adapters.openai_model import Scripted, make_asking_bash, once, outputs, run, shell_call
from tests.support.lifeline import Lifeline

pytestmark = pytest.mark.framework


async def shell(ctx: ToolContext, *commands: str, **action: Any) -> list[dict[str, Any]]:
    """Run the shell call; return the output that the API gets."""
    agent: Agent[Any] = Agent(
        name="coder", model=Scripted(once(shell_call(*commands, **action))), tools=[shell_tool(ctx=ctx)]
    )
    (item,) = outputs(await run(agent))
    found: list[dict[str, Any]] = item["output"]
    return found


def streams_in(found: dict[str, Any]) -> CommandStreams:
    return CommandStreams(found["stdout"], found["stderr"], found["outcome"]["exit_code"])


async def test_shell_tool_gives_the_same_streams(tmp_path: Path) -> None:
    ctx = project(tmp_path)
    found = await shell(ctx, *COMMANDS)
    (task,) = Tasks(ctx.output_dir).list(all=False)
    await Tasks(ctx.output_dir).kill(task.id)
    assert normalize_streams([streams_in(each) for each in found], ctx) == STREAMS
    assert {each["outcome"]["type"] for each in found} == {"exit"}


async def test_shell_call_names_its_caller(tmp_path: Path) -> None:
    heard = CallerObserver()
    own = shell_tool(Bash(observers=[heard]), ToolContext(working_dir=tmp_path))
    await run(Agent(name="coder", model=Scripted(once(shell_call("true", "false"))), tools=[own]))
    assert heard.callers == ["openai-agents"] * 2


async def test_shell_command_timeout_is_reported_and_the_next_command_runs(tmp_path: Path, life: Lifeline) -> None:
    late, next_one = await shell(
        ToolContext(working_dir=tmp_path), f"{life.hold} echo begun; sleep 600", "echo next", timeout_ms=2000
    )
    assert late["outcome"] == {"type": "timeout"}
    assert late["stdout"] == "begun\n"
    assert "timed out after 2 s" in late["stderr"]
    assert streams_in(next_one) == CommandStreams("next\n", "", 0)
    await life.wait_until_ended()


async def test_shell_tool_reports_exit_codes_like_a_shell(tmp_path: Path) -> None:
    found = await shell(ToolContext(working_dir=tmp_path), "exit 7", "kill -TERM $$", "nowhere", "printf 'a\\377'")
    assert [each["outcome"]["exit_code"] for each in found] == [7, 143, 127, 0]
    assert found[3]["stdout"] == "a\ufffd"


async def test_shell_call_masks_secrets(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, secrets=(SECRET,))
    (found,) = await shell(ctx, f"echo {SECRET}; echo {SECRET} >&2")
    assert (found["stdout"], found["stderr"]) == ("[secret]\n", "[secret]\n")


FLOOD = "seq 100000; seq 100000 >&2"


async def test_shell_call_output_is_limited_to_max_output_length(tmp_path: Path) -> None:
    (found,) = await shell(ToolContext(working_dir=tmp_path), FLOOD, max_output_length=3000)
    assert 1500 < len(found["stdout"]) + len(found["stderr"]) <= 3000
    for text in (found["stdout"], found["stderr"]):
        assert text.startswith("1\n2\n")
        assert "left out" in text
        assert text.endswith("\n100000\n")


async def test_long_stream_may_use_the_length_that_a_short_one_leaves(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    (found,) = await shell(ctx, "seq 100000; echo alas >&2; exit 3", max_output_length=3000)
    assert len(found["stdout"]) > 3000 // 2
    assert found["stdout"].endswith("\n100000\n")
    assert (found["stderr"], found["outcome"]["exit_code"]) == ("alas\n", 3)


async def test_timeout_message_is_not_cut_by_max_output_length(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    (found,) = await shell(ctx, f"{FLOOD}; sleep 600", max_output_length=3000, timeout_ms=2000)
    assert len(found["stdout"]) + len(found["stderr"]) <= 3000
    assert found["stderr"].rstrip().endswith("]")
    assert "[nacre: timed out after 2 s" in found["stderr"]


async def test_shell_output_without_a_length_is_limited_to_30000_characters(tmp_path: Path) -> None:
    (found,) = await shell(ToolContext(working_dir=tmp_path), "seq 400000")
    assert len(found["stdout"]) <= 30_000
    assert found["stdout"].endswith("\n400000\n")


async def test_huge_max_output_length_gives_all_captured_output(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, limits=Limits(output=100_000))
    (found,) = await shell(ctx, "seq 400000", max_output_length=10**12)
    assert 90_000 < len(found["stdout"]) < 101_000


async def test_commands_of_a_shell_call_share_the_output_length(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    found = await shell(ctx, "echo short", FLOOD, FLOOD, "git push --force", max_output_length=6000)
    assert found[0]["stdout"] == "short\n"
    first, second = (len(each["stdout"]) for each in found[1:3])
    assert 500 < first <= second
    assert found[2]["stderr"].endswith("\n100000\n")
    assert streams_in(found[3]) == STREAMS[2]


async def test_truncation_of_shell_output_splits_no_secret(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, secrets=(SECRET,))
    (found,) = await shell(ctx, f"for n in $(seq 900); do echo $n {SECRET}; done", max_output_length=2000)
    assert "[secret]" in found["stdout"]
    assert "hunter" not in found["stdout"]


@pytest.mark.parametrize("most", [-1, 0, 1, 10])
async def test_tiny_or_negative_max_output_length_is_not_an_error(tmp_path: Path, most: int) -> None:
    (found,) = await shell(ToolContext(working_dir=tmp_path), "seq 1000; exit 3", max_output_length=most)
    assert len(found["stdout"]) <= max(0, most)
    assert found["outcome"] == {"type": "exit", "exit_code": 3}


async def test_shell_action_is_approved_as_a_whole(tmp_path: Path) -> None:
    own = shell_tool(make_asking_bash(), ToolContext(working_dir=tmp_path))
    agent: Agent[Any] = Agent(
        name="coder", model=Scripted(once(shell_call("ls", "touch one", "touch two"))), tools=[own]
    )
    first = await run(agent)
    assert list(tmp_path.iterdir()) == []  # the harmless call waits with the rest
    state = first.to_state()
    (interruption,) = first.interruptions
    state.approve(interruption)
    await run(agent, state)
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two"}


async def test_shell_tool_requests_approval_despite_other_required_parameters(tmp_path: Path) -> None:
    more = Parameter(name="why", kind="string", to="description", required=True, description="What it is for.")
    tool = replace(DEFAULT.tool, parameters=(DEFAULT.tool.parameters[0], more))
    profile = replace(DEFAULT, tool=tool, policy=Policy(default_decision=Decision.ASK))
    own = shell_tool(Bash(profile), ToolContext(working_dir=tmp_path))
    first = await run(Agent(name="coder", model=Scripted(once(shell_call("touch made"))), tools=[own]))
    assert len(first.interruptions) == 1


async def test_approval_does_not_lift_a_refusal(tmp_path: Path) -> None:
    own = shell_tool(make_asking_bash(), ToolContext(working_dir=tmp_path))
    agent: Agent[Any] = Agent(
        name="coder", model=Scripted(once(shell_call("touch made", "git push --force"))), tools=[own]
    )
    first = await run(agent)
    state = first.to_state()
    (interruption,) = first.interruptions
    state.approve(interruption)
    (item,) = outputs(await run(agent, state))
    made, refused = item["output"]
    assert streams_in(made) == CommandStreams("", "", 0)
    assert streams_in(refused) == STREAMS[2]


async def test_invalid_shell_command_is_answered_with_exit_code_125(tmp_path: Path) -> None:
    wrong, right = await shell(ToolContext(working_dir=tmp_path), "  ", "echo hello")
    assert streams_in(wrong) == CommandStreams(
        "", "Error (empty_command): The command is empty. Give a shell command.\n", 125
    )
    assert streams_in(right) == CommandStreams("hello\n", "", 0)

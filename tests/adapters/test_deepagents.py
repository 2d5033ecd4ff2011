"""nacre as the sandbox of a deep agent, with LangChain's fake model; and the published suite for such backends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_tests.integration_tests import SandboxIntegrationTests

from nacre import Bash, Decision, Policy, ToolContext
from nacre.adapters import deepagents
from nacre.adapters.deepagents import NacreBackend
from nacre.adapters.shared.streams import CommandStreams
from nacre.base.frozen import replace
from nacre.profiles import DEFAULT
from nacre.tasks import Tasks
from tests.adapters.conversation import COMMANDS, SECRET, STREAMS, CallerObserver, normalize_streams, project
from tests.adapters.ending import ENDINGS, end_run_by
from tests.adapters.examples import check_example, run_docs_example
from tests.support.lifeline import Lifeline

pytestmark = pytest.mark.framework

OVERTAKEN = {
    "test_write_existing_file_fails": "deepagents 0.7 overwrites",
    **dict.fromkeys(
        (
            "test_glob",
            "test_glob_basic_pattern",
            "test_glob_hidden_files_explicitly",
            "test_glob_with_character_class",
            "test_glob_with_question_mark",
        ),
        "deepagents 0.7 finds absolute paths",
    ),
    "test_glob_with_directories": "deepagents 0.7 finds files only",
}
"""Tests of langchain-tests 1.1 that contradict deepagents 0.7 itself, in every sandbox."""


@pytest.fixture(scope="module", autouse=True)
def _this_python() -> Iterator[None]:
    """Put this Python first in PATH: the file tools are scripts for `python3`, which must not be a wrapper."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
        yield


class TestItsPublishedSuite(SandboxIntegrationTests):
    _root = ""

    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls, tmp_path_factory: pytest.TempPathFactory) -> NacreBackend:
        cls._root = str(tmp_path_factory.mktemp("sandbox"))
        return NacreBackend(ctx=ToolContext(working_dir=cls._root))

    @property
    def sandbox_root_dir(self) -> str:
        return self._root

    @pytest.fixture(autouse=True)
    def _expect_outdated_tests_to_fail(self, sandbox: NacreBackend, request: pytest.FixtureRequest) -> None:
        if reason := OVERTAKEN.get(request.node.originalname):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


class Model(GenericFakeChatModel):
    def bind_tools(self, *_: Any, **__: Any) -> Model:
        return self


def messages_that_run(*commands: str) -> Iterator[AIMessage]:
    return messages_that_call(*(("execute", {"command": command}) for command in commands))


def messages_that_call(*calls: tuple[str, dict[str, Any]]) -> Iterator[AIMessage]:
    for number, (name, arguments) in enumerate(calls):
        yield AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])
    yield AIMessage("done")


async def run_agent(backend: NacreBackend, messages: Iterator[AIMessage]) -> list[ToolMessage]:
    agent = create_deep_agent(Model(messages=messages), backend=backend)
    state = await agent.ainvoke({"messages": [("user", "Look after the project.")]})
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


async def test_deepagents_conversation_matches_the_other_frameworks(tmp_path: Path) -> None:
    ctx, heard = project(tmp_path), CallerObserver()
    said = await run_agent(NacreBackend(Bash(observers=[heard]), ctx), messages_that_run(*COMMANDS))
    codes = [message.artifact["exit_code"] for message in said]
    texts = [str(message.content).partition("\n[Command ")[0] for message in said]
    found = normalize_streams([CommandStreams(text, "", code) for text, code in zip(texts, codes, strict=True)], ctx)
    assert found == [CommandStreams(each.stdout + each.stderr, "", each.code) for each in STREAMS]
    assert heard.callers == ["deepagents"] * len(COMMANDS)
    (task,) = Tasks(ctx.output_dir).list(all=False)
    await Tasks(ctx.output_dir).kill(task.id)


@pytest.mark.parametrize("how", ENDINGS)
async def test_ended_run_leaves_no_process(tmp_path: Path, life: Lifeline, how: str) -> None:
    backend = NacreBackend(ctx=ToolContext(working_dir=tmp_path))
    await end_run_by(how, run_agent(backend, messages_that_run(f"{life.hold} (setsid sleep 600 &); sleep 600")), life)


async def test_file_tool_writes_are_checked_like_commands(tmp_path: Path) -> None:
    keys = tmp_path / ".ssh" / "authorized_keys"
    keys.parent.mkdir()
    keys.write_text("old\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path))
        backend = NacreBackend(ctx=ToolContext(working_dir=tmp_path))
        said = await run_agent(
            backend,
            messages_that_call(
                ("write_file", {"file_path": str(keys), "content": "new\n"}),
                ("edit_file", {"file_path": str(keys), "old_string": "old", "new_string": "new"}),
                ("read_file", {"file_path": str(keys)}),
            ),
        )
        (uploaded,) = backend.upload_files([(str(keys), b"new\n")])
    assert ["ssh-write" in str(message.content) for message in said] == [True, True, False]
    assert "ssh-write" in (uploaded.error or "")
    assert keys.read_text() == "old\n"


async def test_approval_is_requested_for_files_not_for_deepagents_scripts(tmp_path: Path) -> None:
    asked: list[str] = []

    def approve(verdict: Any) -> bool:
        asked.append(verdict.approval_request.command)
        return True

    strict = Bash(replace(DEFAULT, policy=Policy(default_decision=Decision.ASK)))
    backend = NacreBackend(strict, ToolContext(working_dir=tmp_path, approve=approve))
    file = str(tmp_path / "file")
    assert (await backend.awrite(file, "one\n")).error is None
    assert (await backend.aedit(file, "one", "two")).error is None
    assert (await backend.aread(file)).file_data == {"content": "two", "encoding": "utf-8"}
    assert (await backend.als(str(tmp_path))).error is None
    assert (await backend.agrep("two", str(tmp_path))).error is None
    assert (await backend.aglob("*", str(tmp_path))).error is None
    assert len(asked) == 2
    assert "python" not in "".join(asked)


def test_file_deletion_is_checked_like_a_command(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path))
        backend = NacreBackend(ctx=ToolContext(working_dir=tmp_path))
        (tmp_path / "a").mkdir()
        assert backend.delete(str(tmp_path / "a")).error is None
        assert "refused" in (backend.delete(str(tmp_path)).error or "")
    assert tmp_path.exists()


def test_secret_is_masked_in_read_and_execute(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f"{SECRET}\n")
    backend = NacreBackend(ctx=ToolContext(working_dir=tmp_path, secrets=(SECRET,)))
    assert SECRET not in str(backend.read(str(tmp_path / "file")))
    assert SECRET not in backend.execute("cat file").output


def test_files_are_uploaded_and_downloaded_as_bytes(tmp_path: Path) -> None:
    backend = NacreBackend(ctx=ToolContext(working_dir=tmp_path))
    file, data = str(tmp_path / "b" / "file"), bytes(range(256)) * 1000
    assert [each.error for each in backend.upload_files([(file, data), (str(tmp_path), b"")])] == [None, "is_directory"]
    paths = [file, str(tmp_path / "none"), str(tmp_path), "relative", f"{file}/x", "/nul\0byte"]
    found = backend.download_files(paths)
    assert [each.content for each in found] == [data, None, None, None, None, None]
    assert [each.error for each in found] == [
        None,
        "file_not_found",
        "is_directory",
        "invalid_path",
        "invalid_path",
        "invalid_path",
    ]


def test_download_over_the_size_limit_is_an_error_without_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deepagents, "MAX_DOWNLOAD_BYTES", 2**20)
    (tmp_path / "most").write_bytes(b"x" * 2**20)
    (tmp_path / "more").write_bytes(b"x" * (2**20 + 1))
    backend = NacreBackend(ctx=ToolContext(working_dir=tmp_path))
    most, more = backend.download_files([str(tmp_path / "most"), str(tmp_path / "more")])
    assert (most.error, len(most.content or b"")) == (None, 2**20)
    assert (more.error, more.content) == ("the file is larger than 1 MB", None)


def test_truncated_output_is_marked(tmp_path: Path) -> None:
    found = NacreBackend(ctx=ToolContext(working_dir=tmp_path)).execute("yes | head -c 100000000")
    assert (found.truncated, found.exit_code) == (True, 0)
    assert "bytes left out" in found.output


@pytest.mark.linux
def test_sandboxed_backend_confines_its_file_tools(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    backend = NacreBackend(ctx=ToolContext(working_dir=inside, access="workspace"))
    assert backend.write(str(inside / "file"), "x").error is None
    assert backend.write(str(tmp_path / "file"), "x").error is not None
    assert [each.error for each in backend.upload_files([(str(tmp_path / "file"), b"x")])] == ["permission_denied"]
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize(("timeout", "code"), [(None, 0), (0, 0), (1, 124)])
def test_backend_timeout_is_in_seconds_and_optional(tmp_path: Path, timeout: int | None, code: int) -> None:
    backend = NacreBackend(ctx=ToolContext(working_dir=tmp_path))
    assert backend.execute("sleep 60" if code else "sleep 1.5", timeout=timeout).exit_code == code


def test_invalid_command_is_answered_with_exit_code_125(tmp_path: Path) -> None:
    found = NacreBackend(ctx=ToolContext(working_dir=tmp_path)).execute(" ")
    assert (found.exit_code, "empty_command" in found.output) == (125, True)


async def test_deepagents_code_on_the_page_works() -> None:
    names = run_docs_example("deepagents", model=Model(messages=messages_that_run("echo hello")))
    state = await names["agent"].ainvoke({"messages": [("user", "Say hello.")]})
    assert [str(each.content).splitlines()[0] for each in state["messages"] if isinstance(each, ToolMessage)] == [
        "hello"
    ]


def test_deepagents_example_does_what_it_says(tmp_path: Path) -> None:
    check_example("with_deepagents.py", tmp_path)

"""nacre as the workspace of pydantic-ai, with its own conformance suite."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.workspaces import (
    CommandResult,
    Workspace,
    WorkspaceBackend,
    WorkspaceCommand,
    WorkspaceError,
    WorkspaceOutputLimitError,
    WorkspaceRef,
    WorkspaceTimeoutError,
)
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from nacre import Bash, ToolContext
from nacre.adapters.pydantic_ai import NacreWorkspace
from nacre.tasks import Tasks
from nacre.types import Limits
from tests.adapters.conversation import ASKED, COMMANDS, SECRET, STREAMS, CallerObserver, project
from tests.adapters.ending import ENDINGS, end_run_by
from tests.adapters.pydantic_messages import answers
from tests.support.lifeline import Lifeline
from tests.support.users import free_uid
from tests.support.waiting import TIME_LIMITS_S

pytestmark = pytest.mark.framework


class AsNobody(NacreWorkspace):
    """Workspace whose commands run as another user, as in most containers."""

    uid = 0

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        words = ["sh", "-c", command] if isinstance(command, str) else command
        drop = ["setpriv", f"--reuid={self.uid}", "--clear-groups", *words]
        return await super().run(drop, env=env, timeout=timeout)


@pytest.fixture
def directory_of_unknown_uid() -> Iterator[Path]:
    """Yield a directory of a UID without an account. Not below `tmp_path`, which only its owner may enter."""
    place = Path(tempfile.mkdtemp())
    os.chown(place, free_uid(), -1)
    yield place
    shutil.rmtree(place)


class TestAsAWorkspace(WorkspaceBackendSuite):  # type: ignore[misc]
    """pydantic-ai's own suite, with every rule that it has."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def backend(self, tmp_path: Path) -> WorkspaceBackend:
        return NacreWorkspace(tmp_path)

    @pytest.fixture
    def fresh_backend(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], WorkspaceBackend]:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return NacreWorkspace

    @pytest.fixture
    def destructive_backend(self, tmp_path: Path) -> Callable[[], WorkspaceBackend]:
        def make() -> WorkspaceBackend:
            (tmp_path / "goes").mkdir()
            return NacreWorkspace(tmp_path / "goes")

        return make

    @pytest.fixture
    def attach_backend(self) -> Callable[[WorkspaceRef], WorkspaceBackend]:
        return lambda ref: NacreWorkspace(ref.id)

    @pytest.fixture
    def destroy_environment(self) -> Callable[[WorkspaceBackend], Awaitable[None]]:
        async def destroy(backend: WorkspaceBackend) -> None:
            shutil.rmtree(await backend.working_dir())

        return destroy

    async def test_permission_denied_uses_builtin_error(  # type: ignore[override]
        self,
        backend: WorkspaceBackend,
        has_real_posix_shell: bool,
        filesystem_honors_shell_permissions: bool,
        request: pytest.FixtureRequest,
    ) -> None:
        """The suite exempts root, who may do anything; so run it as another user."""
        if os.geteuid() == 0:
            place = request.getfixturevalue("directory_of_unknown_uid")
            backend = AsNobody(place)
            backend.uid = place.stat().st_uid
        await super().test_permission_denied_uses_builtin_error(
            backend, has_real_posix_shell, filesystem_honors_shell_permissions
        )


async def test_workspace_conversation_gives_the_same_streams(tmp_path: Path) -> None:
    ctx, heard = project(tmp_path), CallerObserver()
    assert ctx.working_dir is not None
    workspace = NacreWorkspace(ctx.working_dir, bash=Bash(observers=[heard]), ctx=ctx)

    async def shell(run: RunContext[None], command: str) -> list[Any]:
        try:
            result = await run.workspace.run(command, shell=True)
        except WorkspaceError as error:
            return [str(error)]
        return [result.stdout, result.stderr, result.exit_code]

    def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        done = len(answers(messages))
        over = done == len(COMMANDS)
        return ModelResponse(parts=[TextPart("done") if over else ToolCallPart("shell", {"command": COMMANDS[done]})])

    agent = Agent(FunctionModel(respond), tools=[shell])
    found = answers((await agent.run("Go.", workspace=workspace)).all_messages())
    (task,) = Tasks(ctx.output_dir).list(all=False)
    await Tasks(ctx.output_dir).kill(task.id)
    listed, tested, refused, served = STREAMS
    assert [part.content for part in found] == [
        [listed.stdout, listed.stderr, listed.code],
        [tested.stdout, tested.stderr, tested.code],
        [refused.stderr.strip()],
        [served.stdout, "", served.code],  # the two streams are the command's own here
    ]
    assert heard.callers == ["pydantic-ai"] * ASKED


@pytest.mark.parametrize("how", ENDINGS)
async def test_ended_workspace_command_leaves_no_process(tmp_path: Path, life: Lifeline, how: str) -> None:
    command = f"{life.hold} (setsid sleep 600 &); sleep 600"
    await end_run_by(how, NacreWorkspace(tmp_path).run(command, shell=True), life)


async def test_workspace_timeout_error_has_the_output_so_far(tmp_path: Path, life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        with pytest.raises(WorkspaceTimeoutError) as error:
            await NacreWorkspace(tmp_path).run(f"{life.hold} echo begun; sleep 600", shell=True, timeout=limit)
        if error.value.stdout:
            break
    assert error.value.stdout == "begun\n"
    await life.wait_until_ended()


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
async def test_invalid_workspace_timeout_is_a_value_error(tmp_path: Path, timeout: float) -> None:
    with pytest.raises(ValueError, match="time"):
        await NacreWorkspace(tmp_path).run(["true"], timeout=timeout)


async def test_workspace_masks_secrets(tmp_path: Path) -> None:
    ctx = ToolContext(secrets=(SECRET,), limits=Limits(output=1000))
    backend = NacreWorkspace(tmp_path, ctx=ctx)
    result = await backend.run(f"echo {SECRET}; echo {SECRET} >&2", shell=True)
    assert (result.stdout, result.stderr) == ("[secret]\n", "[secret]\n")
    with pytest.raises(WorkspaceOutputLimitError) as error:
        await backend.run(f"yes {SECRET} | head -n 1000", shell=True)
    assert error.value.limit == 1000
    assert error.value.stdout.startswith("[secret]\n")
    assert SECRET[:6] not in error.value.stdout


async def test_file_with_a_secret_cannot_be_read_through_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f"the password is {SECRET}")
    workspace = Workspace(NacreWorkspace(tmp_path, ctx=ToolContext(secrets=(SECRET,))))
    with pytest.raises(WorkspaceError, match="damaged or incomplete"):
        await workspace.read_text("file")


async def test_refused_command_raises_a_workspace_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="refused by git-push-force"):
        await NacreWorkspace(tmp_path).run("git push --force", shell=True)


async def test_endless_output_is_killed_at_the_workspace_limit(tmp_path: Path, life: Lifeline) -> None:
    with pytest.raises(WorkspaceOutputLimitError, match=r"more than 10,485,760 bytes") as error:
        await NacreWorkspace(tmp_path).run(f"{life.hold} yes", shell=True)
    assert error.value.stdout.startswith("y\ny\n")
    assert len(error.value.stdout) == 64 * 1024
    await life.wait_until_ended()


async def test_workspace_output_up_to_the_limit_is_whole(tmp_path: Path) -> None:
    backend = NacreWorkspace(tmp_path, ctx=ToolContext(limits=Limits(output=1000)))
    assert (await backend.run("seq 1000 | head -c 1000", shell=True)).stdout == "".join(
        f"{number}\n" for number in range(1, 1001)
    )[:1000]
    with pytest.raises(WorkspaceOutputLimitError):
        await backend.run("seq 1000 | head -c 1001 >&2", shell=True)


@pytest.mark.linux
async def test_sandboxed_workspace_confines_its_file_writes(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    workspace = Workspace(NacreWorkspace(inside, ctx=ToolContext(access="workspace")))
    await workspace.write_bytes("file", b"x")
    assert (inside / "file").read_bytes() == b"x"
    with pytest.raises((WorkspaceError, PermissionError)):
        await workspace.write_bytes(str(outside / "file"), b"x")
    assert not (outside / "file").exists()

"""Texts that programs compare: outcomes, restrictions, error codes, answers of tool calls."""

from __future__ import annotations

import ast
import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nacre
from nacre import Bash, Cancel, InvalidRequest, Limits, Request, ToolContext
from nacre.engines import Bubblewrap, Containers
from nacre.outcomes import OUTCOMES, outcome_data
from nacre.sandbox.probe import Kernel
from nacre.sandbox.resolve import SandboxRequest, resolve
from nacre.sandbox.workspace import Workspace
from nacre.tasks import Tasks
from nacre.toolcall.task_tools import reply
from tests.interface.program import Program
from tests.interface.shapes import describe_shape, split_common
from tests.interface.snapshot import DIRECTORY, check_snapshot

PROFILES = ("default", "mycode", "tunacode", "phoenix", "yoi", "tachikoma")


# outcomes and results


def test_outcome_names_and_fields_match_their_snapshot() -> None:
    """All outcomes for `match`, by their names in `to_dict` and in the files of tasks."""
    samples: dict[str, Any] = {"int": 1, "float": 1.0, "str": "x", "bool": True}
    found = {}
    for kind, cls in OUTCOMES.items():
        fields = {name: samples[each] for name, each in cls.__annotations__.items()}
        data = outcome_data(cls(**fields))
        assert data["kind"] == kind
        found[kind] = {"class": cls.__name__, **describe_shape(data)}
    check_snapshot("outcomes", found)


async def test_result_and_verdict_to_dict_match_their_snapshot(tmp_path: Path) -> None:
    bash, cancel = Bash(), Cancel()
    ctx = ToolContext(working_dir=tmp_path, secrets=("hunter2-secret",))
    cancel.cancel()
    found = {
        "exited": await bash.run("echo hunter2-secret | cat", ctx),
        "cancelled": await bash.run("sleep 60", ToolContext(working_dir=tmp_path, cancel=cancel)),
        "refused": await bash.run("git push --force", ctx),
        "timed out": await bash.run(Request("sleep 60", timeout=0.3), ctx),
        "limits": await bash.run("true", ToolContext(working_dir=tmp_path, limits=Limits(open_files=100))),
    }
    check_snapshot(
        "result_to_dict", split_common({name: describe_shape(result.to_dict()) for name, result in found.items()})
    )
    verdict = nacre.check("git push --force", cwd=tmp_path)
    check_snapshot("verdict_to_dict", describe_shape(verdict.to_dict()))


async def test_tool_call_answers_match_their_snapshot(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, output_dir=tmp_path / "out")
    commands = {"exited": "echo hi", "exit 3": "exit 3", "refused": "git push --force"}
    found: dict[str, Any] = {}
    for profile in PROFILES:
        bash = Bash(profile)
        answers = {name: await bash.call({"command": text}, ctx) for name, text in commands.items()}
        answers["bad call"] = await bash.call({"command": "true", "colour": "red"}, ctx)
        answers["no command"] = await bash.call({}, ctx)
        answers["not JSON"] = await bash.call("{", ctx)
        found[profile] = {
            name: {"error": answer.error, "data": describe_shape(answer.data)} for name, answer in answers.items()
        }
    check_snapshot("tool_answers", found)


# restrictions


def kernels() -> Iterator[Kernel]:
    flags = (False, True)
    for abi, seccomp, mounts, networks in itertools.product(range(1, 9), flags, flags, flags):
        yield Kernel(
            machine="x86_64", landlock=abi, seccomp=seccomp, mounts=mounts, terminals=mounts, networks=networks
        )


def requests() -> Iterator[SandboxRequest]:
    place = Workspace(roots=("/ws",), protected=("/ws/.git/hooks",))
    missing = Workspace(roots=("/ws",), protected=("/ws/.git/hooks",), missing=("/ws/.claude",))
    yield SandboxRequest(access="restricted", partial=True, hidden=("/hidden",))
    for workspace, network, unix in itertools.product(
        (place, missing), (False, True, "loopback", (443,)), (False, True)
    ):
        yield SandboxRequest(
            access="workspace",
            partial=True,
            network=network,  # type: ignore[arg-type]
            unix_sockets=unix,
            workspace=workspace,
            hidden=("/hidden",),
        )


def test_names_of_enforced_restrictions_match_their_snapshot(tmp_path: Path) -> None:
    """`Result.enforced`, over every kernel and every engine."""
    local: set[str] = set()
    for kernel, wanted in itertools.product(kernels(), requests()):
        local.update(resolve(wanted, kernel, Limits()).enforced)
    found = {"local": sorted(local)}
    (tmp_path / "hidden").touch()
    for engine in (Bubblewrap(), Containers("image", program="podman")):
        words: set[str] = set()
        for access, hidden in (("unrestricted", ()), ("restricted", ("hidden",)), ("workspace", ("hidden",))):
            ctx = ToolContext(
                working_dir=tmp_path,
                access=access,  # type: ignore[arg-type]
                hidden=hidden,
                limits=Limits(memory=2**30) if engine.name != "bwrap" else Limits(),
            )
            words.update(engine.sandbox_plan(ctx, ctx.limits, {}).enforced)
        found[engine.name] = sorted(words)
    check_snapshot("enforced", found)


@pytest.mark.linux
def test_sandboxed_run_reports_only_known_restrictions(program: Program) -> None:
    known = set(json.loads((DIRECTORY / "enforced.json").read_text())["local"])
    words = ["run", "--json", "--access", "restricted", "--allow-partial", "true"]
    (result,) = program.run(*words).json_lines()
    if result.get("error", {}).get("code") == "access_unavailable":
        pytest.skip(result["error"]["message"])
    assert result["enforced"]
    assert set(result["enforced"]) <= known


# codes


def find_codes() -> set[str]:
    """Return the first arguments of calls with `field` and `hint`: every error for programs is created that way."""
    found = set()
    for path in Path(nacre.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and {"field", "hint"} <= {each.arg for each in node.keywords} and node.args:
                found.update(read_text(node.args[0]))
    return found


def read_text(node: ast.expr) -> set[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}
    if isinstance(node, ast.JoinedStr):
        return {"".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)}
    if isinstance(node, ast.IfExp):
        return read_text(node.body) | read_text(node.orelse)
    if isinstance(node, ast.BoolOp):
        return set().union(*(read_text(each) for each in node.values))
    return set()


def test_error_codes_in_the_code_match_their_snapshot() -> None:
    check_snapshot("error_codes", sorted(find_codes()))


def test_error_classes_match_their_snapshot() -> None:
    """`--json` and the audit trail derive a code from the class name if an error has none."""

    def tree(cls: type[Exception]) -> dict[str, Any]:
        own = [each for each in cls.__subclasses__() if each.__module__ == nacre.NacreError.__module__]
        return {each.__name__: tree(each) for each in own}

    check_snapshot("error_classes", {"NacreError": tree(nacre.NacreError)})


BAD_REQUESTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "empty command": ({"command": ""}, {}),
    "NUL byte": ({"command": "echo \0"}, {}),
    "negative timeout": ({"timeout": -1}, {}),
    "negative yield_after": ({"yield_after": -1}, {}),
    "unknown mode": ({"mode": "fast"}, {}),
    "unknown leftovers": ({"leftovers": "eat"}, {}),
    "missing directory": ({"cwd": "/no/such/place"}, {}),
    "file as directory": ({"cwd": "/dev/null"}, {}),
    "variable without a name": ({"env": {"": "x"}}, {}),
    "variable that is a number": ({"env": {"A": 1}}, {}),
    "stdin that is a number": ({"stdin": 1}, {}),
    "open stdin without background": ({"open_stdin": True}, {}),
    "unknown access": ({}, {"access": "everything"}),
    "network without workspace": ({}, {"network": True}),
    "hidden without access": ({}, {"hidden": ("/x",)}),
    "strict without restricted": ({}, {"strict": True}),
    "limit of 0": ({}, {"limits": Limits(memory=0)}),
    "path not allowed": ({}, {"allowed_paths": ("/no/such/place",)}),
}


async def test_codes_and_fields_of_bad_requests_match_their_snapshot(tmp_path: Path) -> None:
    bash, found = Bash(), {}
    for name, (asked, context) in BAD_REQUESTS.items():
        with pytest.raises(InvalidRequest) as caught:
            await bash.run(Request(**{"command": "true", **asked}), ToolContext(working_dir=tmp_path, **context))
        error = caught.value
        found[name] = {"class": type(error).__name__, "code": error.code, "field": error.field}
    check_snapshot("bad_requests", found)


async def test_error_codes_of_task_tools_match_their_snapshot(tmp_path: Path) -> None:
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "no such tool": ("TaskEat", {}),
        "no such task": ("TaskOutput", {"task_id": "bash-00000000"}),
        "no id": ("TaskOutput", {}),
        "unknown argument": ("TaskList", {"colour": "red"}),
        "bad flag": ("TaskList", {"all": "perhaps"}),
    }
    tasks = Tasks(tmp_path)
    answers = await asyncio.gather(*(reply(name, arguments, tasks) for name, arguments in calls.values()))
    check_snapshot("task_tool_errors", dict(zip(calls, [answer.error for answer in answers], strict=True)))

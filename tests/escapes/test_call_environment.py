"""Variables of a call: the loader and bash act on them only in a shell that already has its tag and its limits."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from nacre import Bash, Limits, Request, Session, ToolContext
from nacre.engines import Bubblewrap
from nacre.engines.ray.node.payload import PlanContext, RunPayload, localise, strip_local
from nacre.environment import deferred_names
from nacre.keeper.protocol.procfs import TAG_VARIABLE
from nacre.planning.plan import plan_for
from nacre.profiles import DEFAULT
from nacre.result import PipelineStatus
from tests.support.hosts import run_host
from tests.support.namespaces import skip_without_bubblewrap
from tests.support.unchecked import UNCHECKED
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = pytest.mark.req("P-008", "M-11")

_RUNS = 40
_FILES = 77
"""Limit on open files of each run; a shell without its limits shows another number."""

_LIBRARY = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
static void note(void) {
    struct rlimit files, tag;
    char line[99];
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(10, &tag); /* RLIMIT_LOCKS */
    int length = snprintf(line, sizeof line, "%lld %s\\n", (long long)files.rlim_max,
                          tag.rlim_cur == RLIM_INFINITY ? "untagged" : "tagged");
    int file = open("noted", O_WRONLY | O_APPEND | O_CREAT, 0600);
    write(file, line, length);
    close(file);
}
__attribute__((constructor)) static void begin(void) {
    if (fork() == 0) {
        setsid();
        note();
        _exit(0);
    }
    note();
}
"""
"""Library that records, when it is loaded and in a child process, under which limits it runs."""

_FUNCTION = (
    '() { builtin echo "$(ulimit -Hn) $([[ $(ulimit -Sx) == unlimited ]] && builtin echo un)tagged" >> noted; '
    'builtin read "$@"; }'
)


def preload(directory: Path) -> dict[str, str]:
    """Return a variable that preloads a library of the test. Skip the test if none can be built."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (directory / "note.c").write_text(_LIBRARY)
    command = [compiler, "-w", "-shared", "-fPIC", "-o", "note.so", "note.c"]
    built = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=HANG_TIMEOUT_S, check=False)
    if built.returncode:
        pytest.skip(f"{compiler} makes no libraries here: {built.stderr.strip()}")
    return {"LD_PRELOAD": "./note.so"}  # relative to the working directory: an absolute path may contain spaces


def function(_: Path) -> dict[str, str]:
    """Return an exported function that shadows the first command of our own startup script."""
    return {"BASH_FUNC_read%%": _FUNCTION}


@pytest.fixture(params=[preload, function], ids=["library", "function"])
def env(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    made: dict[str, str] = request.param(tmp_path)
    return made


def read_notes(directory: Path) -> set[str]:
    return set((directory / "noted").read_text().splitlines())


def context(directory: Path) -> ToolContext:
    return ToolContext(working_dir=directory, limits=Limits(open_files=_FILES))


@pytest.mark.linux
async def test_code_loaded_by_call_variables_runs_only_with_tag_and_limits(env: dict[str, str], tmp_path: Path) -> None:
    """A shell that loaded the code at once would have neither, in some of forty runs."""
    for _ in range(_RUNS):
        result = await UNCHECKED.run(Request("echo ran", env=env), context(tmp_path))
        assert result.stdout == "ran\n", result
    assert read_notes(tmp_path) == {f"{_FILES} tagged"}


@pytest.mark.linux
@pytest.mark.bubblewrap
async def test_code_loaded_in_bubblewrap_runs_only_with_tag_and_limits(env: dict[str, str], tmp_path: Path) -> None:
    skip_without_bubblewrap()
    bash = Bash(UNCHECKED.profile, engine=Bubblewrap())
    for _ in range(_RUNS // 4):
        assert (await bash.run(Request("echo ran", env=env), context(tmp_path))).stdout == "ran\n"
    assert read_notes(tmp_path) == {f"{_FILES} tagged"}


@pytest.mark.linux
async def test_code_loaded_by_session_variables_runs_only_with_tag_and_limits(tmp_path: Path) -> None:
    session = Session(UNCHECKED, context(tmp_path))
    [(name, value)] = preload(tmp_path).items()
    await session.run(f"export {name}='{value}'")
    assert session.env_changes[name] == value
    for _ in range(_RUNS):
        assert (await session.run("echo ran")).stdout == "ran\n"
    assert read_notes(tmp_path) == {f"{_FILES} tagged"}


@pytest.mark.linux
def test_code_from_call_variables_does_not_run_in_a_discarded_shell(env: dict[str, str], tmp_path: Path) -> None:
    """It waits for its tag and limits, however long that takes."""
    program = """
        import os, shutil, sys
        from nacre.keeper.spawn.shell import spawn
        from nacre.keeper.protocol.messages import StartMessage, environment_block, environment_names, environment_of

        for fd in range(3, 64):
            os.dup2(0, fd)  # as in a keeper: nothing below is free
        variables = dict(zip(sys.argv[2::2], sys.argv[3::2]))
        block = environment_block({**os.environ, **variables})
        start = StartMessage(
            tag=1, timeout=9.0, grace=1.0, merge=False, keep_leftovers=False, standby_ok=False,
            has_stdin=False, has_state=False,
            bash=os.fsencode(shutil.which("bash")), cwd=os.fsencode(sys.argv[1]), text=b"echo ran", env=block,
            deferred=environment_names(variables),
        )
        shell = spawn(start, environment_of(block), (256, 256))
        shell.send_command(start)
        shell.discard()
        print(os.waitstatus_to_exitcode(os.waitpid(shell.pid, 0)[1]))
    """
    words = [word for pair in env.items() for word in pair]
    assert (run_host(program, tmp_path, *words), (tmp_path / "noted").exists()) == ("125\n", False)


WORKS = {
    "a path of libraries": ({"LD_LIBRARY_PATH": "/opt/x/lib"}, 'bash -c \'echo "$LD_LIBRARY_PATH"\'', "/opt/x/lib\n"),
    "any text": ({"LD_X": "a 'b'\n$(c) \\ \"d"}, 'printf %s "$LD_X"', "a 'b'\n$(c) \\ \"d"),
    "a function": ({"BASH_FUNC_greet%%": "() { echo hi $1; }"}, "greet you; bash -c 'greet me'", "hi you\nhi me\n"),
    "options of the shell": ({"SHELLOPTS": "nounset", "BASHOPTS": "nullglob"}, "echo *.none; echo $- $none", "\n"),
    "a mode of the shell": ({"POSIXLY_CORRECT": "1"}, "set -o | grep posix", "posix          \ton\n"),
    "its own name": ({"LD_X": "1"}, "echo $0 $#", "bash 0\n"),
    "its own text": ({"LD_X": "1"}, 'echo "$BASH_EXECUTION_STRING"', 'echo "$BASH_EXECUTION_STRING"\n'),
    "a long text": ({"LD_X": "1"}, f"echo $LD_X # {'x' * 9000}", "1\n"),
    "nothing of ours": ({"LD_X": "1", "SHELLOPTS": "nounset"}, "set | grep -cE '^NACRE_(DEF|OPT|NAME)'", "0\n"),
}  # fmt: skip


@pytest.mark.parametrize(("variables", "command", "said"), WORKS.values(), ids=WORKS)
async def test_deferred_call_variables_take_effect(variables: dict[str, str], command: str, said: str) -> None:
    assert (await UNCHECKED.run(Request(command, env=variables))).stdout == said


async def test_invalid_variable_is_reported_by_bash_once() -> None:
    result = await UNCHECKED.run(Request("echo $BASH_COMPAT", env={"BASH_COMPAT": "1.0"}))
    assert (result.stdout, result.stderr.count("out of range")) == ("1.0\n", 1)


@pytest.mark.linux
async def test_shell_limited_to_few_fds_gets_deferred_variables() -> None:
    ctx = ToolContext(limits=Limits(open_files=8))
    result = await UNCHECKED.run(Request("echo $LD_X", env={"LD_X": "1"}), ctx)
    assert (result.stdout, result.stderr) == ("1\n", "")


async def test_bash_env_of_a_call_is_read_by_its_shell_and_nested_shells(tmp_path: Path) -> None:
    (tmp_path / "start").write_text("echo $LD_X read\n")
    variables = {"BASH_ENV": str(tmp_path / "start"), "LD_X": "1"}
    assert (await UNCHECKED.run(Request("bash -c true", env=variables))).stdout == "1 read\n1 read\n"


async def test_pipestatus_is_complete_with_deferred_variables() -> None:
    result = await UNCHECKED.run(Request("false | true", env={"LD_X": "1"}))
    assert result.pipestatus == (PipelineStatus("false", 1), PipelineStatus("true", 0))


async def test_session_keeps_exported_functions_and_library_paths(tmp_path: Path) -> None:
    session = Session(UNCHECKED, ToolContext(working_dir=tmp_path))
    await session.run("greet() { echo hello; }; export -f greet; export LD_LIBRARY_PATH=/opt/x/lib")
    assert (await session.run('greet; echo "$LD_LIBRARY_PATH"; pwd')).stdout == f"hello\n/opt/x/lib\n{tmp_path}\n"
    await session.run("unset -f greet; unset LD_LIBRARY_PATH")
    assert (await session.run('greet 2>/dev/null || echo "none${LD_LIBRARY_PATH-}"')).stdout == "none\n"


@pytest.mark.parametrize(("variable", "ahead"), [("LD_PRELOAD", False), ("COLOUR", True)])
async def test_ray_node_defers_loader_variables_and_uses_no_standby_shell(
    variable: str, ahead: bool, tmp_path: Path
) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    plan = strip_local(plan_for(Request("true", env={variable: "x"}), ctx, DEFAULT, {}))
    sent = RunPayload(id="1", plan=plan, context=PlanContext(ctx=ctx, inherits=False), reports_state=False)
    there, _, _ = await localise(sent)
    assert (there.deferred, there.standby_ok) == (() if ahead else (variable,), ahead)


def test_only_loader_and_shell_variables_are_deferred() -> None:
    deferred = ("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "ENV",
                "SHELLOPTS", "BASHOPTS", "PS4", "POSIXLY_CORRECT", "BASH_FUNC_x%%", "BASH_LOADABLES_PATH")  # fmt: skip
    others = ("PATH", "HOME", "LANG", "BASH_ENV", "LD", "OLD_LD_PRELOAD", "LD_$(x)", "ENVIRONMENT", TAG_VARIABLE)
    assert deferred_names([*deferred, *others]) == deferred

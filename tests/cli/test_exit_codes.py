"""Exit codes and stderr of `nacre run`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.nacre_program import KILL_KEEPER, Done, Nacre
from tests.support.lifeline import Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S


@pytest.mark.req("P-006")
@pytest.mark.parametrize("code", [0, 1, 2, 42, 124, 125, 126, 127, 130, 255])
def test_exit_code_of_the_command_is_passed_on(nacre: Nacre, code: int) -> None:
    assert nacre("run", f"exit {code}") == Done(code)


def test_signalled_command_exits_with_128_plus_the_signal(nacre: Nacre) -> None:
    assert nacre("run", "kill -9 $$") == Done(137, err=b"nacre: ended by SIGKILL\n")


@pytest.mark.req("P-002")
def test_timeout_exits_124_and_keeps_partial_output(nacre: Nacre, life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        done = nacre("run", "--timeout", f"{limit}", f"{life.hold} echo partial; (setsid sleep 60 &); sleep 60")
        if done.out:
            break
    life.wait_over()
    assert (done.code, done.out) == (124, b"partial\n")
    assert done.err.startswith(b"nacre: timed out after %d s\n" % limit)


@pytest.mark.req("P-006")
def test_missing_working_directory_exits_125_with_a_message(nacre: Nacre) -> None:
    done = nacre("run", "--cwd", "/no/such/place", "echo never")
    message = b"The working directory '/no/such/place' does not exist. Give a directory that exists."
    assert done == Done(125, err=b"nacre: " + message + b"\n")


@pytest.mark.req("P-006")
def test_bash_that_cannot_start_exits_125(nacre: Nacre, tmp_path: Path) -> None:
    (tmp_path / "bash").write_text("#!/no/such/interpreter\n")
    (tmp_path / "bash").chmod(0o755)
    done = nacre("run", "echo never", env={"PATH": str(tmp_path)})
    remedy = b"Check that the working directory and bash exist."
    assert done == Done(125, err=b"nacre: could not start: No such file or directory. " + remedy + b"\n")


@pytest.mark.req("P-006")
def test_killed_keeper_exits_125_and_keeps_partial_output(nacre: Nacre, life: Lifeline) -> None:
    done = nacre("run", f"{life.hold} echo partial; (setsid sleep 60 &); {KILL_KEEPER}; sleep 60")
    life.wait_over()
    assert done == Done(125, b"partial\n", b"nacre: lost: nacre's keeper process was killed\n")


@pytest.mark.req("P-006")
def test_keeper_that_cannot_start_exits_125(nacre: Nacre) -> None:
    program = "import sys; sys.executable = ''; from nacre.cli import main; sys.exit(main(['run', 'echo never']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=HANG_TIMEOUT_S, env=nacre.env)
    assert (done.returncode, done.stdout) == (125, b"")
    assert done.stderr.startswith(b"nacre: nacre's keeper needs a Python interpreter")


@pytest.mark.req("P-009")
@pytest.mark.parametrize("access", ["workspace", "restricted"])
def test_unenforceable_access_mode_exits_126_and_runs_nothing(nacre: Nacre, access: str) -> None:
    done = nacre("run", "--access", access, "echo never", env={"NACRE_PORTABLE": "1"})
    assert (done.code, done.out) == (126, b"")
    assert done.err.decode() == (
        f"nacre: Access '{access}' cannot be enforced here, so the command was not run. NACRE_PORTABLE is set, which "
        "disables the sandbox. Use access='unrestricted' if the command may do anything.\n"
    )


def test_internal_error_exits_125_with_a_traceback(nacre: Nacre) -> None:
    program = (
        "import sys, nacre.cli.run.options as o; from nacre.cli import main\n"
        "def broken(words): raise ZeroDivisionError\n"
        "o.parse = broken; sys.exit(main(['run', 'true']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=HANG_TIMEOUT_S, env=nacre.env)
    assert (done.returncode, done.stdout) == (125, b"")
    assert done.stderr.startswith(b"Traceback")
    assert done.stderr.endswith(b"ZeroDivisionError\n")

"""Options of the command line, and the errors for invalid ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nacre import __version__
from tests.cli.nacre_program import Done, Nacre, finish
from tests.support.waiting import HANG_TIMEOUT_S

RUN_HELP = "Try: nacre run --help"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "The command is missing. Give it as one argument: nacre run 'ls -la'"),
        (["run", "echo", "hi there"], "got 2. Quote it: nacre run 'echo '\"'\"'hi there'\"'\"''"),
        (["run", "ls", "-la"], "The command must be one argument, got 2. Quote it: nacre run 'ls -la'"),
        (["run", "--json", "ls", "--all", "x"], None),
        (
            ["run", "echo", "-n", "hi"],
            "The command must be one argument, got 3. Quote it: nacre run 'echo -n hi'",
        ),
        (["run", "--timout", "3", "ls"], "Unknown option: --timout. Did you mean: --timeout"),
        (["run", "--zzz", "ls"], f"Unknown option: --zzz. {RUN_HELP}"),
        (
            ["run", "--timeout", "5m", "ls"],
            "Invalid value for --timeout: '5m'. Write 300.",
        ),
        (["run", "--timeout", "1.2.3s", "ls"], "Invalid value for --timeout: '1.2.3s'. Give seconds."),
        (["run", "--timeout", "soon", "ls"], "Invalid value for --timeout: 'soon'. Give seconds."),
        (["run", "--timeout", "0", "ls"], "`timeout` is 0.0. Give seconds above 0 and up to 3600."),
        (["run", "--timeout", "nan", "ls"], "`timeout` is nan. Give seconds above 0 and up to 3600."),
        (
            ["run", "--env", "FOO", "ls"],
            "Invalid value for --env: 'FOO'. Write FOO=VALUE; to let FOO through from here: --pass-env FOO.",
        ),
        (["run", "--env", "=x", "ls"], "'' is not a valid variable name. Use a name without '='."),
        (
            ["run", "--stdin", "-x", "ls"],
            "--stdin needs a value. A value that begins with '-' is written --stdin=VALUE.",
        ),
        (["run", "--mode", "background", "ls"], "Invalid value for --mode: 'background'. Use one of default, slow."),
        (["run", "--merge=yes", "ls"], f"--merge takes no value. {RUN_HELP}"),
        (["run", "--memory", "much", "ls"], "Invalid value for --memory: 'much'. Write bytes, or 512M, 4G."),
        (["run", "--processes", "few", "ls"], "Invalid value for --processes: 'few'. Give an integer."),
        (
            ["run", "--network", "dial-up", "ls"],
            "Invalid value for --network: 'dial-up'. Write on, off, loopback or ports such as 443,80.",
        ),
        (["run", "--stdin", "-", "-"], "Standard input cannot be both the command and its input."),
        (["run", " "], "The command is empty. Give a shell command."),
        (["rnu", "ls"], "Unknown command 'rnu'. Did you mean: nacre run"),
        (["doktor"], "Unknown command 'doktor'. Did you mean: nacre doctor"),
        (["git", "status"], "Unknown command 'git'. To run it in a shell: nacre run 'git status'"),
        (["--json", "run", "ls"], None),
        (["--frobnicate"], "Unknown option before the command name: --frobnicate. Try: nacre --help"),
        (["doctor", "now"], "nacre doctor does not take 'now'. Try: nacre doctor --help"),
    ],
)
def test_usage_error_exits_125_and_names_the_fix(nacre: Nacre, words: list[str], said: str | None) -> None:
    done = nacre(*words)
    assert done.code == 125
    if "--json" not in words:
        assert done.out == b""
        assert done.err.startswith(b"nacre: ")
        assert done.err.count(b"\n") == 1
    if said is not None:
        assert done.err.decode().rstrip("\n").endswith(said)


def test_no_arguments_print_the_usage_and_exit_125(nacre: Nacre) -> None:
    done = nacre()
    assert (done.code, done.out) == (125, b"")
    assert done.err.startswith(b"usage: nacre run [options] 'command'")


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["run", "--help"], ["doctor", "-h"]])
def test_help_goes_to_stdout_and_exits_0(nacre: Nacre, words: list[str]) -> None:
    done = nacre(*words)
    assert (done.code, done.err) == (0, b"")
    assert done.out.startswith(b"usage: nacre ")


def test_run_help_names_the_session_file(nacre: Nacre) -> None:
    assert b"nacre/sessions/NAME.json" in nacre("run", "--help").out


def test_version_option_prints_the_version(nacre: Nacre) -> None:
    assert nacre("--version") == Done(0, f"nacre {__version__}\n".encode())


def test_options_may_follow_the_command(nacre: Nacre) -> None:
    assert nacre("run", "echo $A", "--env", "A=1", "--timeout", "9") == Done(0, b"1\n")


def test_options_may_stand_between_operands(nacre: Nacre) -> None:
    assert nacre("wait", "bash-00000000", "--any", "bash-11111111").err.startswith(b"nacre: No such task: ")


def test_value_may_be_a_negative_number(nacre: Nacre) -> None:
    assert nacre("output", "--since", "-5", "bash-00000000").err.startswith(b"nacre: No such task: ")


def test_help_is_shown_despite_an_unknown_option(nacre: Nacre) -> None:
    done = nacre("tasks", "--no-such", "--help")
    assert (done.code, done.err) == (0, b"")


def test_command_after_double_dash_may_begin_with_a_dash(nacre: Nacre) -> None:
    done = nacre("run", "--", "--no-such-program; echo after")
    assert (done.code, done.out) == (0, b"after\n")


def test_command_is_read_from_stdin(nacre: Nacre) -> None:
    assert nacre("run", "-", stdin=b"echo one\necho 't\xffo'\n") == Done(0, b"one\nt\xffo\n")


def test_stdin_of_the_command_is_empty_by_default(nacre: Nacre) -> None:
    assert nacre("run", "wc -c", stdin=b"not for the command").out.strip() == b"0"
    assert nacre("run", "--stdin", "some text", "cat") == Done(0, b"some text")
    assert nacre("run", "--stdin", "-", "cat", stdin=b"from \xff outside") == Done(0, b"from \xff outside")


def test_unreadable_stdin_is_reported(nacre: Nacre) -> None:
    with nacre.start("run", "--stdin", "-", "cat", through=("sh", "-c", 'exec "$@" <&-', "sh")) as program:
        assert finish(program) == Done(125, err=b"nacre: Cannot read standard input: Bad file descriptor.\n")


@pytest.mark.req("K-02")
def test_cwd_option_sets_the_working_directory(nacre: Nacre) -> None:
    (nacre.home / "inner").mkdir()
    assert nacre("run", "--cwd", "inner", "pwd") == Done(0, f"{nacre.home}/inner\n".encode())


@pytest.mark.req("K-02")
def test_env_option_sets_variables_byte_for_byte(nacre: Nacre) -> None:
    done = nacre("run", "--env", "A=1=2", "--env", b"B=\xff\n", 'printf "$A $B"')
    assert done == Done(0, b"1=2 \xff\n")


@pytest.mark.req("M-11")
def test_secret_variables_are_removed_unless_passed_explicitly(nacre: Nacre) -> None:
    env = {"FAKE_API_KEY": "hush", "PLAIN": "seen"}
    look = "echo ${FAKE_API_KEY-none} ${PLAIN-none}"
    assert nacre("run", look, env=env) == Done(0, b"none seen\n")
    assert nacre("run", "--pass-env", "FAKE_API_KEY", look, env=env) == Done(0, b"hush seen\n")
    assert nacre("run", "--pass-env", "FAKE_*", look, env=env) == Done(0, b"hush seen\n")
    assert nacre("run", "--clear-env", look, env=env) == Done(0, b"none none\n")


def test_login_env_option_uses_the_environment_of_the_login_shell(nacre: Nacre) -> None:
    (nacre.home / ".bash_profile").write_text("export FROM_LOGIN=yes\n")
    env = {"SHELL": "/bin/bash"}
    assert nacre("run", "--login-env", "echo ${FROM_LOGIN-no}", env=env) == Done(0, b"yes\n")
    assert nacre("run", "echo ${FROM_LOGIN-no}", env=env) == Done(0, b"no\n")


def test_lowered_timeout_is_reported(nacre: Nacre) -> None:
    done = nacre("run", "--timeout", "60000", "--mode", "slow", "echo done")
    note = "The timeout of 60000 s is over the limit and was lowered to 3600 s. If you meant milliseconds, pass 60."
    assert done == Done(0, b"done\n", f"nacre: {note}\n".encode())


def test_file_of_saved_output_is_reported(nacre: Nacre, tmp_path: Path) -> None:
    done = nacre("run", "--output-dir", str(tmp_path / "kept"), "head -c 3000000 /dev/zero")
    (file,) = (tmp_path / "kept").iterdir()
    assert done == Done(0, bytes(3_000_000), f"nacre: all 3,000,000 bytes of its output are in {file}\n".encode())
    assert file.read_bytes() == bytes(3_000_000)


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_locale_does_not_change_output_bytes(nacre: Nacre, locale: str) -> None:
    assert nacre("run", b"printf 'h\xc3\xa9 \xff'", env={"LC_ALL": locale}) == Done(0, b"h\xc3\xa9 \xff")


def test_version_option_loads_no_heavy_modules(nacre: Nacre) -> None:
    program = "import sys; from nacre.cli import main; main(['--version']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=HANG_TIMEOUT_S, env=nacre.env)
    loaded = set(done.stdout.decode().split())
    assert "nacre.cli" in loaded
    assert not loaded & {"argparse", "asyncio", "json", "nacre.keeper.client.connection", "nacre.bash", "platformdirs"}

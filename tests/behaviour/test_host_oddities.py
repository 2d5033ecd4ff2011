"""Hosts with unusual signal handling, environment or working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hosts import run_host


@pytest.mark.parametrize("disposition", ["SIG_IGN", "SIG_DFL", "handler"])
def test_host_may_set_any_sigchld_disposition(disposition: str) -> None:
    program = f"""
        import os, signal, nacre
        called = []
        def handler(number, frame):
            called.append(number)
        signal.signal(signal.SIGCHLD, {disposition if disposition == "handler" else "signal." + disposition})
        print(nacre.run_sync("echo one; exit 3").summary)
        keeper = int(nacre.run_sync("echo $PPID").stdout)
        assert called == []
        os.kill(keeper, signal.SIGKILL)
        results = [nacre.run_sync("echo two") for _ in range(2)]
        print(results[-1].summary, results[-1].stdout)
    """
    assert run_host(program).split() == ["exit", "3", "exit", "0", "two"]


def test_commands_do_not_inherit_blocked_or_ignored_signals_of_the_host() -> None:
    program = """
        import signal, nacre
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        lines = nacre.run_sync("cat /proc/self/status").stdout.splitlines()
        print([int(line.split()[1], 16) & 0x7fffffff for line in lines if line[:6] in ("SigBlk", "SigIgn", "SigCgt")])
        print(nacre.run_sync("kill -TERM $$; echo survived").summary)
    """
    assert run_host(program) == "[0, 0, 0]\nended by SIGTERM\n"


def test_host_environment_may_contain_entries_without_a_name() -> None:
    starter = """
        import ctypes, os, sys
        libc = ctypes.CDLL(None)
        env = [f"{name}={value}".encode() for name, value in os.environ.items()] + [b"=nameless", b"valueless"]
        words = [word.encode() for word in (sys.executable, "-c", sys.argv[1])]
        libc.execve(words[0], (ctypes.c_char_p * 4)(*words, None), (ctypes.c_char_p * (len(env) + 1))(*env, None))
    """
    program = "import nacre; print(nacre.run_sync('echo fine').stdout, end='')"
    assert run_host(starter, program) == "fine\n"


def test_host_whose_working_directory_is_deleted_can_run_elsewhere(tmp_path: Path) -> None:
    program = """
        import os, sys, nacre
        nacre.run_sync("true")  # everything is imported: Python itself cannot import from nowhere
        os.chdir(sys.argv[1])
        os.rmdir(sys.argv[1])
        print(nacre.run_sync("pwd", cwd="/").stdout, end="")
        try:
            nacre.run_sync("pwd")
        except nacre.InvalidRequest as error:
            print(error.code, error.field)
    """
    gone = tmp_path / "gone"
    gone.mkdir()
    assert run_host(program, gone) == "/\ncwd_missing working_dir\n"


def test_host_exit_causes_no_resource_warning_about_a_socket() -> None:
    program = """
        import logging, nacre
        logging.kept = nacre.Bash()  # what goes late: what has not gone by then is taken apart
        print(nacre.run_sync("echo fine").stdout, end="")
    """
    assert run_host(program) == "fine\n"

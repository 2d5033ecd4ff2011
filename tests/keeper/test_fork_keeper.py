"""Keepers that are forked but cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hosts import run_host

pytestmark = pytest.mark.linux

_FORK = """
    import errno, os, select, signal, sys, warnings
    from nacre.keeper.spawn.fork_keeper import fork_keeper
    from nacre.keeper.protocol.channel import Channel
    from nacre.keeper.protocol.messages import MAIN_FD, StartMessage

    warnings.simplefilter("ignore", ResourceWarning)  # channels are left to its end

    def make_starved(channel):
        os.kill(os.getpid(), signal.SIGSTOP)  # until the test has seen to what comes first
        raise OSError(errno.ENFILE, "no more of them")

    os.dup2(0, MAIN_FD)  # a keeper has its channel there
    likely = StartMessage(
        tag=1, timeout=1.0, grace=1.0, merge=False, keep_leftovers=False, standby_ok=False,
        has_stdin=False, has_state=False, bash=b"", cwd=b"", text=b"", env=b"",
    )

    def forked(ahead):
        channel, pid = fork_keeper(make_starved, None, likely if ahead else None)
        os.waitpid(pid, os.WUNTRACED)
        return channel, pid

    def goes_on(pid):
        os.kill(pid, signal.SIGCONT)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def handed(channel, private=b""):
        run, control = Channel.pair()
        start = StartMessage(
            tag=1, timeout=1.0, grace=1.0, merge=False, keep_leftovers=False, standby_ok=False,
            has_stdin=False, has_state=False,
            dedicated=True, private_dir=private, bash=b"", cwd=b"", text=b"", env=b"",
        )
        with control:
            channel.send(start.message(), [control.fileno()])
        return run

    def told(run):
        select.select([run], [], [], 10)
        return run.receive()[0].split(b"\\0")[:2]
"""


def test_keeper_that_cannot_start_reports_to_the_run_it_was_forked_for() -> None:
    program = f"""{_FORK}
    channel, pid = forked(ahead=False)
    run = handed(channel)
    print(goes_on(pid), told(run) == [b"failed", b"%d" % errno.ENFILE])
    """
    assert run_host(program) == "0 True\n"


def test_keeper_that_cannot_start_removes_the_private_directory_of_its_run(tmp_path: Path) -> None:
    program = f"""{_FORK}
    channel, pid = forked(ahead=False)
    run = handed(channel, os.fsencode(sys.argv[1]))
    print(goes_on(pid), os.path.exists(sys.argv[1]))
    """
    private = tmp_path / "private"
    private.mkdir()
    assert run_host(program, private) == "0 False\n"


def test_keeper_that_cannot_start_waits_for_the_run_it_was_forked_for() -> None:
    program = f"""{_FORK}
    channel, pid = forked(ahead=False)
    os.kill(pid, signal.SIGCONT)
    run = handed(channel)
    print(told(run) == [b"failed", b"%d" % errno.ENFILE], os.waitpid(pid, 0)[1])
    """
    assert run_host(program) == "True 0\n"


def test_standby_keeper_that_cannot_start_accepts_no_run() -> None:
    program = f"""{_FORK}
    channel, pid = forked(ahead=True)
    print(goes_on(pid))
    try:
        handed(channel)
    except BrokenPipeError:
        print("refused")
    """
    assert run_host(program) == "0\nrefused\n"


def test_standby_keeper_that_cannot_start_reports_to_a_run_already_sent() -> None:
    program = f"""{_FORK}
    channel, pid = forked(ahead=True)
    run = handed(channel)
    print(goes_on(pid), told(run) == [b"failed", b"%d" % errno.ENFILE])
    """
    assert run_host(program) == "0 True\n"

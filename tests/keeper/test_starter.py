"""The order of reporting and starting a run: an unreported run must not have begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hosts import run_host

pytestmark = pytest.mark.linux

_LAUNCH = """
    import errno, os, select, shlex, shutil, sys, warnings
    from nacre.keeper.protocol.channel import Channel
    from nacre.keeper.server.main import make_keeper
    from nacre.keeper.spawn.shell import RESERVED_FD, Shell
    from nacre.keeper.spawn.spawner import ShellSpawner
    from nacre.keeper.protocol.messages import MAIN_FD, StartMessage, environment_block

    warnings.simplefilter("ignore", ResourceWarning)  # channels are left to its end
    for fd in (MAIN_FD, RESERVED_FD):
        os.dup2(0, fd)
    keeper = make_keeper(Channel.pair()[0], None, ShellSpawner((256, 256)))
    start = StartMessage(
        tag=1, timeout=9.0, grace=1.0, merge=False, keep_leftovers=False, standby_ok=True,
        has_stdin=False, has_state=False,
        bash=os.fsencode(shutil.which("bash")), cwd=b"/", text=os.fsencode(f"echo ran > {shlex.quote(sys.argv[1])}"),
        env=environment_block(os.environ),
    )
    if sys.argv[2] == "ready":
        keeper.standby.prepare(start)
        ready = set(keeper.standby.shells.pids)
    ours, control = Channel.pair()
    theirs = control.detach()
    begin = lambda: keeper.start(start, [theirs])
"""


@pytest.mark.parametrize("shell", ["ready", "new"])
def test_run_is_reported_before_it_begins(tmp_path: Path, shell: str) -> None:
    program = f"""{_LAUNCH}
    open_start_pipe = Shell.open_start_pipe

    def released(shell, start):
        print(ours.receive()[0].split(b"\\0")[:2] == [b"started", b"%d" % shell.pid])
        if sys.argv[2] == "ready":
            print(shell.pid in ready)
        open_start_pipe(shell, start)

    Shell.open_start_pipe = released
    begin()
    os.waitpid(next(iter(keeper.supervisor.runs.values())).pid, 0)
    print(open(sys.argv[1]).read(), end="")
    """
    assert run_host(program, tmp_path / "ran", shell) == "True\n" * (1 + (shell == "ready")) + "ran\n"


@pytest.mark.parametrize("said", ["ours.send(CANCEL)", "ours.close()"])
def test_run_cancelled_while_its_shell_starts_does_not_begin(tmp_path: Path, said: str) -> None:
    program = f"""{_LAUNCH}
    from nacre.keeper.protocol.messages import CANCEL
    spawn = ShellSpawner.spawn

    def spawned(*needs):
        shell = spawn(*needs)
        {said}
        select.select([theirs], [], [])  # a shell that is just born holds our end for another moment
        return shell

    ShellSpawner.spawn = spawned
    begin()
    print(ours.fileno() < 0 or ours.receive()[0].startswith(b"ended\\0-1\\0cancel\\0"), len(keeper.supervisor.runs))
    try:
        while True:
            os.wait()
    except ChildProcessError:
        print(os.path.exists(sys.argv[1]))
    """
    assert run_host(program, tmp_path / "ran", "new") == "True 0\nFalse\n"


@pytest.mark.parametrize("shell", ["ready", "new"])
def test_run_that_cannot_be_reported_does_not_begin(tmp_path: Path, shell: str) -> None:
    program = f"""{_LAUNCH}
    send = Channel.send

    def sent(channel, message, fds=()):
        if fds:
            raise OSError(errno.ETOOMANYREFS, "too many of them")
        send(channel, message, fds)

    Channel.send = sent
    begin()
    print(ours.receive()[0].split(b"\\0")[:2] == [b"failed", b"%d" % errno.ETOOMANYREFS], len(keeper.supervisor.runs))
    try:
        while True:
            os.wait()
    except ChildProcessError:
        print(os.path.exists(sys.argv[1]))
    """
    assert run_host(program, tmp_path / "ran", shell) == "True 0\nFalse\n"

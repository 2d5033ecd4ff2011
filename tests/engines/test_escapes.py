"""Commands that try to gain access through the channel between engine and container."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import Bash, Request, Session, ToolContext
from nacre.engines import Bubblewrap, Containers
from nacre.result import Exited, NotStarted, TimedOut
from tests.engines.conftest import IMAGE, Place, engine_named
from tests.support.confined import HERE
from tests.support.disks import small_disk
from tests.support.lifeline import Lifeline
from tests.support.quoting import quote
from tests.support.waiting import TIME_LIMITS_S

LETTER = (
    r"l=$(sed -n 's|.* \(/[^ ]*/letter-[0-9a-f]*\) .*|\1|p' /proc/self/mountinfo | tail -1);"
    "l=${l:-$(echo /run/nacre/[0-9]*)};"
)
"""Shell text that finds the run's own directory and sets `$l`."""


@pytest.fixture
def bwrap(directory: Path) -> Place:
    return Place(Bash(engine=engine_named("bwrap")), directory)


@pytest.mark.parametrize("word", ["code", "said", "left", "signal", "gone", "stays", "begun", "lost"])
async def test_text_written_to_the_status_pipe_is_never_executed(place: Place, word: str) -> None:
    made = place.directory.parent / "made"
    evil = f"{word} x[$(touch {made})]"
    await place.run(f"{LETTER} echo '{evil}' >$l/told; echo '{evil}' >$l/end; exit 140", access="restricted")
    assert not made.exists()


async def test_run_directory_cannot_be_changed_by_its_command(place: Place) -> None:
    if place.bash.engine.name == "local":
        pytest.skip("the local engine has no run directory")
    tries = ["echo x >$l/text", "echo x >$l/new", "ln -s /etc/passwd $l/link", "rm $l/told"]
    if not place.bash.engine.is_local:
        tries += ["echo x >/run/nacre/reap", "echo x >/run/nacre/ward", "mkdir /run/nacre/8"]
    for each in tries:
        result = await place.run(f"{LETTER} {each}", access="workspace")
        assert result.outcome != Exited(0), each
    assert (await place.run("echo well")).out.text == "well\n"


@pytest.mark.parametrize(
    "flood",
    ["yes code 0", "yes", "head -c 100000000 /dev/zero | tr '\\0' x", "printf half"],
    ids=["lines of ours", "lines", "one long line", "half a line"],
)
async def test_flooded_status_pipe_leaves_the_next_run_intact(place: Place, flood: str) -> None:
    """A flood does not block the event loop either: then this test would hang."""
    if place.bash.engine.name == "local":
        pytest.skip("the local engine has no run directory")
    await place.run(Request(f"{LETTER} {flood} >$l/told & wait; exit 3", timeout=2, leftovers="end"))
    assert (await place.run("echo well")).out.text == "well\n"


async def test_flooded_state_pipe_leaves_the_session_usable(place: Place) -> None:
    session = Session(place.bash, place.context())
    await session.run("head -c 20000000 /dev/zero >&63; exit 3")
    assert (await session.run("echo well")).out.text == "well\n"


@pytest.mark.parametrize("told", ["rel", "", "../..", "/no/such/place"])
async def test_session_survives_an_invalid_reported_directory(place: Place, told: str) -> None:
    session = Session(place.bash, place.context())
    await session.run(rf"printf '{told}\0\0' >&63; NACRE_TOLD=1")
    result = await session.run("echo well")
    assert result.out.text == "well\n" or isinstance(result.outcome, NotStarted)


@pytest.mark.containers
@pytest.mark.parametrize("how", ["ulimit -Sx unlimited", "ulimit -Sx 5", "ulimit -x 5"])
async def test_process_that_changes_its_tag_limit_is_killed_on_timeout(program: str, tmp_path: Path, how: str) -> None:
    engine, life = Containers(IMAGE, program=program), Lifeline(tmp_path / "life")
    command = f"({life.hold} {how}; exec setsid sleep 300) & {life.hold} sleep 300"
    for limit in TIME_LIMITS_S:
        before = life.holders
        result = await Bash(engine=engine).run(Request(command, timeout=limit), ToolContext(working_dir=tmp_path))
        if life.holders == before + 2:
            break
    assert result.outcome == TimedOut(limit)
    await life.wait_until_ended()
    life.close()
    await engine.aclose()


@pytest.mark.containers
async def test_keepalive_fifo_is_not_visible_in_the_container(program: str, tmp_path: Path) -> None:
    engine = Containers(IMAGE, program=program)
    result = await Bash(engine=engine).run("ls /run/nacre", ToolContext(working_dir=tmp_path))
    assert set(result.out.text.split()) >= {"ward", "reap"}
    assert "hold" not in result.out.text.split()
    await engine.aclose()


@pytest.mark.containers
async def test_session_follows_directories_inside_its_container(program: str, directory: Path, tmp_path: Path) -> None:
    engine = Containers(IMAGE, program=program)
    session = Session(Bash(engine=engine), ToolContext(working_dir=directory))
    await session.run("mkdir -p /opt/there/sub; cd /opt/there/sub")
    assert (await session.run("pwd")).out.text == "/opt/there/sub\n"
    link = tmp_path / "link"  # a link here, a directory in the container
    link.symlink_to("/usr")
    session = Session(Bash(engine=engine), ToolContext(working_dir=directory))
    await session.run(f"mkdir {link}; cd {link}")
    assert (await session.run("pwd")).out.text == f"{link}\n"
    await engine.aclose()


async def test_working_directory_of_a_call_does_not_become_writable(place: Place, tmp_path: Path) -> None:
    """The model chooses the working directory; only the caller chooses what is writable."""
    outside = tmp_path / "outside"
    outside.mkdir()
    result = await place.run(Request('echo x >file; echo y >"$OLDPWD/file"', cwd=str(outside)), access="workspace")
    assert not result.ok
    result = await place.run(
        Request(f"cd {quote(place.directory)}; echo x >file", cwd=str(outside)), access="workspace"
    )
    if place.bash.engine.is_local:  # otherwise the directory does not exist there
        assert result.outcome == Exited(0), result
        assert (place.directory / "file").exists()
    assert list(outside.iterdir()) == []


@pytest.fixture
def outside() -> Iterator[Path]:
    """Yield a directory that is not below /tmp: some engines have a private /tmp."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as path:
        yield Path(path)


async def test_session_that_changes_directory_keeps_its_workspace(place: Place, outside: Path) -> None:
    session = Session(place.bash, place.context(access="workspace"))
    await session.run(f"mkdir -p {quote(outside)}; cd {quote(outside)}")
    result = await session.run("pwd; echo x >file")
    there = not place.bash.engine.is_local  # the container has its own directory of that name
    assert (result.out.text, result.ok) == (f"{outside}\n", there), result
    result = await session.run(f"cd {quote(place.directory)}; echo x >file")
    assert (result.outcome, list(outside.iterdir())) == (Exited(0), []), result
    assert (place.directory / "file").exists()


@pytest.mark.containers
async def test_session_directory_outside_the_workspace_is_not_mounted(program: str, directory: Path) -> None:
    """The session may start there, as on the command line, where it continues an earlier one's directory."""
    secret = directory.parent / "secret"
    secret.mkdir()
    (secret / "key").write_text("PRIVATE")
    engine = Containers(IMAGE, program=program)
    ctx = ToolContext(working_dir=directory, access="workspace")
    first = Session(Bash(engine=engine), ctx)
    await first.run(f"cd {secret}; cd {secret.parent}; cd /etc")
    for cwd in (str(secret), str(secret.parent), "/etc"):
        later = Session(Bash(engine=engine), ctx, cwd=cwd)
        result = await later.run(f"cat key secret/key {secret}/key; echo x >{secret}/written")
        assert "PRIVATE" not in result.out.text, result
    assert [path.name for path in secret.iterdir()] == ["key"]
    await engine.aclose()


@pytest.mark.containers
async def test_sessions_in_different_workspaces_have_separate_containers(program: str, tmp_path: Path) -> None:
    engine, places = Containers(IMAGE, program=program), [tmp_path / "one", tmp_path / "two"]
    for place in places:
        place.mkdir()
    sessions = [Session(Bash(engine=engine), ToolContext(working_dir=place)) for place in (*places, places[0])]
    for session in sessions:
        result = await session.run("ls /marker; touch /marker here; pwd")
        assert result.out.text == f"{session.cwd}\n", result
    assert (places[1] / "here").exists()
    await engine.aclose()


async def test_workspace_path_may_be_a_symlink(place: Place) -> None:
    link = place.directory.parent / "link"
    link.symlink_to(place.directory)
    result = await place.bash.run("echo x > file; cat file", ToolContext(working_dir=link, access="workspace"))
    assert result.out.text == "x\n"
    assert (place.directory / "file").exists()


@pytest.mark.linux
@pytest.mark.parametrize("cwd", ["/tmp", "/run", "/proc", "/dev", "/"])
async def test_working_directory_of_a_call_reveals_no_private_files(bwrap: Place, cwd: str) -> None:
    with tempfile.NamedTemporaryFile(dir="/tmp") as private:
        command = f"ls /tmp /run; cat {private.name}; ls -d /proc/[0-9]* | wc -l"
        result = await bwrap.run(Request(command, cwd=cwd), access="restricted")
    assert int(result.out.text.split()[-1]) < 10
    assert os.path.basename(private.name) not in result.out.text
    assert "No such file" in result.err.text


@pytest.mark.parametrize("access", ["workspace", "restricted"])
async def test_kernel_settings_in_proc_sys_cannot_be_opened_for_writing(place: Place, access: str) -> None:
    """Root could write these files without any capability. The test opens them and writes nothing."""
    files = "/proc/sys/kernel/hostname /proc/sys/kernel/domainname"
    command = f"for f in {files}; do (exec 3>>$f) 2>/dev/null && echo $f; done"
    result = await place.run(command, access=access)
    assert "/proc/sys" not in result.out.text


async def test_directory_of_a_hidden_or_protected_file_cannot_be_moved_away(place: Place) -> None:
    if place.bash.engine.name == "local" and not HERE.mounts:
        pytest.skip("without mounts, nothing in a workspace can be hidden")
    for name in ("secrets", "rules"):
        (place.directory / name / "deep").mkdir(parents=True)
        (place.directory / name / "deep" / "file").write_text(f"{name}\n")
    given = {"access": "workspace", "hidden": ("secrets/deep/file",), "protected": ("rules/deep/file",)}
    await place.run("mv secrets away; mv rules old; mv secrets/deep s; mv rules/deep r; true", **given)
    result = await place.run("cat */*/file */file; for f in */*/file */file; do echo x >$f; done", **given)
    assert "secrets" not in result.out.text
    assert (place.directory / "secrets/deep/file").read_text() == "secrets\n"
    assert (place.directory / "rules/deep/file").read_text() == "rules\n"


CONNECT = """LD_LIBRARY_PATH=$PWD ./perl -e 'socket(S,1,1,0)&&connect(S,pack("Sa*",1,"ear")) or die; print "through"'"""


@pytest.mark.parametrize("access", ["restricted", "workspace"])
async def test_local_connections_are_blocked_exactly_when_enforced_says_so(place: Place, access: str) -> None:
    perl = shutil.which("perl")
    if perl is None:
        pytest.skip("needs perl to connect; the image has none")
    for line in f"{perl}\n{subprocess.run(['ldd', perl], capture_output=True, text=True, check=True).stdout}".split():
        if line.startswith("/"):
            shutil.copy(line, place.directory)
    directory = os.open(place.directory, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as ear:
        ear.bind(f"/proc/self/fd/{directory}/ear")  # a socket path is limited to 107 bytes
        ear.listen()
        result = await place.run(CONNECT, access=access)
    os.close(directory)
    assert result.out.text == ("" if "unix-sockets" in result.enforced else "through")
    assert "unix-sockets" in result.enforced or "sockets" not in place.bash.constraints(place.context(access=access))


async def test_mount_inside_a_read_only_workspace_is_read_only(place: Place) -> None:
    with small_disk(place.directory / "a disk", "1m") as disk, small_disk(disk / "another", "1m") as another:
        (disk / "file").write_text("before\n")
        command = "cat 'a disk/file'; for f in 'a disk'/{file,new} 'a disk'/another/new; do echo after >\"$f\"; done"
        result = await place.run(command, access="restricted")
        assert result.out.text == "before\n"
        assert ((disk / "file").read_text(), [*another.iterdir()]) == ("before\n", [])
        assert {each.name for each in disk.iterdir()} == {"file", "another"}


async def test_mount_made_after_an_earlier_run_is_read_only(place: Place) -> None:
    await place.run("true", access="restricted")
    with small_disk(place.directory / "disk", "1m") as disk:
        (disk / "file").write_text("before\n")
        result = await place.run("cat disk/file; echo after >disk/file; echo after >disk/new", access="restricted")
        assert result.out.text == "before\n"
        assert [(each.name, each.read_text()) for each in disk.iterdir()] == [("file", "before\n")]


async def test_mount_inside_a_protected_directory_is_read_only(place: Place) -> None:
    if place.bash.engine.name == "local" and not HERE.mounts:
        pytest.skip("without mounts, protected paths are restored, but mounts below them are not read-only")
    rules = place.directory / "rules"
    rules.mkdir()
    with small_disk(rules / "disk", "1m") as disk, small_disk(place.directory / "other", "1m") as other:
        command = "touch rules/disk/new; touch other/new"
        await place.run(command, access="workspace", protected=("rules",))
        assert ([*disk.iterdir()], [*other.iterdir()]) == ([], [other / "new"])


@pytest.mark.parametrize("access", ["restricted", "workspace"])
async def test_files_of_a_hidden_directory_are_invisible(place: Place, access: str) -> None:
    if place.bash.engine.name == "local" and not HERE.mounts:
        pytest.skip("without mounts, nothing in a workspace can be hidden")
    deep = place.directory / ".git" / "hooks"  # protected, and hidden with its parent directory
    deep.mkdir(parents=True)
    for directory in (deep, deep.parent):
        (directory / "file").write_text("private\n")
    command = "cat .git/file .git/hooks/file; echo .git/* .git/hooks/*; echo new >.git/new"
    result = await place.run(command, access=access, hidden=(".git",))
    assert result.out.text == ".git/* .git/hooks/*\n"
    assert not (deep.parent / "new").exists()


async def test_mount_inside_a_hidden_directory_is_hidden(place: Place) -> None:
    hidden = place.directory / "hidden"
    hidden.mkdir()
    with small_disk(hidden / "disk", "1m") as disk:
        (disk / "file").write_text("private\n")
        result = await place.run("cat hidden/disk/file; ls hidden/disk", access="restricted", hidden=("hidden",))
        names_are_listed = place.bash.engine.name == "local" and not HERE.mounts  # Landlock hides contents only
        assert result.out.text == ("file\n" if names_are_listed else "")


@pytest.mark.linux
async def test_hidden_path_need_not_exist(bwrap: Place) -> None:
    result = await bwrap.run("echo well", access="restricted", hidden=("/no/such/place",))
    assert result.out.text == "well\n"


@pytest.mark.linux
async def test_bubblewrap_failure_is_reported_as_not_started(bwrap: Place, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text('#!/bin/sh\nfor last; do :; done\n[ "$last" = true ] || { echo cannot >&2; exit 1; }\n')
    broken.chmod(0o755)
    result = await Bash(engine=Bubblewrap(str(broken))).run("true", bwrap.context())
    assert isinstance(result.outcome, NotStarted)
    assert result.err.text == "cannot\n"


_NAMES = "bwrap podman docker bash rm env"
OUT_HERE = {
    "functions": f'for f in {_NAMES}; do eval "$f() {{{{ echo >{{made}}; command $f; }}}}"; done; export -f {_NAMES}',
    "a startup file": "echo 'echo >{made}' > $PWD/startup; export BASH_ENV=$PWD/startup",
    "programs": f"mkdir bin; for f in {_NAMES}; do printf '#!/bin/bash\\necho >{{made}}\\n' >bin/$f; done;"
    "chmod +x bin/*; export PATH=$PWD/bin:$PATH",
}
"""Shell commands that a shell with the command's own variables would run."""


@pytest.mark.parametrize("way", OUT_HERE.values(), ids=OUT_HERE.keys())
async def test_session_variables_and_functions_affect_no_host_program(place: Place, way: str) -> None:
    made = place.directory.parent / "made"
    session = Session(place.bash, place.context(access="workspace"))
    await session.run(way.format(made=made))
    await session.run("true")
    await session.run("true | true; (exit 3)")
    assert not made.exists()


async def test_command_runs_without_a_usable_path(place: Place) -> None:
    result = await place.run(Request("echo well", env={"PATH": "/no/such/place"}))
    assert (result.outcome, result.out.text, result.err.text) == (Exited(0), "well\n", "")


@pytest.mark.linux
@pytest.mark.parametrize("access", ["unrestricted", "workspace"])
async def test_helper_processes_in_namespaces_see_no_extra_variables(
    bwrap: Place, access: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "not-for-commands")
    command = (
        "cat /proc/[0-9]*/environ /proc/1/cmdline | tr '\\0' '\\n' | grep -e for-commands -e of-its-own; echo $OWN"
    )
    result = await bwrap.run(Request(command, env={"OWN": "of-its" + "-own"}), access=access)
    assert set(result.out.text.split()) == {"OWN=of-its-own", "of-its-own"}

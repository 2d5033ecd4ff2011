"""`nacre doctor`: what this machine supports."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

from nacre import __version__
from tests.cli.nacre_program import Done, Nacre, finish
from tests.conftest import PORTABLE
from tests.support.deny import deny_calls
from tests.support.machines import no_dev_fd, no_proc, no_temporary_directory, stale_proc

NAMES = ["nacre", "python", "platform", "bash", "keeper", "orphans", "subreaper", "proc", "dev fd", "temporary files"]
NAMES += ["clone3", "memfd", "pidfd", "pipe size"]
NAMES += ["portable mode", *(["ps"] if PORTABLE else []), "open files", "landlock", "seccomp", "namespaces"]
NAMES += ["confinement"] if PORTABLE else ["restricted", "workspace"]
NAMES += ["engine bwrap", "engine podman", "engine docker", "engine ray"]


def test_doctor_prints_one_aligned_line_per_check(nacre: Nacre) -> None:
    done = nacre("doctor")
    lines = [line for line in done.out.decode().splitlines() if "→" not in line]
    assert done.code == (1 if PORTABLE else 0)
    assert [line[:15].rstrip() for line in lines] == NAMES
    assert lines[0].split() == ["nacre", "ok", __version__]


@pytest.mark.req("P-009")
def test_doctor_fails_with_the_reason_where_no_sandbox_is_possible(nacre: Nacre) -> None:
    done = nacre("doctor", "--json", env={"NACRE_PORTABLE": "1"})
    (last,) = (check for check in json.loads(done.out)["checks"] if check["name"] == "confinement")
    assert (done.code, last["status"]) == (1, "missing")
    assert last["detail"] == "only access='unrestricted' is offered"
    assert last["remedy"] == "NACRE_PORTABLE is set, which disables the sandbox."


@pytest.mark.linux
@pytest.mark.req("P-008")
def test_doctor_reports_restrictions_that_it_tested(nacre: Nacre) -> None:
    checks = {check["name"]: check for check in json.loads(nacre("doctor", "--json").out)["checks"]}
    assert checks["landlock"]["detail"].startswith("ABI ")
    for access in ("restricted", "workspace"):
        assert checks[access]["status"] == "ok"
        assert checks[access]["detail"].startswith("writes, network, ")


def test_doctor_json_has_the_same_checks(nacre: Nacre) -> None:
    done = nacre("doctor", "--json")
    report = json.loads(done.out)
    checks = {check["name"]: check for check in report["checks"]}
    assert (done.code, report["ok"], report["version"]) == ((1, False) if PORTABLE else (0, True)) + (__version__,)
    assert list(checks) == NAMES
    assert all(set(check) == {"name", "status", "detail", "remedy"} for check in report["checks"])
    assert checks["python"]["detail"].startswith(platform.python_version())
    assert [checks[name]["status"] for name in ("bash", "keeper", "orphans")] == ["ok"] * 3
    assert checks["portable mode"]["status"] == ("on" if PORTABLE else "off")


@pytest.mark.linux
def test_doctor_confirms_that_the_keeper_adopts_orphans(nacre: Nacre) -> None:
    report = json.loads(nacre("doctor", "--json").out)
    assert [check["status"] for check in report["checks"] if check["name"] == "subreaper"] == ["ok"]


def checks_on(nacre: Nacre, through: tuple[str, ...]) -> tuple[int, dict[str, dict[str, str]]]:
    """Run `nacre doctor` on a simulated machine; return its exit code and its rows by name."""
    with nacre.start("doctor", "--json", through=through) as program:
        done = finish(program)
    assert done.err == b""
    return done.code, {check["name"]: check for check in json.loads(done.out)["checks"]}


def test_doctor_detects_a_proc_of_another_pid_namespace(nacre: Nacre) -> None:
    code, checks = checks_on(nacre, stale_proc())
    assert (code, checks["keeper"]["status"], checks["proc"]["status"]) == (1, "failed", "failed")
    assert checks["proc"]["detail"].startswith("/proc belongs to another PID namespace: ")
    assert checks["proc"]["remedy"].startswith("Mount a fresh one: start with `unshare --mount-proc …`")


def test_doctor_detects_a_missing_proc(nacre: Nacre) -> None:
    code, checks = checks_on(nacre, no_proc())
    assert (code, checks["keeper"]["status"], checks["proc"]["status"]) == (1, "failed", "missing")
    assert checks["proc"]["remedy"] == "Mount it: `mount -t proc proc /proc`."


def test_doctor_detects_a_missing_dev_fd(nacre: Nacre, tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    _, checks = checks_on(nacre, no_dev_fd(tmp_path / "dev"))
    assert (checks["keeper"]["status"], checks["dev fd"]["status"]) == ("ok", "missing")
    assert checks["dev fd"]["remedy"] == "Create it: ln -s /proc/self/fd /dev/fd"


def test_doctor_detects_that_no_temporary_directory_is_writable(nacre: Nacre) -> None:
    code, checks = checks_on(nacre, no_temporary_directory())
    assert (code, checks["temporary files"]["status"]) == (1, "missing")
    assert checks["temporary files"]["remedy"] == "Set TMPDIR to a directory that this user can write to."
    if not PORTABLE and "restricted" in checks:
        assert (checks["keeper"]["status"], checks["restricted"]["status"]) == ("ok", "missing")


@pytest.mark.linux
def test_doctor_detects_a_denied_memfd_create(nacre: Nacre) -> None:
    code, checks = checks_on(nacre, deny_calls("memfd_create=EPERM"))
    assert (code, checks["keeper"]["status"], checks["memfd"]["status"]) == (0, "ok", "missing")
    assert checks["memfd"]["detail"] == "Operation not permitted; temporary files are used instead"


def test_doctor_detects_a_denied_clone3(nacre: Nacre) -> None:
    _, checks = checks_on(nacre, deny_calls("clone3=EPERM"))
    assert checks["clone3"]["status"] == "failed"
    assert checks["clone3"]["remedy"].startswith("Update the container runtime")
    _, checks = checks_on(nacre, deny_calls("clone3=ENOSYS"))
    assert (checks["keeper"]["status"], checks["clone3"]["status"]) == ("ok", "ok")


def test_doctor_without_bash_fails_and_names_the_remedy(nacre: Nacre, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = nacre("doctor", env={"PATH": str(tmp_path / "empty")})
    assert (done.code, done.err) == (1, b"")
    assert "missing  none on PATH" in done.out.decode()
    assert "→ Install bash, or put it on PATH." in done.out.decode()


def test_doctor_reports_a_bash_that_cannot_start(nacre: Nacre, tmp_path: Path) -> None:
    (tmp_path / "bash").write_text("#!/no/such/interpreter\n")
    (tmp_path / "bash").chmod(0o755)
    done = nacre("doctor", env={"PATH": str(tmp_path)})
    assert (done.code, done.err) == (1, b"")
    assert f"bash failed {tmp_path}/bash: could not start" in " ".join(done.out.decode().split())


def test_doctor_reports_a_low_limit_of_open_files(nacre: Nacre) -> None:
    with nacre.start("doctor", "--json", through=("bash", "-c", 'ulimit -n 100; exec "$@"', "bash")) as program:
        done = finish(program)
    (files,) = (check for check in json.loads(done.out)["checks"] if check["name"] == "open files")
    assert done == Done(1 if PORTABLE else 0, done.out, done.err)
    assert (files["status"], files["remedy"]) == ("low", "Raise it: ulimit -n 4096")
    assert files["detail"].startswith("100 (at most 100): up to ")

"""Restricted mode: what the kernel forbids and how it is reported; and machines that cannot forbid it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import ClassVar

import pytest

from nacre import AccessUnavailable, Bash, Limits, ToolContext
from nacre.base.frozen import replace
from nacre.profiles.phoenix import PHOENIX
from nacre.sandbox import probe as kernels
from nacre.types import Access
from nacre.views.answers import Answer
from tests.support.confined import HERE, PYTHON, confined
from tests.support.hosts import run_host


def kernel_without_landlock(monkeypatch: pytest.MonkeyPatch, lack: str) -> None:
    made = replace(HERE, landlock=0, missing=lack)
    monkeypatch.setattr(kernels, "kernel", lambda: made)


async def ask(bash: Bash, command: str, place: Path, access: Access = "restricted", **more: object) -> Answer:
    return await bash.call({"command": command}, ToolContext(working_dir=place, access=access, **more))  # type: ignore[arg-type]


class TestWhereTheKernelCan:
    pytestmark: ClassVar = [*confined, pytest.mark.req("P-008")]

    async def test_restricted_command_cannot_write_and_gets_the_kernel_error(self, phoenix: Bash, place: Path) -> None:
        (place / "kept").write_text("precious")
        made = await ask(phoenix, "cat kept; echo x > made; echo x >> kept; rm -f kept; mkdir d", place)
        assert made.data["output"].startswith("precious")
        assert made.data["output"].count("Permission denied") + made.data["output"].count("not permitted") == 4
        assert (os.listdir(place), (place / "kept").read_text()) == (["kept"], "precious")
        assert made.data["exit_code"] == 1
        assert "Blocked by access='restricted'" in made.text

    async def test_strict_restricted_command_cannot_write_to_tmpdir(self, phoenix: Bash, place: Path) -> None:
        made = await ask(phoenix, 'echo x > "${TMPDIR:-/tmp}/made"', place, strict=True)
        assert (made.data["exit_code"], "denied" in made.data["output"]) == (1, True)

    async def test_restricted_command_has_no_tcp(self, phoenix: Bash, place: Path) -> None:
        connect = f"{PYTHON} -c 'import socket; socket.create_connection((\"127.0.0.1\", {{}}), 5)'"
        bind = f"{PYTHON} -c 'import socket; socket.create_server((\"127.0.0.1\", 0))'"
        with socket.create_server(("127.0.0.1", 0)) as server:
            for command in (connect.format(server.getsockname()[1]), bind):
                made = await ask(phoenix, command, place)
                assert (made.data["exit_code"], "PermissionError" in made.data["output"]) == (1, True)
                assert (await ask(phoenix, command, place, "unrestricted")).data["exit_code"] == 0

    @pytest.mark.skipif(HERE.landlock < 6, reason="needs Linux 6.12")
    async def test_restricted_command_cannot_signal_outside_processes(self, phoenix: Bash, place: Path) -> None:
        made = await ask(phoenix, f"kill -0 {os.getpid()}", place)
        assert (made.data["exit_code"], "not permitted" in made.data["output"]) == (1, True)

    async def test_restricted_command_has_memory_cpu_and_process_limits(self, phoenix: Bash, place: Path) -> None:
        limits = PHOENIX.limits["restricted"]
        assert (limits.memory, limits.cpu, limits.processes) == (4 * 2**30, 3600, 512)
        made = await ask(phoenix, "ulimit -d; ulimit -t; ulimit -n", place)
        assert made.result is not None
        assert "limits" in made.result.enforced
        assert "unlimited" not in made.data["output"]
        made = await ask(phoenix, "while :; do :; done", place, limits=Limits(cpu=0.2))
        assert made.text.startswith("[nacre: over its limit of 0.2 s of CPU time")

    def test_restricted_description_states_the_constraints(self, phoenix: Bash, place: Path) -> None:
        told = phoenix.definition(ToolContext(working_dir=place, access="restricted"))["description"]
        assert told.startswith(f"{PHOENIX.tool.description}\n\nWorking directory: {place}\n\nCommands can read, and ")
        assert "Commands have no network." in told
        assert "do not retry and do not look for a workaround" in told

    async def test_blocked_restricted_command_is_not_retried(self, phoenix: Bash, place: Path) -> None:
        """Its output appears once: the command was not retried."""
        made = await ask(phoenix, "echo tried; echo x > made", place)
        assert made.data["output"].count("tried") == 1
        assert os.listdir(place) == []

    async def test_restricted_command_is_still_checked_by_the_rules(self, phoenix: Bash, place: Path) -> None:
        assert "refused by git-push-force" in (await ask(phoenix, "git push -f", place)).text

    def test_restricted_mode_is_offered(self, phoenix: Bash) -> None:
        assert phoenix.access_modes == ("unrestricted", "workspace", "restricted")


@pytest.mark.req("P-009")
class TestWhereItCannot:
    LACK = "This kernel has no Landlock: Linux 5.13 or newer has."

    @pytest.fixture(autouse=True)
    def _without(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kernel_without_landlock(monkeypatch, self.LACK)

    def test_only_unrestricted_mode_is_offered_without_landlock(self, phoenix: Bash) -> None:
        assert phoenix.access_modes == ("unrestricted",)

    async def test_restricted_call_without_landlock_explains_and_runs_nothing(self, phoenix: Bash, place: Path) -> None:
        made = await ask(phoenix, "touch ran", place)
        assert (made.error, made.result, os.listdir(place)) == ("access_unavailable", None, [])
        assert self.LACK in made.text
        assert "access='unrestricted'" in made.text

    def test_restricted_definition_without_landlock_raises(self, phoenix: Bash, place: Path) -> None:
        with pytest.raises(AccessUnavailable, match="Landlock"):
            phoenix.definition(ToolContext(working_dir=place, access="restricted"))

    async def test_unrestricted_calls_work_without_landlock_and_are_checked(self, phoenix: Bash, place: Path) -> None:
        assert (await ask(phoenix, "echo fine", place, "unrestricted")).text == "fine\n"
        made = await ask(phoenix, "touch ran; git add .", place, "unrestricted")
        assert "refused by git-add-blind" in made.text
        assert os.listdir(place) == []


HOST = """
    import asyncio, json, logging, sys
    if sys.argv[2] != "linux":
        sys.platform = sys.argv[2]
    from nacre import Bash, ToolContext

    records = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append([record.levelname, record.getMessage()])
    logging.getLogger("nacre").addHandler(handler)

    async def main():
        bash, place = Bash("phoenix"), sys.argv[1]
        modes = bash.access_modes
        said = list(records)
        made = await bash.call({"command": "touch ran"}, ToolContext(working_dir=place, access="restricted"))
        refused = await bash.call({"command": "touch ran; git push -f"}, ToolContext(working_dir=place))
        return modes, said, made.error, made.text, refused.text, len(records)
    print(json.dumps(asyncio.run(main())))
"""


@pytest.mark.req("P-009")
@pytest.mark.parametrize(
    ("platform", "reason"),
    [
        ("linux", "NACRE_PORTABLE is set, which disables the sandbox."),
        ("darwin", "The sandbox needs Linux with Landlock; this is darwin."),
    ],
    ids=["switched-off", "not-linux"],
)
def test_missing_confinement_is_logged_once_with_its_reason(place: Path, platform: str, reason: str) -> None:
    said = json.loads(run_host(HOST, place, platform, env={"NACRE_PORTABLE": "1"}))
    modes, records, error, text, refused, count = said
    assert (modes, records) == (["unrestricted"], [["WARNING", f"Commands cannot be sandboxed here. {reason}"]])
    assert (error, reason in text) == ("access_unavailable", True)
    assert "refused by git-push-force" in refused
    assert (count, os.listdir(place)) == (1, [])

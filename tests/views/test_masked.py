"""No view shows a secret of a result: not whole, and not the half that nacre's own cut would leave."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nacre import Bash, Request, Result, Tasks, ToolContext
from nacre.cli.run.notices import notices_for
from nacre.redact.mask import mask_note
from nacre.redact.redactor import Redactor
from nacre.result import Captured, Exited, Process, Refused, Running, Spill, TaskRef
from nacre.toolcall.task_tools import call
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.live import LiveView
from nacre.views.console.masked import mask_result
from nacre.views.console.viewport import viewport
from nacre.views.model.text import model_text
from nacre.views.panels.background import background_box
from nacre.views.panels.refusal import refusal
from nacre.views.panels.run import panel
from nacre.views.panels.streamed import draw_streamed
from nacre.views.panels.style import render

SECRET = "hunter2HUNTER3hunter4xyz"
CAPABILITIES = TerminalCapabilities(200)
CTX = ToolContext(secrets=(SECRET,))


def parts(text: str) -> list[str]:
    """Return the parts of the secret in the text that reveal it."""
    return [SECRET[n : n + 6] for n in range(len(SECRET) - 5) if SECRET[n : n + 6] in text]


def result(text: bytes = b"", *, gap: int = 0, **fields: object) -> Result:
    half = len(text) // 2
    captured = Captured(head=text[:half], tail=text[half:], total_bytes=len(text) + gap, dropped_bytes=gap)
    given: dict[str, object] = {"command": f"login {SECRET}", "cwd": f"/srv/{SECRET}", "outcome": Exited(1), **fields}
    return Result(out=captured, both=captured, redactor=Redactor((SECRET,)), **given)  # type: ignore[arg-type]


SHOWN = {
    "plain": result(f"it is {SECRET}.\n".encode()),
    "coloured": result(f"it is {SECRET[:8]}\x1b[1m{SECRET[8:]}\x1b[0m.\n".encode()),
    "over the gap": result(SECRET.encode(), gap=5_000_000),
    "binary": result(b"\0\1\2\3\4\5\6\7\x0e\x0f" + SECRET.encode() + bytes(range(200))),
    "remark": result(notes=(f"There is no '{SECRET}'.",)),
    "refused": result(outcome=Refused("rule", f"`rm {SECRET}` would", f"`ls {SECRET}`")),
    "task": result(outcome=Running("bash-3f9c2a17"), task=TaskRef("bash-3f9c2a17", 1, 1, f"/s/{SECRET}/output.log")),
    "spill": result(b"x\n", spill=Spill(f"/s/{SECRET}/bash.log", 3, True), gap=1),
    "left": result(killed_leftovers=(Process(7, 7, f"bash -c sleep 2; : {SECRET[:15]}…"),)),
}


@pytest.mark.parametrize("name", SHOWN)
def test_panels_mask_secrets(name: str) -> None:
    shown = SHOWN[name]
    drawings = [
        panel(shown, CAPABILITIES, timeout=1.0, description=SECRET),
        draw_streamed(shown, CAPABILITIES, description=SECRET),
    ]
    drawings += [draw_streamed(shown, CAPABILITIES)]
    drawings += [refusal(shown, CAPABILITIES)] if isinstance(shown.outcome, Refused) else []
    drawings += [background_box(shown, CAPABILITIES, description=SECRET)] if shown.task is not None else []
    for drawing in drawings:
        text = render(drawing, CAPABILITIES)
        assert (parts(text), "[secret]" in text) == ([], True)
        assert SECRET[:4].encode().hex(" ") not in text


def test_viewport_masks_a_line_and_keeps_the_others() -> None:
    shown = result(f"one\n{SECRET}\nthree\n".encode())
    assert [line.text for line in viewport(shown).lines] == ["one", "[secret]", "three"]
    assert [line.text for line in viewport(result(b"hunt\n4xyz\n")).lines] == ["hunt", "4xyz"]  # nothing is missing


def test_mask_result_without_secrets_returns_the_same_result() -> None:
    shown = Result(command="x", cwd="/", outcome=Exited(0))
    assert mask_result(shown) is shown
    assert mask_result(SHOWN["plain"]) is not SHOWN["plain"]


def test_mask_result_keeps_an_outcome_whose_kind_equals_a_secret() -> None:
    shown = Result(command="x", cwd="/", outcome=Exited(3), redactor=Redactor(("exited",)))
    assert mask_result(shown).outcome == Exited(3)


def test_live_view_masks_secrets_across_chunks() -> None:
    live = LiveView(f"login {SECRET}", "/", redactor=Redactor((SECRET,)))
    live.feed("stdout", f"a {SECRET[:11]}".encode())
    first = live.lines(1.0, 100, 24)
    live.feed("stdout", f"{SECRET[11:]} b\n".encode())
    second = live.lines(1.1, 100, 24)
    assert (first[0], first[2], second[2]) == ("$ login [secret]", "a [secret]", "a [secret] b")
    assert (
        LiveView("x", "/", description=SECRET, redactor=Redactor((SECRET,))).lines(1.0, 100, 24)[0]
        == "Running: [secret]"
    )


@pytest.mark.parametrize("name", SHOWN)
def test_notices_of_a_run_mask_secrets(name: str) -> None:
    for background in (False, True):
        assert parts("\n".join(notices_for(SHOWN[name], background=background))) == []


def test_mask_note_masks_secrets_cut_by_an_ellipsis() -> None:
    values = (SECRET,)
    assert mask_note(f"`rm {SECRET[:15]}…` would", values) == "`rm [secret]…` would"
    assert mask_note(f"`…{SECRET[9:]}/x` would", values) == "`…[secret]/x` would"
    assert mask_note(f"{SECRET} and …", values) == "[secret] and …"
    long = "x" * 9000
    assert mask_note(f"{long} {SECRET[:9]}…\n{long}", values) == f"{long} [secret]…\n{long}"
    assert mask_note("hun… and …xyz", values) == "hun… and …xyz"  # too short to be recognized


async def test_refusal_masks_truncated_secrets(bash: Bash) -> None:
    for count in range(40, 90, 3):
        refused = await bash.run(f"rm -rf / {'x' * count}{SECRET}", CTX)
        assert isinstance(refused.outcome, Refused)
        for text in (
            model_text(refused),
            json.dumps(refused.to_dict()),
            render(refusal(refused, CAPABILITIES), CAPABILITIES),
        ):
            assert parts(text) == []


async def test_leftover_process_name_masks_truncated_secrets(bash: Bash) -> None:
    for count in (0, 164, 172, 180):
        command = f"bash -c 'sleep 60; : {'x' * count}{SECRET}' & exit 1"
        ended = await bash.run(Request(command, leftovers="end"), CTX)
        assert ended.killed_leftovers
        for text in (model_text(ended), json.dumps(ended.to_dict()), render(panel(ended, CAPABILITIES), CAPABILITIES)):
            assert parts(text) == []


async def test_task_tools_mask_secrets_of_the_run(bash: Bash, tmp_path: Path) -> None:
    ctx = ToolContext(secrets=(SECRET,), output_dir=tmp_path)
    tasks = Tasks(str(tmp_path))
    for count in (0, 85, 92, 99):
        command = f"echo {SECRET}; : {'x' * count}{SECRET}"
        started = await bash.run(Request(command, mode="background", description=f"{'y' * count} {SECRET}"), ctx)
        assert started.task is not None
        said = await call("TaskOutput", {"task_id": started.task.id}, tasks)  # the secrets are not passed again
        assert "[secret]" in said
        half = await call("TaskOutput", {"task_id": started.task.id, "since": 9}, tasks)
        assert parts(said + half) == []
    for text in (await call("TaskList", {"all": True}, tasks), await call("TaskOutput", {"task_id": "x"}, tasks)):
        assert parts(text) == []


def test_path_of_the_spill_file_masks_secrets() -> None:
    data = b"".join(b"%d\n" % n for n in range(20_000))
    for place in (SECRET, f"sp ace'{SECRET}"):
        hidden = Redactor((place,))
        spill = Spill(os.path.join("/s", place, "x.log"), len(data), True)
        shown = Result(
            command="x",
            cwd="/",
            outcome=Exited(0),
            both=Captured(head=data, total_bytes=len(data)),
            spill=spill,
            redactor=hidden,
        )
        text = model_text(shown)
        assert (parts(text), "/s/[secret]/x.log" in text) == ([], True)

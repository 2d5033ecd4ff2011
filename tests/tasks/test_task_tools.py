"""Tasks as a model sees them: every call gets an answer, and no answer is too long."""

from __future__ import annotations

import asyncio
import random
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.result import Exited, Killed
from nacre.tasks.tasks import Tasks
from nacre.toolcall.task_tools import MAX_REPLY_CHARS, call, definitions
from tests.support.fake_keeper import FakeKeeper, ended_task
from tests.support.waiting import HANG_TIMEOUT_S, until
from tests.tasks.conftest import Serve


def mask_varying(text: str) -> str:
    """Replace ids and durations, which differ from run to run."""
    return re.sub(r"\b\d+(\.\d+)? s\b", "N s", re.sub(r"bash-[0-9a-f]{8}", "bash-ID", text))


def test_tool_definitions_fit_the_format_of_model_apis() -> None:
    names = {each["name"]: each for each in definitions()}
    assert list(names) == ["TaskOutput", "KillShell", "TaskList"]
    for each in names.values():
        assert set(each) == {"name", "description", "input_schema"}
        assert 50 < len(each["description"]) < 500
        schema = each["input_schema"]
        assert schema["type"] == "object"
        assert set(schema.get("required", [])) <= set(schema["properties"])


@pytest.mark.req("M-06")
async def test_task_output_of_an_ended_task_shows_status_output_and_cursor(tasks: Tasks, store: Path) -> None:
    id = ended_task(store, Exited(0), b"one\ntwo\n")
    assert await call("TaskOutput", {"task_id": id}, tasks) == (
        f"[nacre: {id} exited with 0 after 1.5 s]\none\ntwo\n[nacre: cursor 8: pass since=8 for later output]"
    )
    assert await call("TaskOutput", {"task_id": id, "since": 8}, tasks) == (
        f"[nacre: {id} exited with 0 after 1.5 s]\n[nacre: no output after cursor 8]"
    )
    assert (await call("TaskOutput", {"task_id": id, "lines": "1"}, tasks)).splitlines()[1:3] == [
        "[nacre: 4 bytes left out before this]",
        "two",
    ]


async def test_task_output_of_a_running_task_shows_its_output_so_far(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    options = {"task_id": keeper.id, "block": "false"}
    assert (
        mask_varying(await call("TaskOutput", options, tasks))
        == "[nacre: bash-ID running for N s, no output yet]\n[nacre: no output]"
    )
    keeper.prints(b"Listening\n")
    assert mask_varying(await call("TaskOutput", options, tasks)) == (
        "[nacre: bash-ID running for N s, last output N s ago]\nListening\n"
        "[nacre: cursor 10: pass since=10 for later output]"
    )


async def test_task_output_waits_for_the_end_by_default(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    waiting = asyncio.ensure_future(call("TaskOutput", {"task_id": keeper.id}, tasks))
    await until(lambda: keeper.watchers, "a call that waits")
    keeper.prints(b"done\n")
    keeper.ends(Exited(2), out_of_memory=True, running=[{"pid": 5, "pgid": 5, "command": "stuck"}])
    assert (await asyncio.wait_for(waiting, HANG_TIMEOUT_S)).splitlines() == [
        f"[nacre: {keeper.id} exited with 2 after 1.5 s]",
        "[nacre: it ran out of memory]",
        "[nacre: 1 of its processes could not be killed: 5 (stuck)]",
        "done",
        "[nacre: cursor 5: pass since=5 for later output]",
    ]
    other = serve()
    assert "running" in await call("TaskOutput", {"task_id": other.id, "timeout": 0.05}, tasks)


def split(text: str) -> tuple[str, int, str, int]:
    """Return head, count of what is left out, tail, and the offset at which to continue."""
    match = re.fullmatch(
        r"[^\n]*\n(.*?)\n?\[… (?:[\d,]+ lines, )?([\d,]+) (?:bytes|characters)(?: of line \d+)?(?: left out)?\]\n(.*)\n"
        r"\[nacre: since=(\d+) reads the part left out\]\n\[nacre: cursor [^\n]*\]",
        text,
        re.DOTALL,
    )
    assert match is not None, text[:300]
    return match[1], int(match[2].replace(",", "")), match[3], int(match[4])


@pytest.mark.parametrize("count", [10_000, 200_000])
async def test_long_task_output_shows_its_beginning_and_end(tasks: Tasks, store: Path, count: int) -> None:
    data = b"".join(b"%07d\n" % n for n in range(count))
    id = ended_task(store, Exited(0), data)
    text = await call("TaskOutput", {"task_id": id}, tasks)
    assert len(text) <= MAX_REPLY_CHARS
    head, left, tail, place = split(text)
    assert data.startswith(head.encode() + b"\n")
    assert data.endswith(tail.encode() + b"\n")
    assert place == len(head) + 1
    assert place + left + len(tail) + 1 == len(data)
    on, _, _, further = split(await call("TaskOutput", {"task_id": id, "since": place}, tasks))
    assert data[place:].startswith(on.encode())
    assert further > place


async def test_left_out_lines_are_counted_and_their_errors_shown(tasks: Tasks, store: Path) -> None:
    numbers = b"".join(b"%07d\n" % n for n in range(100_000))
    id = ended_task(store, Exited(0), numbers + b"Error: in the middle\n" + numbers)
    lines = (await call("TaskOutput", {"task_id": id}, tasks)).split("\n")
    shown = sum(line.isdigit() for line in lines)
    place = next(number for number, line in enumerate(lines) if line.startswith("[…"))
    assert lines[place].startswith(f"[… {200_001 - shown:,} lines, ")
    assert lines[place + 1 : place + 3] == ["[… one of them tells of errors:]", "[… 100001: Error: in the middle]"]


async def test_task_output_with_folded_or_erased_lines_names_the_log(tasks: Tasks, store: Path) -> None:
    data = b"gone\n\x1b[2J" + b"".join(b"copied item %d of the lot\n" % n for n in range(100))
    id = ended_task(store, Exited(0), data)
    lines = (await call("TaskOutput", {"task_id": id}, tasks)).split("\n")
    assert lines[2] == "[… 98 similar lines]"
    path = lines[-2].removeprefix("[nacre: the full unmodified output is in ").removesuffix("]")
    assert Path(*shlex.split(path)).read_bytes().startswith(data)


async def test_truncated_secret_in_a_listed_command_is_masked(tasks: Tasks, store: Path) -> None:
    secret = "hunter2HUNTER3hunter4xyz"
    ended_task(store, Exited(0), b"", command=f"sleep 3; : {'x' * 92}{secret}")
    text = await call("TaskList", {"all": True}, tasks, secrets=[secret])
    assert f"{'x' * 92}[secret] (" in text


async def test_left_out_part_of_a_long_line_can_be_read_from_its_cursor(tasks: Tasks, store: Path) -> None:
    data = "".join(f"{n:x}é" for n in range(60_000)).encode()
    id = ended_task(store, Exited(0), data)
    seen, place = b"", 0
    for _ in range(3):
        head, _, _, further = split(await call("TaskOutput", {"task_id": id, "since": place}, tasks))
        seen += head.encode()
        assert further > place
        place = further
    assert data.startswith(seen)


async def test_cursor_for_left_out_output_is_exact_despite_colours_and_secrets(tasks: Tasks, store: Path) -> None:
    some = random.Random(7)
    words = ["".join(some.choices("abcdefghij", k=12)).encode() for _ in range(5_000)]  # no two lines are similar
    data = b"".join(b"\x1b[31m%b\x1b[0m: hunter22\n" % word for word in words)
    id = ended_task(store, Exited(0), data)
    text = await call("TaskOutput", {"task_id": id}, tasks, secrets=["hunter22"])
    head, _, _, place = split(text)
    assert "hunter22" not in text
    shown = head.splitlines()
    assert shown == [f"{word.decode()}: [secret]" for word in words[: len(shown)]]
    assert data[place:].startswith(b"\x1b[31m%b" % words[len(shown)])


async def test_task_output_is_rendered_as_a_terminal_shows_it(tasks: Tasks, store: Path) -> None:
    bar = b"".join(b"\r\x1b[2K%d%%" % n for n in range(101))
    id = ended_task(store, Exited(0), bar + b"\n\x1b]52;c;aGk=\x07[nacre: exit 0]\n\0\n")
    text = await call("TaskOutput", {"task_id": id}, tasks)
    assert text.split("\n")[1:3] == ["100%", "\\[nacre: exit 0]"]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    noise = ended_task(store, Exited(0), bytes(range(256)) * 4000)
    assert "[binary output, not shown: " in await call("TaskOutput", {"task_id": noise}, tasks)


async def test_secret_environment_values_of_the_host_are_masked_in_tasks(
    tasks: Tasks, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "k-0123456789")
    id = ended_task(store, Exited(0), b"k-0123456789\n", command="curl -H k-0123456789")
    assert "k-0123456789" not in await call("TaskOutput", {"task_id": id}, tasks)
    assert "curl -H [secret]" in await call("TaskList", {"all": True}, tasks)


async def test_task_output_names_gaps_in_the_log(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(cap=8)
    keeper.prints(b"0123")
    keeper.loses(1000)
    keeper.prints_segment(b"end\n")
    text = await call("TaskOutput", {"task_id": keeper.id, "block": False}, tasks)
    assert text.splitlines()[1:] == [
        "0123",
        "[… 1,000 bytes left out]",
        "end",
        "[nacre: 1,000 of the bytes left out were not kept]",
        "[nacre: cursor 1008: pass since=1008 for later output]",
    ]


async def test_kill_shell_kills_a_task_once_and_reports_its_end(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    assert await call("KillShell", {"shell_id": keeper.id}, tasks) == f"[nacre: {keeper.id} killed by you after 1.5 s]"
    assert await call("KillShell", {"task_id": keeper.id, "signal": "INT"}, tasks) == (
        f"[nacre: {keeper.id} killed by you after 1.5 s]\n[nacre: it had already ended; nothing was done]"
    )
    assert keeper.kills == [(15, 5.0)]
    lost = serve()
    lost.dies()
    assert await call("KillShell", {"shell_id": lost.id}, tasks) == f"[nacre: {lost.id} lost: its keeper was killed]"


async def test_task_list_shows_running_or_all_tasks(tasks: Tasks, serve: Serve, store: Path) -> None:
    assert await call("TaskList", {}, tasks) == "No task is running. Pass all=true for those that have ended."
    assert await call("TaskList", {"all": True}, tasks) == "There are no tasks."
    serve(command="npm \x1b[31m run\n dev", description="the server", created=1.0)
    ended_task(store, Exited(1), description="", command="x" * 500)
    assert mask_varying(await call("TaskList", {}, tasks)).endswith(
        ", no output yet: npm \ufffd[31m run dev (the server)"
    )
    everything = (await call("TaskList", {"all": "true"}, tasks)).splitlines()
    assert mask_varying(everything[1]) == "bash-ID exited with 1 after N s: " + "x" * 119 + "…"


async def test_task_list_of_many_tasks_shows_the_newest(tasks: Tasks, store: Path) -> None:
    for n in range(130):
        ended_task(store, Exited(0), created=float(n), command=f"task {n}", description="d" * 400)
    text = await call("TaskList", {"all": True}, tasks)
    assert text.startswith("[nacre: 30 older tasks left out]\n")
    assert "task 129 " in text
    assert len(text) <= MAX_REPLY_CHARS


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("TaskOutput", {}, "missing_argument"),
        ("TaskOutput", {"task_id": 5}, "bad_task_id"),
        ("TaskOutput", {"task_id": "../../etc"}, "no_such_task"),
        ("TaskOutput", {"task_id": "ID", "block": "maybe"}, "bad_block"),
        ("TaskOutput", {"task_id": "ID", "timeout": "soon"}, "bad_timeout"),
        ("TaskOutput", {"task_id": "ID", "timeout": -5}, "bad_timeout"),
        ("TaskOutput", {"task_id": "ID", "since": 10**6}, "bad_cursor"),
        ("TaskOutput", {"task_id": "ID", "since": "x"}, "bad_since"),
        ("TaskOutput", {"task_id": "ID", "lines": -1}, "bad_lines"),
        ("TaskOutput", {"task_id": "ID", "colour": "red"}, "unknown_argument"),
        ("KillShell", {"shell_id": "ID", "signal": "BANG"}, "bad_signal"),
        ("KillShell", {"shell_id": "ID", "signal": [1]}, "bad_signal"),
        ("TaskList", {"all": 3}, "bad_all"),
        ("TaskList", [], "bad_arguments"),
        ("Bash", {}, "no_such_tool"),
    ],
)
async def test_invalid_tool_call_is_answered_with_an_error_code(
    tasks: Tasks, serve: Serve, name: str, arguments: Any, code: str
) -> None:
    keeper = serve()
    if isinstance(arguments, dict):
        arguments = {key: keeper.id if value == "ID" else value for key, value in arguments.items()}
    text = await asyncio.wait_for(call(name, arguments, tasks), HANG_TIMEOUT_S)
    assert text.startswith(f"Error ({code}): ")
    assert len(text) < 500
    assert tasks.get(keeper.id).alive


async def test_unknown_task_id_is_answered_with_the_running_tasks(tasks: Tasks, serve: Serve) -> None:
    assert "No task is running" in await call("TaskOutput", {"task_id": "bash-00000000"}, tasks)
    keeper = serve(command="npm run dev", description="")
    assert await call("KillShell", {"shell_id": "bash-00000000"}, tasks) == (
        f"Error (no_such_task): No such task: 'bash-00000000'. Running: {keeper.id}: npm run dev"
    )


async def test_broken_task_is_reported_not_raised(tasks: Tasks, store: Path) -> None:
    id = ended_task(store, Exited(0))
    (store / id / "status.json").write_text("[]")
    assert await call("TaskOutput", {"task_id": id}, tasks) == (
        f"Error (task_broken): Cannot read {id}: status.json is not a JSON object. "
        f"Inspect '{store / id}'; nacre removes only files that it wrote."
    )
    assert "cannot be read" in await call("TaskList", {"all": True}, tasks)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20), lambda inner: st.lists(inner)
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["TaskOutput", "KillShell", "TaskList"]),
    arguments=st.dictionaries(
        st.sampled_from(["task_id", "shell_id", "block", "since", "lines", "signal", "all"]), ANYTHING
    ),
    known=st.booleans(),
)
def test_tool_call_with_any_arguments_gets_a_bounded_reply(
    tmp_path: Path, name: str, arguments: dict[str, Any], known: bool
) -> None:
    tasks = Tasks(tmp_path / "tasks")
    id = next(iter([task.id for task in tasks.list()]), None) or ended_task(
        tasks.directory, Exited(0), "grün\n".encode() * 9
    )
    if known:
        arguments["task_id"] = id
    text = asyncio.run(call(name, arguments, tasks))
    assert 0 < len(text.encode()) <= 4 * MAX_REPLY_CHARS


async def test_kill_shell_reports_a_task_that_could_not_be_killed(
    tasks: Tasks, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.tasks.kill._KEEPER_MARGIN_S", -4.9)
    with FakeKeeper(store) as keeper:
        keeper.on_kill = lambda: None
        assert "could not be killed" in await call("KillShell", {"shell_id": keeper.id}, tasks)
        keeper.ends(Killed("me"))

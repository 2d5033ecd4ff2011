"""Planted defects in nacre, each of which a fuzz target must find: a target that cannot fail proves nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fuzz.reading import MAX_TEXT_CHARS
from fuzz.repeating import join_pieces
from fuzz.target import TARGETS, attack
from nacre import check
from nacre.base.frozen import replace
from nacre.capture.head_tail import HeadTailBuffer
from nacre.config.config import Entry, Origin
from nacre.config.layers import Layers
from nacre.config.settings import LISTS, SETTINGS, Setting
from nacre.hooks.agents.protocol import HookReply, refusal
from nacre.keeper.protocol import replies
from nacre.keeper.protocol.messages import AdoptMessage, StartMessage, parse_int, parse_seconds
from nacre.keeper.protocol.replies import EndedReply
from nacre.output.shape import ShapedText, shape
from nacre.shell import Script, read
from nacre.shell.options import OptionSpec
from nacre.shell.programs.wrappers import _SIMPLE
from nacre.tasks.store.log_layout import Layout, build_layout
from nacre.tasks.store.records import parse_status_file, parse_task_file
from nacre.verdict import Decision, Finding, Verdict

pytestmark = pytest.mark.slow

_SAY = [key.name for key in (*SETTINGS.values(), *LISTS.values()) if key.project_may in ("stricter", "never")]
"""Settings that a project may not set freely."""


def _is_found(name: str, most: int) -> bool:
    return any(attack(name, first, 10) for first in range(0, most, 10))


def _plant_decoder(change: Callable[[Any], None], parse: Callable[..., Any]) -> classmethod[Any, ..., Any]:
    """Return a decoder that alters what it has decoded."""

    def parse_and_change(cls: type, message: bytes) -> Any:
        value = parse(message)
        change(value)
        return value

    return classmethod(parse_and_change)


@pytest.mark.parametrize(
    "change",
    [
        lambda start: setattr(start, "timeout", 120.0),
        lambda start: setattr(start, "merge", False),
        lambda start: setattr(start, "env", start.ruleset + start.env),
        lambda start: setattr(start, "cwd", start.bash),
        lambda start: setattr(start, "tag", start.tag + 1),
    ],
    ids=["timeout", "merge", "env", "cwd", "tag"],
)
def test_fuzzer_detects_a_start_message_decoded_with_a_wrong_field(
    change: Callable[[StartMessage], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StartMessage, "parse", _plant_decoder(change, StartMessage.parse))
    assert _is_found("wire", 300)


def test_fuzzer_detects_a_decoder_that_always_returns_the_same_start(monkeypatch: pytest.MonkeyPatch) -> None:
    one = StartMessage(
        tag=1, timeout=1.0, grace=1.0, merge=False, keep_leftovers=False, standby_ok=False,
        has_stdin=False, has_state=False,
        bash=b"", cwd=b"", text=b"", env=b"",
    )  # fmt: skip
    monkeypatch.setattr(StartMessage, "parse", classmethod(lambda cls, message: one))
    assert _is_found("wire", 100)


def test_fuzzer_detects_swapped_flags_of_an_adopt_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def exchange(adoption: AdoptMessage) -> None:
        adoption.live, adoption.detached = adoption.detached, adoption.live

    monkeypatch.setattr(AdoptMessage, "parse", _plant_decoder(exchange, AdoptMessage.parse))
    assert _is_found("wire", 300)


@pytest.mark.parametrize(("strict", "lenient"), [(parse_int, int), (parse_seconds, float)])
def test_fuzzer_detects_numbers_parsed_as_leniently_as_python(
    strict: object, lenient: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    for message in (StartMessage, AdoptMessage):
        planted = [(name, lenient if parse is strict else parse) for name, parse in message.layout._parsers]
        monkeypatch.setattr(message.layout, "_parsers", planted)
    assert _is_found("wire", 3_000)


def test_fuzzer_detects_replies_parsed_as_leniently_as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "parse_int", int)
    assert _is_found("wire", 3_000)


def test_fuzzer_detects_a_reply_decoded_without_its_leftovers(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = replies.parse_reply

    def forget(data: bytes) -> Any:
        reply = parse(data)
        if isinstance(reply, EndedReply):
            reply.killed_leftovers = ()
        return reply

    monkeypatch.setattr("fuzz.wire.parse_reply", forget)
    assert _is_found("wire", 3_000)


def test_fuzzer_detects_a_lost_byte_in_each_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    add = HeadTailBuffer.add
    monkeypatch.setattr(HeadTailBuffer, "add", lambda record, data: add(record, data[1:]))
    assert _is_found("output", 20)


def test_fuzzer_detects_output_that_is_counted_but_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    add = HeadTailBuffer.add

    def lossy(record: HeadTailBuffer, data: bytes) -> None:
        add(record, data[1:])
        record.total_bytes += 1

    monkeypatch.setattr(HeadTailBuffer, "add", lossy)
    assert _is_found("output", 20)


def _without_a_line(made: ShapedText) -> ShapedText:
    lines = made.text.split("\n")
    del lines[len(lines) // 2]
    return replace(made, text="\n".join(lines))


@pytest.mark.parametrize(
    "change",
    [
        lambda made: ShapedText(),
        lambda made: replace(made, text=made.text.replace("line", "lime")),
        lambda made: replace(made, omitted_chars=made.omitted_chars + 9 if made.omitted_chars else 0),
        lambda made: replace(made, text=made.text.replace("…", "… 1", 1)),
        lambda made: replace(made, folded=0),
        _without_a_line,
    ],
    ids=["nothing", "another word", "left out", "marks", "folded", "a line"],
)
def test_fuzzer_detects_shaped_text_that_differs_from_the_output(
    change: Callable[[ShapedText], ShapedText], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz.output.shape", lambda *given, **named: change(shape(*given, **named)))
    assert _is_found("output", 150)


def _shift_pieces(layout: Layout) -> Layout:
    return layout._replace(pieces=tuple([piece._replace(file_offset=piece.file_offset + 1) for piece in layout.pieces]))


def _longer(layout: Layout) -> Layout:
    return layout._replace(pieces=tuple([piece._replace(stop=piece.stop + 1) for piece in layout.pieces]))


def _shorter(layout: Layout) -> Layout:
    return layout._replace(pieces=layout.pieces[:-1])


@pytest.mark.parametrize("change", [_shift_pieces, _longer, _shorter])
def test_fuzzer_detects_a_task_log_read_at_wrong_offsets(
    change: Callable[[Layout], Layout], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.tasks.store.log_reader.build_layout", lambda *given: change(build_layout(*given)))
    assert _is_found("tasks", 150)


@pytest.mark.parametrize(
    ("name", "planted"),
    [
        (
            "nacre.tasks.store.status.parse_task_file",
            lambda data, name: parse_task_file(data, name)._replace(command="rm -rf /"),
        ),
        ("nacre.tasks.store.status.parse_status_file", lambda data: parse_status_file(data)._replace(bytes=3)),
        ("nacre.tasks.store.records._read_int", int),
        ("nacre.tasks.store.log_reader._last_lines", lambda data, lines: 0),
        ("nacre.tasks.store.log_reader.incomplete_suffix", lambda data: 0),
        ("nacre.tasks.store.status.is_id", lambda name: False),
    ],
    ids=["another command", "another size", "any number", "all lines", "half a character", "all broken"],
)
def test_fuzzer_detects_a_task_that_is_read_wrongly(
    name: str, planted: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name, planted)
    assert _is_found("tasks", 400)


@pytest.mark.parametrize("name", [*_SAY, "rules"])
def test_fuzzer_detects_a_setting_that_a_project_can_loosen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting alone: the target checks more than the list of allowed settings."""
    real = Layers._from_project

    def lenient(layers: Layers, key: Setting, value: Any, origin: Origin, *, opens: bool = False) -> None:
        if key.name == name or key.name.startswith(f"{name}."):
            layers._set(key, value, origin)
        else:
            real(layers, key, value, origin, opens=opens)

    monkeypatch.setattr(Layers, "_from_project", lenient)
    assert _is_found("config", 2_000)


def test_fuzzer_detects_a_project_that_asks_where_the_user_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Layers, "_refuse_to_ask", lambda layers: None)
    assert _is_found("config", 2_000)


def test_fuzzer_detects_project_rules_that_replace_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    def replace_entries(layers: Layers, key: Setting, value: Any, origin: Origin) -> None:
        entries = tuple(Entry(each, origin) for each in (value if key.is_list else (value,)))
        layers._entries[key.name] = entries

    monkeypatch.setattr(Layers, "_set", replace_entries)
    assert _is_found("config", 500)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("nice", OptionSpec()), ("timeout", OptionSpec()), ("sudo", OptionSpec()), ("nohup", OptionSpec(operands=99))],
    ids=["nice -n 5", "timeout 5", "sudo -u x", "nohup"],
)
def test_fuzzer_detects_a_wrapper_command_that_is_not_followed(
    name: str, shape: OptionSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_SIMPLE, name, shape)
    assert _is_found("rewriting", 5_000)


ALLOWED = Verdict(Decision.ALLOW)
ASKED, REFUSED = (
    Verdict(decision, (Finding("some-rule", decision, 0, 0, "it", "is so", ""),))
    for decision in (Decision.ASK, Decision.REFUSE)
)


@pytest.mark.parametrize(
    ("name", "planted"),
    [
        ("nacre.hooks.handle.refusal", lambda reason: HookReply(0)),
        ("fuzz.files.answer", lambda payload: HookReply(0)),
        ("fuzz.files.answer", lambda payload: refusal("so")),
        ("nacre.hooks.handle.check_command", lambda heard, config: ALLOWED),
        ("nacre.hooks.handle.check_command", lambda heard, config: ASKED),
        ("nacre.hooks.handle.check_command", lambda heard, config: REFUSED),
        ("nacre.hooks.handle.refusal", lambda reason: HookReply(1, err="so")),
        ("nacre.hooks.handle._reject_duplicates", dict),
        ("nacre.hooks.agents.claude_code._SHELLS", ("Bash",)),
        ("nacre.hooks.agents.claude_code._ASKS", ("default", "bypassPermissions", "auto", "dontAsk")),
        ("nacre.hooks.agents.gemini._join_directory", lambda place, below: place),
    ],
    ids=[
        "what cannot be read", "all pass", "none pass", "all allowed", "all asked", "all refused", "another code",
        "the last of two", "a tool is forgotten", "nobody is asked", "another directory",
    ],
)  # fmt: skip
def test_fuzzer_detects_a_hook_with_a_wrong_answer(name: str, planted: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name, planted)
    assert _is_found("hook", 2_000)


@pytest.mark.parametrize(
    ("target", "verdict"),
    [("reading", ALLOWED), ("reading", ASKED), ("reading", REFUSED), ("guessing", ALLOWED), ("guessing", REFUSED)],
    ids=lambda each: each if isinstance(each, str) else each.decision.value,
)
def test_fuzzer_detects_a_verdict_that_is_always_the_same(
    target: str, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz.reading.check", lambda text, **_: verdict)
    assert _is_found(target, 50)


def test_fuzzer_detects_a_verdict_on_the_last_line_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.reading.check", lambda text, **named: check(text.rpartition("\n")[2], **named))
    assert _is_found("reading", 50)


def _without_the_last(script: Script) -> Script:
    del script.commands[-1:]
    return script


def _change_cwd(script: Script) -> Script:
    for command in script.commands:
        command.cwd = "/elsewhere"
    return script


@pytest.mark.parametrize("change", [_without_the_last, _change_cwd])
def test_fuzzer_detects_a_script_that_is_parsed_wrongly(
    change: Callable[[Script], Script], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz.running.read", lambda *given, **named: change(read(*given, **named)))
    assert _is_found("running", 50)


class _Broken:
    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed
        if seed is None:
            raise OSError("no such directory")

    def invent(self, seed: int) -> str:
        if seed == self._seed:
            raise ValueError("no idea")
        return "x"

    def wrong(self, case: str) -> str:
        return ""

    def close(self) -> None:
        pass


def test_fuzz_target_that_cannot_be_created_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.wire.Wire", _Broken)
    (failure,) = attack("wire", 7, 3)
    assert (failure.seed, failure.case) == (7, "")
    assert "OSError: no such directory" in failure.wrong


def test_fuzz_case_that_cannot_be_invented_is_a_failure_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.wire.Wire", lambda: _Broken(8))
    (failure,) = attack("wire", 7, 3)
    assert (failure.seed, failure.case) == (8, "")
    assert "ValueError: no idea" in failure.wrong


def test_guessed_fuzz_cases_are_diverse_and_not_trivial() -> None:
    target = TARGETS["guessing"].load_target()
    texts = [target.invent(seed) for seed in range(300)]
    assert len({*texts[:50]}) == 50
    assert len({*texts}) > 290
    assert min(map(len, texts)) > 4
    assert max(map(len, texts)) > 2_000


class _Clock:
    """A clock that advances only by checks: 0.3 s for the simplest commands, and 6 s for all others."""

    def __init__(self) -> None:
        self._now = 0.0

    def process_time(self) -> float:
        return self._now

    def check(self, text: str, **_: object) -> Verdict:
        plain = text.startswith("echo a; echo")
        self._now += 0.3 if plain else 6.0
        return Verdict(Decision.ALLOW)


@pytest.mark.parametrize(("piece", "found"), [("\\\n", True), ("x=1 ", True), ("a)v=1;&", True), ("echo a; ", False)])
def test_fuzzer_detects_text_that_takes_too_long_for_its_size(
    piece: str, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = _Clock()
    for module in ("reading", "repeating"):
        monkeypatch.setattr(f"fuzz.{module}.time", clock)
        monkeypatch.setattr(f"fuzz.{module}.check", clock.check)
    case = json.dumps([("l" if found else "", 1), (piece, MAX_TEXT_CHARS // len(piece) - 1), ("s", 1)])
    assert bool(TARGETS["repeating"].load_target().wrong(case)) is found


def test_repeating_fuzz_cases_are_mostly_large_with_varied_surroundings() -> None:
    target = TARGETS["repeating"].load_target()
    cases = [json.loads(target.invent(seed)) for seed in range(300)]
    assert sum(len(join_pieces(case)) >= 90_000 for case in cases) > 150
    assert len({(case[0][0], case[-1][0]) for case in cases}) > 50

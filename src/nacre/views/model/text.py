"""Renders the text that a model reads about a Result. Pure: only `with_spill` opens files.

The text describes the end of the run unless it is plain success, then has the shaped output and nacre's notes. Notes
are distinguishable from output (`nacre.output.notes`), all text is masked and survives JSON, and the whole is within
the limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from nacre.ansi.decode import clean
from nacre.base.frozen import frozen, replace
from nacre.output.error_lines import excerpt
from nacre.output.markers import MAX_EXCERPT_CHARS, OmittedMiddle, quote_path
from nacre.output.notes import nacre_note
from nacre.output.shape import DecodedStream, ShapeOptions, decode_stream, shape
from nacre.output.tokens import quarter_tokens
from nacre.redact.mask import mask_note
from nacre.result import (
    Cancelled,
    Captured,
    Exited,
    Killed,
    Lost,
    NotStarted,
    OverLimit,
    Refused,
    Result,
    Running,
    Signalled,
    Spill,
    TimedOut,
)

MIN_LIMITS, MIN_LIMITS_SEPARATE = (1_000, 30, 250), (2_200, 50, 600)
"""Least characters, lines and tokens: half of them are for the output."""
_MAX_NOTE_CHARS = 600
"""Longest note."""
_SEARCHED_END_BYTES = 8 * 1024
"""Part of the beginning and of the end of the output that is searched for error messages."""
_RUNNING_NOTE_PREFIX = "It keeps running as task "


@frozen(kw_only=True)
class ModelOptions:
    """Limits and wording of the text."""

    output: ShapeOptions = ShapeOptions()
    """Limits for the whole text, including notes."""
    separate_streams: bool = False
    """True to show stdout and stderr separately instead of in order of arrival."""
    task_help: str = "TaskOutput reads it and waits for it, KillShell ends it"
    """How to handle a task, for callers that have other tools."""

    def __post_init__(self) -> None:
        chars, lines, tokens = MIN_LIMITS_SEPARATE if self.separate_streams else MIN_LIMITS
        asked = tokens if self.output.tokens is None else self.output.tokens
        if self.output.chars < chars or self.output.lines < lines or asked < tokens:
            raise ValueError(f"at least {chars} characters, {lines} lines and {tokens} tokens")


DEFAULT = ModelOptions()
_UNREADABLE_NOTE = (
    "commands cannot read what is left out: print less of it (grep, head, tail), or write it to a file first"
)


@frozen(kw_only=True)
class SpillInfo:
    """The spill as found on disk by a caller that has looked (`with_spill`), and the contents of the part that was
    dropped."""

    spill: Spill | None = None
    middle: OmittedMiddle | None = None


@frozen
class ModelText:
    """The rendered text, and whether it is complete."""

    text: str
    cut: bool = False
    """True if output is omitted, folded, or erased by its own control sequences, and cannot be known from the text."""
    readings: tuple[DecodedStream, ...] = ()
    """The decoded streams, for rendering the same result again."""


def model_text(
    result: Result, options: ModelOptions = DEFAULT, *, secrets: Iterable[str] = (), kept: SpillInfo | None = None
) -> str:
    """Return the text that a model reads. `secrets` are masked in addition to those of the result. Without `kept`, the
    result's spill is trusted unchecked."""
    return render_model_text(result, options, secrets=secrets, kept=kept).text


def render_model_text(
    result: Result,
    options: ModelOptions = DEFAULT,
    *,
    secrets: Iterable[str] = (),
    kept: SpillInfo | None = None,
    readings: tuple[DecodedStream, ...] = (),
) -> ModelText:
    """Return the text of `model_text`, and whether it is complete. `readings`: the streams decoded by an earlier
    rendering with the same middle."""
    secrets = (*secrets, *(() if result.redactor is None else result.redactor.values()))
    kept = SpillInfo(spill=result.spill) if kept is None else kept
    if secrets and kept.spill is not None:
        kept = replace(kept, spill=replace(kept.spill, path=mask_note(kept.spill.path, secrets)))
    if result.files_unreachable:
        kept = replace(kept, spill=None)
    silent = not result.both.total_bytes
    before = list(_ending(result, options, silent=silent))
    after = [note for note in result.notes if not is_redundant(note, result)]
    if result.task is not None and not isinstance(result.outcome, Running):
        after.append(f"{_task(result)}; {options.task_help}")
    body = _Body(result, options, secrets, kept, readings)
    lines = _Lines(options.output, secrets)
    first = [lines.add(text) for text in before]
    last = [lines.add(text) for text in after]
    where = [lines.add(text) for text in _where(result, kept, secrets)] if body.separate_streams else []
    where += [lines.add(_UNREADABLE_NOTE)] if result.files_unreachable else []
    output = [] if silent else [body.shape_within(lines.rest()) or nacre_note("nothing but white space")]
    last += where if body.cut else []
    text = "\n".join(part for part in (*first, *output, *last, *lines.left_out()) if part)
    return ModelText(text, body.cut, tuple(body.readings))


def _ending(result: Result, options: ModelOptions, *, silent: bool) -> Iterator[str]:
    words = describe_end(result, options)
    if silent and not isinstance(result.outcome, Refused | NotStarted | Running):
        yield f"{words}; no output" if words else "no output"
    elif words:
        yield words


def describe_end(result: Result, options: ModelOptions) -> str:
    """Describe how the run ended and what can be done; empty for plain success."""
    outcome = result.outcome
    match outcome:
        case Exited(0):
            return ""
        case Exited(code):
            from nacre.hints.exit_codes import explain  # loads the parser: for failed commands only

            known = explain(result.command, code, cwd=result.cwd, output=_decode_searched_parts(result.both))
            return f"exit {code}" + (f": {known.text}" if known else "")
        case Signalled(number):
            from nacre.hints.exit_codes import explain_signal

            more = explain_signal(number)
            return outcome.summary + (f": {more}" if more else "")
        case TimedOut():
            return (
                f"{outcome.summary} and was killed; for longer work set a longer timeout, or run it in the background"
            )
        case OverLimit() | Cancelled() | Killed() | Lost():
            return outcome.summary
        case Running(id, promoted):
            named = None if result.files_unreachable else result.task
            where = "" if named is None else f"; its output is in {named.output_file}"
            how = f"not ended after {result.duration:.3g} s: it keeps running" if promoted else "it runs"
            return f"{how} as task {id}{where}; {options.task_help}"
        case Refused(rule, reason, instead):
            said = f"not run, refused by {rule}: {reason}"
            return f"{said.rstrip('.')}. Instead: {instead}" if instead else said
        case NotStarted(_, hint):
            return f"{outcome.summary.rstrip('.')}. {hint}" if hint else outcome.summary
        case _:
            assert_never(outcome)


def _task(result: Result) -> str:
    assert result.task is not None
    where = "" if result.files_unreachable else f", which prints to {result.task.output_file}"
    return f"what it left running is task {result.task.id}{where}"


def is_redundant(note: str, result: Result) -> bool:
    """Return whether a note only says that the run continues as a task: the text names the task anyway."""
    return result.task is not None and note.startswith(f"{_RUNNING_NOTE_PREFIX}{result.task.id};")


def _where(result: Result, kept: SpillInfo, secrets: tuple[str, ...]) -> Iterator[str]:
    """Yield notes on the file, for streams that are shown separately: it has both in order of arrival, so its line
    numbers differ from theirs."""
    if kept.spill is None:
        return
    part = "" if kept.spill.complete else f"the first {kept.spill.bytes:,} bytes of "
    yield f"{part}all of the output, in order of arrival, is in {quote_path(kept.spill.path)}"
    if kept.middle is not None:
        before = result.both.head.count(b"\n")
        for error in kept.middle.masked_errors(secrets):
            yield f"its line {before + error.number} has an error: {excerpt(error.text, MAX_EXCERPT_CHARS)}"


def _decode_searched_parts(captured: Captured) -> str:
    parts = (
        captured.head[:_SEARCHED_END_BYTES],
        captured.head[-_SEARCHED_END_BYTES:],
        captured.tail[-_SEARCHED_END_BYTES:],
    )
    return "\n".join(part.decode("utf-8", "replace") for part in parts)


class _Lines:
    """nacre's own lines, limited to half of the text."""

    def __init__(self, limits: ShapeOptions, secrets: tuple[str, ...]) -> None:
        self._limits = limits
        self._secrets = secrets
        self._chars = limits.chars // 2 - 50
        self._lines = limits.lines // 2 - 1
        self._quarters = None if limits.tokens is None else limits.tokens * 2 - 50
        self._used = [0, 0, 0]
        self._refused = 0

    def add(self, text: str) -> str:
        """Return the line to write; empty if there is no room for it."""
        line = nacre_note(self._plain(text))
        cost = len(line) + 1, 1, quarter_tokens(line) + 1
        used = [each + more for each, more in zip(self._used, cost, strict=True)]
        if used[0] > self._chars or used[1] > self._lines or (self._quarters is not None and used[2] > self._quarters):
            self._refused += 1
            return ""
        self._used = used
        return line

    def _plain(self, text: str) -> str:
        """Put a note on one line, masked, and limit its length."""
        longest = min(_MAX_NOTE_CHARS, self._chars - 20)
        if self._quarters is not None:
            longest = min(longest, self._quarters // 8)
        more = "…" if len(text) > 8 * _MAX_NOTE_CHARS else ""
        text = " ".join(mask_note(clean(text[: 8 * _MAX_NOTE_CHARS]) + more, self._secrets).split())
        return text if len(text) <= longest else text[: longest - 1] + "…"

    def left_out(self) -> list[str]:
        """Return a line with the number of notes that were left out, if any."""
        return [nacre_note(f"{self._refused} more notes")] if self._refused else []

    def rest(self) -> ShapeOptions:
        """Return the limits that remain for the output."""
        limits = self._limits
        chars, lines, quarters = self._used
        more = 50 if self._refused else 0
        return replace(
            limits,
            chars=limits.chars - chars - more,
            lines=limits.lines - lines - bool(more),
            tokens=None if limits.tokens is None else limits.tokens - -(-(quarters + more) // 4),
        )


class _Body:
    """The output as the text shows it."""

    def __init__(
        self,
        result: Result,
        options: ModelOptions,
        secrets: tuple[str, ...],
        kept: SpillInfo,
        readings: tuple[DecodedStream, ...],
    ) -> None:
        self._result = result
        self.readings = list(readings)
        self.separate_streams = options.separate_streams and bool(result.err.total_bytes)
        self._secrets = secrets
        self._kept = kept
        self.cut = False

    def shape_within(self, limits: ShapeOptions) -> str:
        """Return the output within `limits`; empty if nothing in it is visible."""
        text = self._both(limits) if self.separate_streams else self._stream(self._result.both, limits, self._kept)
        return text if text.strip() else ""

    def _both(self, limits: ShapeOptions) -> str:
        result, head = self._result, nacre_note("stderr")
        spare = _less(limits, head)
        half = replace(
            spare,
            chars=max(500, spare.chars // 2),
            lines=max(10, spare.lines // 2),
            tokens=None if spare.tokens is None else max(125, spare.tokens // 2),
        )
        nothing = SpillInfo()
        err = self._stream(result.err, half, nothing)
        if not result.out.total_bytes:
            return f"{head}\n{err}"
        return f"{self._stream(result.out, _less(spare, err), nothing)}\n{head}\n{err}"

    def _stream(self, captured: Captured, limits: ShapeOptions, kept: SpillInfo) -> str:
        known = [reading for reading in self.readings if reading.captured is captured]
        if not known:
            known.append(decode_stream(captured, secrets=self._secrets, middle=kept.middle))
            self.readings += known
        shaped = shape(known[0], limits, spill=kept.spill)
        self.cut = self.cut or bool(shaped.omitted_bytes or shaped.similar or shaped.erased)
        return shaped.text


def _less(limits: ShapeOptions, text: str) -> ShapeOptions:
    """Return the limits that remain after `text`, but not less than the minimum."""
    return replace(
        limits,
        chars=max(500, limits.chars - len(text) - 1),
        lines=max(10, limits.lines - text.count("\n") - 1),
        tokens=None if limits.tokens is None else max(125, limits.tokens - -(-(quarter_tokens(text) + 1) // 4)),
    )

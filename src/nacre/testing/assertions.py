"""Assertions on the commands that a ScriptedBash was given. Their messages list what happened instead."""

from __future__ import annotations

from nacre.result import NotStarted, Refused
from nacre.testing.bash import RecordedCall, ScriptedBash
from nacre.testing.script import Matcher, describe_matcher, matches


def assert_ran(bash: ScriptedBash, *commands: Matcher, times: int | None = None) -> None:
    """Assert that these commands ran, in this order; others may have run between them. Without any: that some command
    ran.

    `times`: each ran exactly this number of times, in any order. A refused command did not run.
    """
    ran = [call for call in bash.calls if _ran(call)]
    if not commands and not ran:
        raise AssertionError(f"Nothing ran.{_commands_text(bash)}")
    if times is not None:
        for command in commands:
            found = sum(matches(command, call.request) for call in ran)
            if found != times:
                raise AssertionError(
                    f"{describe_matcher(command)} ran {_times_text(found)}, "
                    f"not {_times_text(times)}.{_commands_text(bash)}"
                )
        return
    place = 0
    for command in commands:
        later = [n for n, call in enumerate(ran[place:], place) if matches(command, call.request)]
        if not later:
            before = any(matches(command, call.request) for call in ran)
            problem = "did not run after what comes before it here" if before else "did not run"
            raise AssertionError(f"{describe_matcher(command)} {problem}.{_commands_text(bash)}")
        place = later[0] + 1


def assert_not_ran(bash: ScriptedBash, *commands: Matcher) -> None:
    """Assert that none of these commands ran; without any, that no command ran."""
    for call in bash.calls:
        if _ran(call) and (not commands or any(matches(command, call.request) for command in commands)):
            raise AssertionError(f"{call.request.command!r} ran.{_commands_text(bash)}")


def _ran(call: RecordedCall) -> bool:
    if call.result is None:
        return call.expected
    return not isinstance(call.result.outcome, Refused | NotStarted)


def _unexpected_text(call: RecordedCall) -> str:
    return "its end was not waited for" if call.expected else "unexpected"


def _times_text(times: int) -> str:
    return "once" if times == 1 else f"{times} times"


def _commands_text(bash: ScriptedBash) -> str:
    if not bash.calls:
        return " Nothing was asked for."
    rows = [
        f"  {call.request.command!r}: {call.result.summary if call.result else _unexpected_text(call)}"
        for call in bash.calls
    ]
    return "\n".join([" What was asked for:", *rows])

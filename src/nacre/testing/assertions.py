"""What was asked of a ScriptedBash, as assertions whose messages say what happened instead."""

from __future__ import annotations

from nacre.result import NotStarted, Refused
from nacre.testing.bash import RecordedCall, ScriptedBash
from nacre.testing.script import Matcher, describe_matcher, matches


def assert_ran(bash: ScriptedBash, *commands: Matcher, times: int | None = None) -> None:
    """These were run, in this order; others may have been run between them; without any, something was. `times`: each
    exactly so often, in any order. What was refused was not run."""
    ran = [asked for asked in bash.calls if _ran(asked)]
    if not commands and not ran:
        raise AssertionError(f"Nothing ran.{_commands_text(bash)}")
    if times is not None:
        for command in commands:
            found = sum(matches(command, asked.request) for asked in ran)
            if found != times:
                raise AssertionError(
                    f"{describe_matcher(command)} ran {_times_text(found)}, "
                    f"not {_times_text(times)}.{_commands_text(bash)}"
                )
        return
    place = 0
    for command in commands:
        later = [n for n, asked in enumerate(ran[place:], place) if matches(command, asked.request)]
        if not later:
            before = any(matches(command, asked.request) for asked in ran)
            problem = "did not run after what comes before it here" if before else "did not run"
            raise AssertionError(f"{describe_matcher(command)} {problem}.{_commands_text(bash)}")
        place = later[0] + 1


def assert_not_ran(bash: ScriptedBash, *commands: Matcher) -> None:
    """None of these was run; without any, nothing was."""
    for asked in bash.calls:
        if _ran(asked) and (not commands or any(matches(command, asked.request) for command in commands)):
            raise AssertionError(f"{asked.request.command!r} ran.{_commands_text(bash)}")


def _ran(asked: RecordedCall) -> bool:
    if asked.result is None:
        return asked.expected
    return not isinstance(asked.result.outcome, Refused | NotStarted)


def _unexpected_text(asked: RecordedCall) -> str:
    return "nobody has waited for its end" if asked.expected else "unexpected"


def _times_text(times: int) -> str:
    return "once" if times == 1 else f"{times} times"


def _commands_text(bash: ScriptedBash) -> str:
    if not bash.calls:
        return " Nothing was asked for."
    rows = [
        f"  {asked.request.command!r}: {asked.result.summary if asked.result else _unexpected_text(asked)}"
        for asked in bash.calls
    ]
    return "\n".join([" What was asked for:", *rows])

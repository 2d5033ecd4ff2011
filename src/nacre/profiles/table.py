"""Compare profiles in a table of words. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from math import isinf
from typing import assert_never

from nacre.base.units import describe_size
from nacre.policy.policy import Policy
from nacre.profiles.answer_format import AnswerFormat, Combined, Fields, Report, SeparateStreams, Summary, Text
from nacre.profiles.profile import Profile
from nacre.profiles.tool import Parameter
from nacre.verdict import Decision

NONE = "–"


def table(profiles: Iterable[Profile]) -> list[list[str]]:
    """Return rows of cells: first the names, then one row per property, with its label first."""
    known = list(profiles)
    told = [facts(profile) for profile in known]
    labels = list(told[0]) if told else []
    return [["", *(profile.name for profile in known)], *([label, *(each[label] for each in told)] for label in labels)]


def facts(profile: Profile) -> dict[str, str]:
    """Return all properties of one profile in words, by label."""
    tool = profile.tool
    return {
        "default timeout": _seconds(profile.timeout),
        "slow timeout": _seconds(profile.slow_timeout) if any(each.to == "mode" for each in tool.parameters) else NONE,
        "maximum": _seconds(profile.max_timeout),
        "unit of the parameter": _unit(tool.parameters),
        "when the time is up": _deadline(profile),
        "from TERM to KILL": _seconds(profile.grace),
        "jobs left running": _LEFTOVERS[profile.leftovers],
        "streams": "one" if profile.merge else "two",
        "held of each stream": _size(profile.output),
        "spill file": _size(profile.spill),
        "log of a task": _size(profile.log) + (f", {profile.log_name}" if profile.log_name else ""),
        "access": profile.access,
        "rules": _rules(profile.policy),
        "answer": _view(profile.view),
        "tool": tool.name,
        "parameters": ", ".join(_parameter(each) for each in tool.parameters) or NONE,
    }


def _seconds(amount: float) -> str:
    """Format a timeout."""
    return "none" if isinf(amount) else f"{amount:g} s"


def _size(count: int) -> str:
    return describe_size(count, exact=True) if count else "none"


_LEFTOVERS = {
    "keep": "kept as a task",
    "end": "killed",
    "detach": "kept as a task, also beyond the program's end",
    "wait": "waited for",
}
_UNITS = {1.0: "seconds", 0.001: "milliseconds", 60.0: "minutes"}


def _unit(parameters: tuple[Parameter, ...]) -> str:
    """Return the unit of the timeout parameter."""
    named = [_UNITS.get(each.unit, f"{each.unit:g} s") for each in parameters if each.to == "timeout"]
    return named[0] if named else NONE


def _deadline(profile: Profile) -> str:
    if profile.on_timeout == "promote":
        return "keeps running as a task"
    return "a call: keeps running as a task; a run: killed" if profile.tool.deadline == "yield_after" else "killed"


def _rules(policy: Policy) -> str:
    own = {rule.id for rule in policy.custom_rules}
    others = {name: each for name, each in policy.decisions.items() if name != "*" and name not in own}
    parts = [f"{len(own)} of its own"] if own else []
    match policy.decisions.get("*"):
        case None:
            parts.append("nacre's" + (f" ({len(others)} changed)" if others else ""))
        case Decision.ALLOW:
            kept = sum(each is not Decision.ALLOW for each in others.values())
            parts += [*([f"{kept} of nacre's"] if kept else []), "the floor"]
        case everything:
            parts.append(f"nacre's, which all {everything.value}")
    rest = "" if policy.default_decision is Decision.ALLOW else f"; the rest: {policy.default_decision.value}"
    return ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + parts[-1] + rest


def _view(view: AnswerFormat) -> str:
    match view:
        case Text(chars=chars, lines=lines):
            return f"one text: {chars:,} characters, {lines:,} lines"
        case Fields(limit=limit):
            return f"an object: {limit:,} characters of each stream, the first and the last half of them"
        case Report(truncate_above=over, start=start, end=end, most=most):
            return (
                f"a labelled text: over {over:,} characters the first {start:,} and the last {end:,}; at most {most:,}"
            )
        case Combined(truncate_above=over, ends=ends):
            return f"one stream: over {_size(over)} the first and the last {_size(ends)}"
        case Summary(lines=lines, bytes=count, window=window):
            return f"a line, and up to {lines} lines and {_size(count)} of the end ({_size(window)} are looked at)"
        case SeparateStreams(limit=limit):
            return f"two streams: the first {_size(limit)} of each"
        case _:
            assert_never(view)


def _parameter(parameter: Parameter) -> str:
    return parameter.name if parameter.required else f"{parameter.name}?"

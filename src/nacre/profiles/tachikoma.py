"""tachikoma: separate streams of up to 10 MB each; two lists of refused patterns; no maximum timeout.

Built-in patterns are matched by the action that they name: `rm -rf /` in a commit message is harmless. Patterns that a
caller adds are matched as text.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from nacre.errors import InvalidPolicy
from nacre.policy.compat_rules import actions, removals
from nacre.policy.compat_rules.actions import action_rule, in_any_case
from nacre.policy.custom_rules import text_rule, texts_rule
from nacre.policy.policy import Policy
from nacre.policy.rule import Rule
from nacre.profiles.answer_format import SeparateStreams
from nacre.profiles.profile import Profile
from nacre.profiles.tool import Parameter, Tool
from nacre.types import MIB
from nacre.verdict import Decision

EMPTY = "Empty command"
BLOCKED_PATTERN = "Command contains blocked pattern: "
DANGEROUS = "Command appears to be dangerous"
MAX_OUTPUT = 10 * MIB
"""Default limit of each stream, in bytes."""


class BuiltinPattern(str):
    """A built-in pattern, matched by the action that it names. The same string from a caller is matched as text."""

    __slots__ = ()


BLOCKED = tuple(BuiltinPattern(text) for text in ("rm -rf /", ":(){ :|:& };:", "mkfs", "dd if=/dev/", "> /dev/sd"))


def tachikoma(*, block: Iterable[str] = (), literal: bool = False, max_output: int = MAX_OUTPUT) -> Profile:
    """Return the profile with a part of its configuration changed.

    `block`: more texts that no command may contain, in any case. `literal`: use the document's own rules: every pattern
    is matched as text anywhere in the command, case-sensitively, and dangerous commands are found by their text in any
    case. `max_output`: limit of each stream, in bytes. InvalidPolicy: `block` is not a list of strings.
    """
    added = texts(block, "block")
    return Profile(
        name="tachikoma",
        timeout=120.0,
        slow_timeout=120.0,
        max_timeout=inf,
        output=2 * max_output,  # half of it is for the beginning of the stream
        spill=0,
        policy=policy((*BLOCKED, *added), literal=literal),
        tool=TOOL,
        view=SeparateStreams(limit=max_output),
    )


def policy(blocked: Iterable[str], *, literal: bool = False) -> Policy:
    """Return the policy: these patterns, then the rules against dangerous commands. The first that applies is named."""
    rules = [_block_rule(f"blocked-{place}", pattern, literal) for place, pattern in enumerate(blocked, 1)]
    return Policy(
        decisions={"*": Decision.ALLOW}, custom_rules=(*rules, *(_dangerous_texts() if literal else _dangerous()))
    )


def texts(given: Iterable[str], name: str) -> tuple[str, ...]:
    """Return several strings as a tuple. InvalidPolicy: a single string, which would be split into characters."""
    found = () if isinstance(given, str) else tuple(given)
    if isinstance(given, str) or not all(isinstance(each, str) for each in found):
        raise InvalidPolicy(f"{name}={given!r} is not a list of strings. Write: {name}=['git push']")
    return found


def _block_rule(id: str, pattern: str, literal: bool) -> Rule:
    words = f"{BLOCKED_PATTERN}{pattern}"
    if literal or not isinstance(pattern, BuiltinPattern):
        return text_rule(id, pattern, lower=not literal, wording=words)
    match pattern:
        case "rm -rf /":
            return action_rule(id, words, in_any_case(removals.removes_system))
        case ":(){ :|:& };:":
            return action_rule(id, words, actions.forks_without_end, match_script=actions.fork_bombs)
        case "mkfs":
            return action_rule(id, words, in_any_case(actions.makes_filesystem))
        case "dd if=/dev/":
            return action_rule(id, words, in_any_case(actions.copies("/dev/")))
        case "> /dev/sd":
            return action_rule(id, words, in_any_case(actions.fills("/dev/sd")))
        case _:
            raise InvalidPolicy(f"Unknown blocked pattern: {pattern!r}.")


def _dangerous() -> tuple[Rule, ...]:
    loudly = actions.in_capitals(actions.runs_decoded, actions.pipes_base64, "base64", "sh")
    return (
        action_rule("dangerous-rm", DANGEROUS, in_any_case(removals.removes_system)),
        action_rule("dangerous-dd", DANGEROUS, in_any_case(actions.copies_device)),
        action_rule("dangerous-nc", DANGEROUS, in_any_case(actions.serves_program), match_script=actions.serves_shell),
        action_rule("dangerous-base64", DANGEROUS, actions.runs_decoded, match_script=actions.pipes_base64),
        action_rule("dangerous-base64-capitals", DANGEROUS, match_script=loudly),
    )


def _dangerous_texts() -> tuple[Rule, ...]:
    pieces = {
        "dangerous-rm": ("rm", "-rf", "/"),
        "dangerous-dd": ("dd", "if=", "/dev/"),
        "dangerous-nc": ("nc", "-e", "/bin/"),
        "dangerous-ncat": ("ncat", "-e", "/bin/"),
        "dangerous-base64": ("base64", "|bash"),
        "dangerous-base64-spaced": ("base64", "| bash"),
    }
    return tuple(texts_rule(id, *each, wording=DANGEROUS) for id, each in pieces.items())


TOOL = Tool(
    name="bash",
    description=(
        "Run a command with bash, in a fresh shell: `cd` and variables do not carry over to the next call. stdin is "
        "empty and there is no terminal. The answer has the exit code (-1 when a signal or the timeout ended it), "
        "stdout and stderr separately. Commands that would erase the machine, open it to others, or hide what they "
        "run are refused."
    ),
    parameters=(
        Parameter(name="command", kind="string", to="command", required=True, description="Shell text."),
        Parameter(
            name="working_dir",
            kind="string",
            to="cwd",
            description="Where to run it; relative to the working directory, which is the default.",
        ),
        Parameter(name="env", kind="strings", to="env", description="Variables to set."),
        Parameter(
            name="timeout",
            kind="number",
            to="timeout",
            minimum=0.001,
            default=120,
            null_is_unlimited=True,
            description="Seconds after which it is killed; null for no limit.",
        ),
    ),
    names_directory=True,
    lenient=True,
    strict=True,
    empty=(EMPTY, ""),
    error_text="Error: ",
)

TACHIKOMA = tachikoma()

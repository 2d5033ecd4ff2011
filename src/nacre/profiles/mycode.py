"""mycode, proposal 0028: milliseconds, an object as answer, blocked patterns matched by the action that they name.

`MYCODE` has the proposal's default configuration; `mycode(defaultTimeout=…)` changes a part of it, under the proposal's
names. InvalidRequest: an unknown name or an invalid value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypedDict, Unpack, cast

from nacre.base.preview import preview
from nacre.base.suggest import did_you_mean
from nacre.errors import InvalidRequest
from nacre.policy.compat_rules import actions, removals
from nacre.policy.compat_rules.actions import action_rule
from nacre.policy.custom_rules import text_rule
from nacre.policy.policy import Policy
from nacre.policy.rule import Rule
from nacre.profiles.answer_format import Fields
from nacre.profiles.profile import READING, Profile
from nacre.profiles.tool import Parameter, Tool
from nacre.types import GIB, KIB, MIB, Limits
from nacre.verdict import Decision

MAX_TIMEOUT_MS = 600_000
"""Longest timeout of a call, in milliseconds."""
LIMITS = Limits(memory=16 * GIB, cpu=24 * 3600, processes=4096)
"""More than a build needs, less than a machine has: they stop runaway commands."""
_MAX_PRINTED_NUMBER = 10**12
_MAX_STREAM_CHARS = 64 * MIB
"""Largest `maxOutputSize`, in characters."""
_MAX_BYTES_PER_CHAR = 4
"""Longest character in UTF-8."""


class MycodeConfig(TypedDict, total=False):
    """Any part of the proposal's BashConfig."""

    defaultTimeout: float
    """Milliseconds, like `maxTimeout`."""
    maxTimeout: float
    maxOutputSize: int
    """Characters of each stream."""
    blockedCommands: Sequence[str]
    """Texts that no command may contain, instead of the proposal's four."""
    requireDescription: bool
    sandboxMode: bool | Literal["container"]
    """True: the kernel lets commands write only in their working directory, and denies them the network. "container":
    they run in a container, or not at all: `Bash(…, engine=Containers(IMAGE))`.
    """


DEFAULT_CONFIG: Mapping[str, Any] = MappingProxyType(
    {
        "defaultTimeout": 120_000,
        "maxTimeout": MAX_TIMEOUT_MS,
        "maxOutputSize": 30_000,
        "blockedCommands": ("rm -rf /", "mkfs", "dd if=/dev/zero", ":(){:|:&};:"),
        "requireDescription": False,
        "sandboxMode": False,
    }
)


def mycode(*, literal: bool = False, **config: Unpack[MycodeConfig]) -> Profile:
    """Return the profile with a part of its configuration changed.

    `literal`: refuse commands whose text matches the proposal's patterns, in quotes and comments too, instead of
    commands that would do what the patterns name. InvalidRequest: an unknown name or an invalid value.
    """
    for name, value in config.items():
        _check(name, value)
    settings = cast("MycodeConfig", {**DEFAULT_CONFIG, **config})
    longest, characters = settings["maxTimeout"], settings["maxOutputSize"]
    usual = min(settings["defaultTimeout"], longest)
    return Profile(
        name="mycode",
        timeout=usual / 1000,
        slow_timeout=longest / 1000,
        max_timeout=longest / 1000,
        access="workspace" if settings["sandboxMode"] else "unrestricted",
        container=settings["sandboxMode"] == "container",
        output=max(MIB, _MAX_BYTES_PER_CHAR * characters + 64 * KIB),
        log_name="mycode-{id}.log",
        limits={"unrestricted": LIMITS, "workspace": LIMITS, "restricted": READING},
        policy=_policy(tuple(settings["blockedCommands"]), literal=literal),
        tool=_tool(usual, longest, described=settings["requireDescription"]),
        view=Fields(limit=characters),
    )


def _check(name: str, value: object) -> None:
    match name:
        case "defaultTimeout" | "maxTimeout":
            good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MAX_PRINTED_NUMBER
            hint = "Give milliseconds above 0."
        case "maxOutputSize":
            good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_STREAM_CHARS
            hint = "Give a number of characters."
        case "blockedCommands":
            good = isinstance(value, list | tuple) and all(isinstance(each, str) and each for each in value)
            hint = "Give a list of texts, none of them empty."
        case "requireDescription":
            good, hint = isinstance(value, bool), "Use True or False."
        case "sandboxMode":
            good = isinstance(value, bool) or value == "container"
            hint = "Use True, False or 'container'."
        case _:
            raise InvalidRequest(
                "unknown_setting",
                f"There is no setting {name!r}.",
                field=name,
                hint=did_you_mean(name, DEFAULT_CONFIG, f"Use: {', '.join(DEFAULT_CONFIG)}."),
            )
    if not good:
        raise InvalidRequest("bad_setting", f"`{name}` is {preview(value)}.", field=name, hint=hint)


_PATHS = "name the exact paths that have to go"
_ROOT, _DISK, _MODE = "Recursive delete from root", "Writing to block device", "Insecure permissions"
_FILESYSTEM, _DD, _ETC = "Making a filesystem", "Writing to a device with dd", "Writing to /etc"
_DOWNLOAD = "Piping a download to a shell"
_FILE = "write to a file in the project"


def _policy(blocked: tuple[str, ...], *, literal: bool) -> Policy:
    """Build the policy, with the rules in the proposal's order: the message is that of the first one that applies."""
    usual = blocked == DEFAULT_CONFIG["blockedCommands"] and not literal
    listed = _blocked_actions(blocked) if usual else _blocked_texts(blocked)
    return Policy(decisions={"*": Decision.ALLOW}, custom_rules=(*listed, *(_texts() if literal else _action_rules())))


def _blocked_message(pattern: str) -> str:
    return f"Command contains blocked pattern: {pattern}"


def _blocked_texts(patterns: tuple[str, ...]) -> list[Rule]:
    return [
        text_rule(f"mycode-blocked-{n}", each, wording=_blocked_message(each)) for n, each in enumerate(patterns, 1)
    ]


def _blocked_actions(patterns: tuple[str, ...]) -> list[Rule]:
    root, filesystem, zero, bomb = patterns
    removal = actions.in_text_with(root, removals.removes_system)
    return [
        action_rule("mycode-blocked-rm", _blocked_message(root), match_script=removal, instead=_PATHS),
        action_rule(
            "mycode-blocked-mkfs",
            _blocked_message(filesystem),
            actions.makes_filesystem,
            instead="let the user format it",
        ),
        action_rule(
            "mycode-blocked-dd", _blocked_message(zero), actions.copies("/dev/zero"), instead="`truncate -s SIZE FILE`"
        ),
        action_rule(
            "mycode-blocked-bomb",
            _blocked_message(bomb),
            actions.forks_without_end,
            match_script=actions.fork_bombs,
            instead="a loop with a fixed number of rounds",
        ),
    ]


def _action_rules() -> list[Rule]:
    """Return rules for the three dangerous patterns, and the five of SAFETY_PATTERNS."""
    download = "save it to a file, read it, then ask the user to have it run"
    return [
        action_rule("mycode-root", _ROOT, removals.removes_system, instead=_PATHS),
        action_rule("mycode-disk", _DISK, actions.except_program("dd", actions.writes_disk), instead=_FILE),
        action_rule("mycode-permissions", _MODE, actions.opens_to_all, instead="give each file the mode that it needs"),
        action_rule("mycode-filesystem", _FILESYSTEM, actions.makes_filesystem, instead="let the user format it"),
        action_rule("mycode-dd", _DD, actions.copies(target="/dev/"), instead=_FILE),
        action_rule("mycode-etc", _ETC, actions.redirects_to("/etc"), instead=_FILE),
        action_rule(
            "mycode-download", _DOWNLOAD, actions.runs_download, match_script=actions.pipes_download, instead=download
        ),
    ]


_S = "[\\t\\n\\v\\f\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]"
"""The characters that `\\s` matches in the proposal's language."""
_ENDS = "\n\r\u2028\u2029"
"""The characters that `.` does not match there."""


def _texts() -> list[Rule]:
    """Return rules with the proposal's own patterns. A rule with two pieces has `.*` between them in the proposal."""
    return [
        text_rule("mycode-root", f"rm{_S}+-rf{_S}+/", regex=True, wording=_ROOT),
        text_rule("mycode-disk", f">{_S}*/dev/sd", regex=True, wording=_DISK),
        text_rule("mycode-permissions", f"chmod{_S}+-R{_S}+777", regex=True, wording=_MODE),
        text_rule("mycode-filesystem", "mkfs", wording=_FILESYSTEM),
        text_rule("mycode-dd", f"dd{_S}+if=", "of=/dev", regex=True, ends=_ENDS, wording=_DD),
        text_rule("mycode-etc", f">{_S}*/etc", regex=True, wording=_ETC),
        text_rule("mycode-download", "curl", rf"\|{_S}*bash", regex=True, ends=_ENDS, wording=_DOWNLOAD),
    ]


def _tool(usual: float, longest: float, *, described: bool) -> Tool:
    wanted = "required" if described else "recommended"
    return Tool(
        name="Bash",
        description=_DESCRIPTION.format(wanted=wanted, usual=usual, longest=min(longest, MAX_TIMEOUT_MS)),
        untimed_tasks=True,
        parameters=(
            Parameter(name="command", kind="string", to="command", required=True, description="The command to run"),
            Parameter(
                name="description",
                kind="string",
                to="description",
                required=described,
                description="What the command does, in a few words",
            ),
            Parameter(
                name="timeout",
                kind="number",
                to="timeout",
                minimum=0,
                maximum=MAX_TIMEOUT_MS,
                unit=0.001,
                zero_is_default=True,
                description=f"Milliseconds after which it is ended; without it, or with 0, {usual:.15g}",
            ),
            Parameter(
                name="run_in_background",
                kind="boolean",
                to="background",
                description="Do not wait for it: the answer has a task_id and an output_file",
            ),
            Parameter(name="cwd", kind="string", to="cwd", description="Directory to run it in"),
            Parameter(name="env", kind="strings", to="env", description="Variables to set besides the inherited ones"),
        ),
    )


_DESCRIPTION = """\
Run a shell command with bash and get an object with its output, exit code and duration.

Parameters:
- command: the command to run (required)
- description: what it does, in a few words ({wanted})
- timeout: milliseconds until it is ended (default: {usual:.15g}, max: {longest:.15g})
- run_in_background: true to go on without waiting; the answer has a task_id
- cwd: another working directory for this command
- env: variables to set for this command

Best practices:
- Put quotes around paths that hold blanks
- Prefer absolute paths to `cd`: each command starts in a fresh shell
- Join commands that depend on each other with &&, and those that do not with ;
- Where there is a tool for reading or searching files, use it instead of find, grep, cat, head or tail

Start what takes long with run_in_background: true, and read its results with the TaskOutput tool.
"""

MYCODE = mycode()

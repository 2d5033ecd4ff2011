"""tunacode: timeouts of 1 to 300 seconds, one labelled text, restricted characters, commands that delete trees refused.

`tunacode()` returns a configured profile; `TUNACODE` is the default one.
"""

from __future__ import annotations

import math

from nacre.policy.compat_rules import actions, removals
from nacre.policy.compat_rules.actions import action_rule
from nacre.policy.custom_rules import text_rule
from nacre.policy.policy import Policy
from nacre.policy.rule import Rule
from nacre.profiles.answer_format import Report
from nacre.profiles.profile import Profile
from nacre.profiles.tool import Parameter, Tool
from nacre.verdict import Decision

DESTRUCTIVE_PATTERNS = ("rm -rf", "rm -r", "rm /", "dd if=", "mkfs", "fdisk")
DANGEROUS_PATTERNS = (
    r"rm\s+-rf\s+/",
    r"sudo\s+rm",
    r">\s*/dev/sd[a-z]",
    r"dd\s+.*of=/dev/",
    r"mkfs\.",
    r"fdisk",
    r":\(\)\{.*\}\;",
)
INJECTION_PATTERNS = (r";\s*rm\b", r"&&\s*rm\b", r"\$\(.*\brm\b", r"`.*\brm\b")
"""Patterns that the document only describes in words."""

STANDARD = Report(truncate_above=3500, start=2500, end=1000, most=5000, longest=300)
LOCAL = Report(truncate_above=1050, start=750, end=300, most=1500, longest=300)
"""Limits in the same proportions, for models with a small context."""


def tunacode(*, local_mode: bool = False, strict_characters: bool = True, literal: bool = False) -> Profile:
    """Return the profile with a part of its configuration changed.

    `local_mode`: shorter answers. `strict_characters`: no `;`, `&` or backquotes, and `$` and braces only in `$VAR` and
    `${VAR}`. `literal`: match the patterns in the command's text, in quotes and comments too.
    """
    decisions = {"*": Decision.ALLOW}
    if strict_characters:
        decisions["restricted-characters"] = Decision.REFUSE
    if not literal:  # the same actions by other commands: `tee /dev/sda`, `mke2fs`, `perl -e 'fork while fork'`
        decisions |= dict.fromkeys(("disk-write", "disk-format", "fork-bomb"), Decision.REFUSE)
    return Profile(
        name="tunacode",
        timeout=30.0,
        slow_timeout=300.0,
        max_timeout=math.inf,
        grace=5.0,
        policy=Policy(decisions=decisions, custom_rules=_text_rules() if literal else _action_rules()),
        tool=Tool(
            name="bash",
            description=_DESCRIPTION + (_ONE_BY_ONE if strict_characters else "") + _REFUSED,
            parameters=_PARAMETERS,
            lenient=True,
            strict=True,
            error_text="Invalid argument. ",
        ),
        view=LOCAL if local_mode else STANDARD,
    )


_DESCRIPTION = (
    "Run a shell command with bash and wait for its end. Each call has a fresh shell: `cd` and variables do not carry "
    "over. There is no terminal and stdin is empty, so pass answers by flags. The answer has the exit code, the "
    "working directory, stdout and stderr; a long one is cut in the middle."
)
_ONE_BY_ONE = (
    " One simple command at a time, or a pipeline: `;`, `&` (so `&&` and `2>&1`, too) and backquotes are refused, "
    "quoted or not, and so are `$` and braces except in `$VAR` and `${VAR}`."
)
_REFUSED = " Recursive deletes, `sudo rm`, `dd if=`, and whatever formats, divides or overwrites disks are refused."

_PARAMETERS = (
    Parameter(name="command", kind="string", to="command", required=True, description="The bash command to execute."),
    Parameter(
        name="cwd",
        kind="string",
        to="cwd",
        nullable=True,
        description="Working directory for the command; without it the current one.",
    ),
    Parameter(name="env", kind="strings", to="env", nullable=True, description="Additional environment variables."),
    Parameter(
        name="timeout",
        kind="integer",
        to="timeout",
        default=30,
        minimum=1,
        maximum=300,
        null_is_unlimited=True,
        description="Seconds until it is killed, from 1 to 300; null for no limit.",
    ),
    Parameter(
        name="capture_output",
        kind="boolean",
        to="capture",
        default=True,
        description="false lets the output through to the user's screen, and the answer has none of it.",
    ),
)

_BY_NAME = "delete single files by name (`rm FILE`), or ask the user to do it"
_ASK = "ask the user to do it"
_ALONE = "run `rm FILE` in a call of its own"


def _action_rules() -> tuple[Rule, ...]:
    """Return rules that match what a command would do; the first that applies is named."""
    tree, disk = "it deletes a directory with all that is in it", "it overwrites a device"
    return (
        action_rule(
            "tunacode-rm-root", _dangerous("rm -rf /", "it deletes everything"), removals.removes_root, instead=_BY_NAME
        ),
        action_rule(
            "tunacode-sudo-rm", _dangerous("sudo rm", "it deletes as root"), removals.removes_as_root, instead=_ASK
        ),
        action_rule("tunacode-rm-rf", _destructive("rm -rf", tree), removals.removes_by_force, instead=_BY_NAME),
        action_rule("tunacode-rm-r", _destructive("rm -r", tree), removals.removes_tree, instead=_BY_NAME),
        action_rule(
            "tunacode-rm-absolute",
            _destructive("rm /", "it deletes outside the working directory"),
            removals.removes_outside("/tmp/", "/var/tmp/"),
            instead="delete files in the working directory only, or ask the user to do it",
        ),
        action_rule(
            "tunacode-dd-device", _dangerous("dd of=/dev/", disk), actions.copies(target="/dev/"), instead=_ASK
        ),
        action_rule(
            "tunacode-dd", _destructive("dd if=", "it copies raw data"), actions.copies(), instead="`cp` or `head -c`"
        ),
        action_rule("tunacode-mkfs", _destructive("mkfs", "it formats a disk"), actions.makes_filesystem, instead=_ASK),
        action_rule(
            "tunacode-fdisk",
            _destructive("fdisk", "it divides a disk"),
            actions.partitions,
            instead="`lsblk` lists them",
        ),
        action_rule("tunacode-disk", _dangerous("> /dev/sd[a-z]", disk), actions.redirects_to("/dev/sd"), instead=_ASK),
        action_rule(
            "tunacode-fork-bomb",
            _dangerous(":(){ :|:& };:", "a fork bomb, which starts copies of itself without end"),
            match_script=actions.fork_bombs,
            instead="a loop with a known number of rounds",
        ),
        action_rule(
            "tunacode-inject-semicolon", _injection_message("; rm"), actions.chained_to("rm", ";"), instead=_ALONE
        ),
        action_rule("tunacode-inject-and", _injection_message("&& rm"), actions.chained_to("rm", "&&"), instead=_ALONE),
        action_rule(
            "tunacode-inject-substitution",
            _injection_message("$(rm)"),
            match_script=actions.inside_substitution("rm"),
            instead=_ALONE,
        ),
    )


def _destructive(pattern: str, why: str) -> str:
    return f"destructive pattern '{pattern}' ({why})"


def _dangerous(pattern: str, why: str) -> str:
    return f"dangerous pattern '{pattern}' ({why})"


def _injection_message(pattern: str) -> str:
    return f"command injection pattern '{pattern}' (an `rm` that hangs on another command)"


def _text_rules() -> tuple[Rule, ...]:
    """Return rules that match the text alone.

    The pieces on both sides of `.*` are searched one after the other, so that no text takes long.
    """
    return (
        *(
            text_rule(f"tunacode-destructive-{number}", pattern, wording=f"destructive pattern '{pattern}'")
            for number, pattern in enumerate(DESTRUCTIVE_PATTERNS)
        ),
        *(
            text_rule(f"tunacode-{kind}-{number}", *pattern.split(".*"), regex=True, wording=f"{said} '{pattern}'")
            for kind, said, patterns in (
                ("dangerous", "dangerous pattern", DANGEROUS_PATTERNS),
                ("injection", "command injection pattern", INJECTION_PATTERNS),
            )
            for number, pattern in enumerate(patterns)
        ),
    )


TUNACODE = tunacode()

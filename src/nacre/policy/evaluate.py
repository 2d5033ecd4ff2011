"""Evaluate a script: every rule checks every command that it is about; the strictest decision wins. No I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.policy import DEFAULT, Policy
from nacre.policy.rule import (
    ANY_SCRIPT,
    DEVICES,
    FORK_BOMBS,
    GAVE_UP,
    NON_ASCII,
    RUNS_CODE,
    WRITES,
    CheckContext,
    Hit,
    Rule,
)
from nacre.policy.rules import every_rule, rules_for, rules_for_texts
from nacre.shell import Command, Script
from nacre.shell.symbolic import has_glob, is_literal, may_equal, to_display
from nacre.verdict import ASKED_ID, DENIED_ID, Decision, Finding, Verdict

MAX_MESSAGE_CHARS = 300
"""Longest message; `MAX_COMMAND_CHARS`: longest command in it."""
MAX_COMMAND_CHARS = 90
_REPOSITORY_VARIABLE = lazy_regex("GIT_(?:DIR|WORK_TREE|COMMON_DIR|CONFIG)")
_REPOSITORY_OPTION = lazy_regex(r"--git-dir|--work-tree|core\.worktree", re.IGNORECASE)
_AROUND_WORDS = len("`` . Instead: ")


def evaluate(script: Script, context: CheckContext, policy: Policy = DEFAULT, *, want_harmless: bool = True) -> Verdict:
    """Return the verdict on a script. `want_harmless=False` skips deciding whether it is plain."""
    findings = [*_script_findings(script, context, policy), *_in_commands(script, context, policy)]
    stopped = _blocked_by_permission(script, policy) if policy.permissions else None
    if stopped is not None:
        findings.append(stopped)
    if len(findings) > 1:
        # custom rules with a fixed message come before nacre's own, in the order of the policy
        order = {
            rule.id: number - len(policy.custom_rules)
            for number, rule in enumerate(policy.custom_rules)
            if rule.exact_message
        }
        findings.sort(key=lambda each: (-each.decision.strictness, order.get(each.rule, 0), each.start))
    harmless = want_harmless and not findings and _is_harmless(script, policy)
    decision = findings[0].decision if findings else Decision.ALLOW if harmless else policy.default_decision
    unknown = tuple(to_display(what) for what in script.unknown)
    if decision is Decision.ASK and stopped is None and policy.permissions.allow:
        from nacre.policy.permissions.match import allowed_by

        answer = allowed_by(script, policy.permissions, cwd=context.cwd)
        if answer.decision is Decision.ALLOW:
            return Verdict(Decision.ALLOW, unknown=unknown, permitted=answer.rule)
    return Verdict(decision, tuple(findings), unknown, harmless)


def _blocked_by_permission(script: Script, policy: Policy) -> Finding | None:
    """Return the finding of a permission rule that denies or asks; None if no such rule matches."""
    from nacre.policy.permissions.match import blocked_by  # most policies have no permissions

    found = blocked_by(script, policy.permissions)
    if found.decision is None:
        return None
    command, denied = found.command, found.decision is Decision.REFUSE
    words = " ".join((to_display(script.text) if command is None else _words(command)).split())
    return Finding(
        rule=DENIED_ID if denied else ASKED_ID,
        decision=found.decision,
        start=0 if command is None else command.start,
        end=len(script.text) if command is None else command.end,
        words=words if len(words) <= MAX_COMMAND_CHARS else words[: MAX_COMMAND_CHARS - 1] + "…",
        reason=f"is {'denied' if denied else 'subject to approval'} by the permission rule `{found.rule}`",
        instead="do without it, or ask the user" if denied else "do without it, or let the user decide",
        via=() if command is None else command.via,
    )


def _is_harmless(script: Script, policy: Policy) -> bool:
    return _load_is_harmless()(script, policy.plain)


@cache
def _load_is_harmless() -> Callable[[Script, frozenset[str] | None], bool]:
    from nacre.policy.facts.harmless import is_harmless  # loaded late: not needed for every command

    return is_harmless


def _script_findings(script: Script, context: CheckContext, policy: Policy) -> list[Finding]:
    findings = []
    for rule in _text_rules(script, policy):
        if rule.match_script is not None and (found := rule.match_script(script, context)):
            start, end, said = found
            if _is_exempt(rule, said, None, script, policy):
                continue
            if finding := _finding(rule, said, start, end, to_display(script.text[start:end]), (), policy):
                findings.append(finding)
    return findings


def _in_commands(script: Script, context: CheckContext, policy: Policy) -> list[Finding]:
    findings, seen = [], set()
    for command in script.commands:
        if command.is_function_call:
            continue
        rules = rules_for(command.name)
        if command.redirects or command.script is not None or policy.custom_rules or not command.name.isascii():
            rules = _extra_rules(rules, command, policy)
        for rule in rules:
            met = None if rule.match is None else rule.match(command, context)
            if met is None or _is_exempt(rule, met, command, script, policy):
                continue
            # compare the words too: a command in a loop is several commands, and not all of them may be exempted
            words = met.words or _words(command)
            if (rule.id, command.start, command.end, words) in seen:
                continue
            seen.add((rule.id, command.start, command.end, words))
            if finding := _finding(rule, met, command.start, command.end, words, command.via, policy):
                findings.append(finding)
    return findings


def _text_rules(script: Script, policy: Policy) -> Collection[Rule]:
    """Return the rules on whole scripts that may match this one."""
    keys = {command.name for command in script.commands}
    if policy.decisions:
        keys.add(ANY_SCRIPT)  # all of them are optional: off unless a decision names them
    if not script.text.isascii():
        keys.add(NON_ASCII)
    if script.gave_up:
        keys.add(GAVE_UP)
    if script.fork_bombs or script.syntax_error or script.maybe_syntax_error:
        keys.add(FORK_BOMBS)
    if any(DEVICES in opened.target for command in script.commands for opened in command.redirects):
        keys.add(DEVICES)
    found = {rule.id: rule for key in keys for rule in rules_for_texts(key)}
    found.update({rule.id: rule for rule in policy.custom_rules if rule.match_script is not None})
    return found.values()


def _extra_rules(rules: tuple[Rule, ...], command: Command, policy: Policy) -> tuple[Rule, ...]:
    """Return the rules for the command's name, and those for its redirections, its code and the like."""
    if has_glob(command.name):
        rules += tuple(rule for rule in every_rule() if any(may_equal(command.name, name) for name in rule.commands))
    if command.script is not None or not is_literal(command.name):
        rules += rules_for(RUNS_CODE)
    if command.redirects and any(opened.writes for opened in command.redirects):
        known = {rule.id for rule in rules}  # comparing rules would compare all their examples
        rules += tuple([rule for rule in rules_for(WRITES) if rule.id not in known])
    if policy.custom_rules:
        rules += tuple(each for each in policy.custom_rules if not each.commands or command.runs(*each.commands))
    return rules


def _finding(
    rule: Rule, hit: Hit, start: int, end: int, words: str, via: tuple[str, ...], policy: Policy
) -> Finding | None:
    own = any(rule is each for each in policy.custom_rules)
    decision = Decision.ALLOW if rule.optional else rule.decision if own else policy.decisions.get("*", rule.decision)
    decision = rule.decision if rule.mandatory or hit.mandatory else policy.decisions.get(rule.id, decision)
    if decision is Decision.ALLOW:
        return None
    reason, instead = hit.reason or rule.reason, hit.instead or rule.instead
    room = max(20, min(MAX_COMMAND_CHARS, MAX_MESSAGE_CHARS - len(reason) - len(instead) - _AROUND_WORDS))
    words = " ".join((hit.words or words).split())
    if len(words) > room:
        words = words[: room - 1] + "…"
    return Finding(
        rule=rule.id,
        decision=decision,
        start=start,
        end=end,
        words=words,
        reason=reason,
        instead=instead,
        via=via,
        wording=hit.exact_message or rule.exact_message,
    )


def _words(command: Command) -> str:
    opened = [
        f"{each.descriptor}{each.operator} {to_display(each.target)}" for each in command.redirects if each.writes
    ]
    return " ".join((command.words, *opened)).strip()


def _is_exempt(rule: Rule, hit: Hit, command: Command | None, script: Script, policy: Policy) -> bool:
    """Return whether the policy exempts all places of a hit."""
    places = [exemption.path for exemption in policy.exemptions if exemption.rule == rule.id]
    if not places or rule.mandatory or hit.mandatory:
        return False
    if "**" in places:
        return True
    if command is None:
        return False
    git = command.cache.get("git")
    if git is not None and not hit.paths and _uses_other_repository(command, script):
        return False
    paths = hit.paths or (getattr(git, "cwd", command.cwd),)
    return all(is_literal(path) and any(re.fullmatch(_regex(place), path) for place in places) for path in paths)


def _uses_other_repository(command: Command, script: Script) -> bool:
    """Return whether git may use another repository than that of the directory in which it runs."""
    return (
        script.env_runs_code
        or _REPOSITORY_VARIABLE.search(script.text) is not None
        or any(_REPOSITORY_OPTION.match(word) for word in command.args)
    )


def _regex(path: str) -> str:
    return re.escape(path).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")

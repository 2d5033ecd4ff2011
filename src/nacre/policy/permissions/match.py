"""Apply permission rules to a script; return their decision and the rule that made it. No I/O.

Every command that would run is a part: those in compounds, substitutions and functions, those that wrappers run, and
those in scripts that a shell reads. If a rule denies a part, the script is denied; otherwise, if a rule asks about a
part, it asks. A script is allowed only if every part is (`nacre.policy.permissions.coverage`). Deny and ask rules match
a program at any path, behind any wrapper, in any quotes, through git's global options; they do not match what only
running the command would show.
"""

from __future__ import annotations

from collections.abc import Iterator

from nacre.base.frozen import frozen
from nacre.policy.permissions.command_words import matches, redirection_words
from nacre.policy.permissions.globs import matches_pieces
from nacre.policy.permissions.patterns import STAR, PermissionPattern, Permissions, pattern_of
from nacre.shell import Command, Script
from nacre.shell.option_tables import OPTION_SPECS
from nacre.shell.symbolic import has_glob, may_equal, with_unknowns_empty
from nacre.verdict import Decision


@frozen
class PermissionResult:
    """The decision of permission rules; `decision` is None if no rule applies."""

    decision: Decision | None = None
    rule: str = ""
    """The rule's source; for an allowed script, the first rule that was needed."""
    command: Command | None = None
    """The part that the rule matched; None for the whole script."""


NOTHING = PermissionResult()


def apply_permissions(script: Script, permissions: Permissions, *, cwd: str = "") -> PermissionResult:
    """Return the decision of all permission rules. `cwd`: the working directory; allow rules apply there and below."""
    stopped = blocked_by(script, permissions)
    if stopped.decision is not None or not permissions.allow:
        return stopped
    return allowed_by(script, permissions, cwd=cwd)


def blocked_by(script: Script, permissions: Permissions) -> PermissionResult:
    """Return the decision of deny and ask rules."""
    for rules, decision in ((permissions.deny, Decision.REFUSE), (permissions.ask, Decision.ASK)):
        patterns = [pattern for rule in rules if (pattern := pattern_of(rule)) is not None]
        if patterns and (found := _find_blocking(script, patterns)) is not None:
            return PermissionResult(decision, found[0].rule, found[1])
    return NOTHING


def allowed_by(script: Script, permissions: Permissions, *, cwd: str = "") -> PermissionResult:
    """Return the decision of allow rules."""
    from nacre.policy.permissions.coverage import covering_rule  # loaded late: needed only after an ask decision

    patterns = [pattern for rule in permissions.allow if (pattern := pattern_of(rule, stops=False)) is not None]
    rule = covering_rule(script, patterns, cwd) if patterns else None
    return NOTHING if rule is None else PermissionResult(Decision.ALLOW, rule.rule)


def _find_blocking(
    script: Script, patterns: list[PermissionPattern]
) -> tuple[PermissionPattern, Command | None] | None:
    about_words: dict[str, list[PermissionPattern]] = {}
    anywhere: list[PermissionPattern] = []
    for pattern in patterns:
        if pattern.everything:
            return pattern, None
        if pattern.text:
            if _is_among(pattern, script):
                return pattern, None
        elif pattern.named and ">" not in pattern.words[0]:
            about_words.setdefault(pattern.words[0].rpartition("/")[2], []).append(pattern)
        else:
            anywhere.append(pattern)
    for command in _read_and_run(script):
        near = about_words.get(command.name, [])
        if has_glob(command.name):
            near = [pattern for name, each in about_words.items() if may_equal(command.name, name) for pattern in each]
        elif command.assigned:
            near = [*near, *(each for name in command.assigned for each in _assignment_patterns(name, about_words))]
        for pattern in (*near, *anywhere):
            said = any(matches(pattern, words, command.home) for words in _spellings(command, pattern))
            if said or _has_its_options(command, pattern):
                return pattern, command
    return None


def _is_among(pattern: PermissionPattern, script: Script) -> bool:
    """Return whether a script contains the compound that a rule names, as text."""
    from nacre.policy.permissions.compounds import compounds

    texts = dict.fromkeys((script.text, *(each.script for each in script.commands if each.script is not None)))
    named = [pattern.text, pattern.text.removesuffix(f" {STAR}")]
    wholes = (" ".join(text.split()) for text in texts)
    runs = (run for text in texts for run in compounds(text, pattern.parts))
    return any(matches_pieces(each.split(STAR), text) for text in (*wholes, *runs) for each in named)


def _read_and_run(script: Script) -> Iterator[Command]:
    """Yield a script's commands, and the files that a shell would read, as if they were called by their names."""
    for command in script.commands:
        if command.is_function_call:
            continue
        yield command
        if words := _file_to_read(command):
            yield Command(words, command.start, command.end, cwd=command.cwd, home=command.home)


def _file_to_read(command: Command) -> tuple[str, ...]:
    if command.name in (".", "source"):
        return command.args
    if not command.name.endswith("sh"):
        return ()
    from nacre.shell.programs.shells import SHELLS, shell_options  # already loaded if one is in the script

    flags, _, rest = shell_options(command.argv) if command.name in SHELLS else ("c", [], ())
    return () if "c" in flags or "s" in flags else tuple(rest)


def _assignment_patterns(name: str, about: dict[str, list[PermissionPattern]]) -> Iterator[PermissionPattern]:
    for word, patterns in about.items():
        if word.startswith(f"{name}="):
            yield from patterns


def _spellings(command: Command, pattern: PermissionPattern) -> Iterator[tuple[str, ...]]:
    """Yield a command's words in all forms that a deny rule may mean."""
    words = tuple(_word_for_glob(word, pattern) for word in (command.name, *command.args))
    yield words
    if command.argv[:1] != words[:1]:
        yield command.argv
    if "/" in pattern.words[0] and pattern.words[0].endswith(f"/{command.name}"):
        yield (pattern.words[0], *words[1:])  # at another path
    yield tuple(" ".join(words).split())
    yield tuple(filter(None, map(with_unknowns_empty, words)))  # `git $OPTIONS push`
    if command.assigned:
        yield (*(f"{name}={value}" for name, value in command.assigned.items()), *words)
    if pattern.writes:
        for opened in (redirection_words(command), *_write_redirections(command)):
            yield (*words, *opened)
            yield opened
    if command.name == "git":
        from nacre.policy.rules.git._git import GitCall, git_call

        git_call(command)
        if isinstance(known := command.cache["git"], GitCall):
            yield ("git", known.sub, *known.args)
    if pattern.more:
        yield (command.name, *command.operands())
        yield (command.name, *_without_options(command))


def _has_its_options(command: Command, pattern: PermissionPattern) -> bool:
    """Match the options of a rule in any place and with any others: `rm -rf` also means `rm -r x -f`."""
    options = [word for word in pattern.words[1:] if word[:1] == "-"]
    if not options or not pattern.more or pattern.named < len(pattern.words) or "--" in options:
        return False
    operands = [word for word in pattern.words[1:] if word[:1] != "-"]
    if not any(list(given)[: len(operands)] == operands for given in (command.operands(), _without_options(command))):
        return False
    letters = [f"-{letter}" for word in options if word[1:2] != "-" and len(word) < 5 for letter in word[1:]]
    return all(map(command.has_flag, (*letters, *(word for word in options if word[1:2] == "-" or len(word) >= 5))))


def _without_options(command: Command) -> Iterator[str]:
    """Yield the words left when each option takes the next word as its value: `kubectl -n web delete pod`.

    Yields nothing for programs whose options are known: `operands` is better there.
    """
    if command.name in OPTION_SPECS or command.name == "git":
        return
    before = ""
    for word in command.args:
        if word[:1] != "-" and (before[:1] != "-" or "=" in before):
            yield word
        before = word


def _write_redirections(command: Command) -> Iterator[tuple[str, ...]]:
    """Yield each output redirection as a plain one: `2>>` writes just as `>` does."""
    for each in command.redirects:
        if each.writes:
            yield (">", each.target)


def _word_for_glob(word: str, pattern: PermissionPattern) -> str:
    """Return the word of the rule that a glob may match; any other word unchanged."""
    return next((name for name in pattern.words if may_equal(word, name)), word) if has_glob(word) else word

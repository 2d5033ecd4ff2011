"""Decide whether a script is provably plain. Other modules decide whether it is dangerous: the rules.

A plain script assigns, writes and runs nothing but commands of a list, by their bare names, with options known only to
read; a person can see that from the text. Nothing in it is expanded, except for the globs of a command that only reads
whatever its options are: a file may be named `-delete`. Everything else, however harmless, is not plain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.command import Script
from nacre.shell.syntax.nodes import Block, Literal, Node, Pipeline, Redirect, SimpleCommand, Word

_BRACE_OR_TILDE = lazy_regex(r"\{|(?:^|[=:])~")
_GLOB = lazy_regex(r"[*?\[]")
_SED_SCRIPT = lazy_regex(
    r"(?:\d+|\$|/[^/\\\n]*/)?(?:,(?:\d+|\$|/[^/\\\n]*/))?\s*!?(?:[pdq=]|s/[^/\\\n]*/[^/\\\n]*/[gpI\d]*)"
    r"(?:\s*;\s*(?:\d+|\$)?[pdq=])*"
)
_FIND_ACTS = lazy_regex(r"-(?:exec|ok|delete|fprint|fls|files0-from)")
_GIT_READS = frozenset("rev-parse ls-files shortlog log branch tag remote".split())
_GIT_LISTS = {
    "branch": frozenset("-a -r -v -vv --list --all --remotes --show-current --merged --no-merged".split()),
    "tag": frozenset(["-l", "--list", "-n"]),
    "remote": frozenset(["-v", "--verbose"]),
}
_GIT_LOG = lazy_regex(
    r"-n|-\d+|--oneline|--graph|--all|--decorate(?:=\w+)?|--max-count=\d+|--(?:author|since|until|after|before|grep)=[^\0]*|"
    r"--format=(?!.*%G)[^\0]*|--pretty(?:=(?!.*%G)[^\0]*)?|--reverse|--merges|--no-merges|--first-parent|--abbrev-commit|--date=\w+|"
    r"-s|-sn|-sne|-e|--show-toplevel|--abbrev-ref|--verify|--short|--git-dir|--is-inside-work-tree|--cached|--tags"
)


def is_harmless(script: Script, names: frozenset[str] | None = None) -> bool:
    """Return whether a script is plain. `names`: the commands that may be (None: `COMMANDS`)."""
    if script.syntax_error or script.gave_up or script.env_runs_code or script.block is None:
        return False
    return _block(script.block, COMMANDS if names is None else names)


def _block(block: Block, names: frozenset[str]) -> bool:
    return bool(block.statements) and all(not item.background and _node(item.node, names) for item in block.items)


def _node(node: Node, names: frozenset[str]) -> bool:
    if not all(_quiet(redirect) for redirect in node.redirects):
        return False
    if isinstance(node, Pipeline):
        return all(_node(stage, names) for stage in node.stages)
    if not isinstance(node, SimpleCommand) or node.assignments:
        return False
    name = node.name
    if name is None or name not in names or (name != "[" and _GLOB.search(name)):
        return False
    guard = GUARDS.get(name)
    argv = _argv(node, globs=guard is None)
    return argv is not None and (guard is None or guard(argv[1:]))


def _argv(node: SimpleCommand, *, globs: bool) -> list[str] | None:
    if node.argv is not None:
        return list(node.argv)
    argv = []
    for word in node.words:
        text = _literal_text(word, globs=globs) if isinstance(word, Word) else None
        if text is None:
            return None
        argv.append(text)
    return argv


def _literal_text(word: Word, *, globs: bool = False) -> str | None:
    if word.literal is not None:
        return word.literal
    if word.unquoted_text() == "[":
        return "["
    out = []
    for part in word.parts:
        if not isinstance(part, Literal):
            return None
        if not part.quoted and (_BRACE_OR_TILDE.search(part.text) or (not globs and _GLOB.search(part.text))):
            return None
        out.append(part.text)
    return "".join(out)


def _quiet(redirect: Redirect) -> bool:
    target = _literal_text(redirect.target)
    if target is None:
        return False
    if redirect.operator in ("<", "<<", "<<-", "<<<"):
        return not target.startswith("/dev/tcp") and not target.startswith("/dev/udp")
    if redirect.operator == ">&":
        return target in ("1", "2")
    return redirect.operator in (">", ">>", "&>") and target == "/dev/null"


def _sed(args: Sequence[str]) -> bool:
    rest = list(args)
    while rest and rest[0] in ("-n", "-E", "-r", "-nE", "-ne", "-e", "--quiet"):
        rest.pop(0)
    return bool(rest) and _SED_SCRIPT.fullmatch(rest[0]) is not None and not any(word[:1] == "-" for word in rest[1:])


def _find(args: Sequence[str]) -> bool:
    return not any(_FIND_ACTS.match(word) for word in args)


def _sort(args: Sequence[str]) -> bool:
    return all(word[:1] != "-" or re.fullmatch(r"-[bdfghinruVzs]+|-k[\d.,bdfginr]*|-t.?|-", word) for word in args)


def _uniq(args: Sequence[str]) -> bool:
    """A second operand is an output file; `-` is an operand, too."""
    options = [
        word for word in args if re.fullmatch(r"-[cdDiuz]+|-[fsw]\d+|--(?:count|repeated|unique|ignore-case)", word)
    ]
    return len(args) - len(options) <= 1 and not any(word[:2] == "--" for word in args if word not in options)


def _rg(args: Sequence[str]) -> bool:
    return not any(re.match(r"--(?:pre|hostname-bin|search-zip)|-(?!-).*z", word, re.DOTALL) for word in args)


def _has_no_prefix(*prefixes: str) -> Callable[[Sequence[str]], bool]:
    return lambda args: not any(word.startswith(prefixes) for word in args)


def _only(options: str) -> Callable[[Sequence[str]], bool]:
    return lambda args: all(word[:1] != "-" or re.fullmatch(options, word) for word in args)


def _git(args: Sequence[str]) -> bool:
    """Accept subcommands that run no program named in a repository's configuration, given GIT_ENVIRONMENT.

    `status`, `diff` and `show` are not among them: filters, drivers and `textconv` may be any program.
    """
    rest = list(args)
    while rest[:1] == ["--no-pager"]:
        rest.pop(0)
    if not rest or rest[0] not in _GIT_READS:
        return False
    subcommand, *words = rest
    if subcommand in _GIT_LISTS:
        return all(word in _GIT_LISTS[subcommand] for word in words)
    return all(word[:1] != "-" or word == "--" or _GIT_LOG.fullmatch(word) for word in words)


def _date(args: Sequence[str]) -> bool:
    return all(word[:1] == "+" or re.fullmatch(r"-u|--utc|-I\w*|--iso-8601(?:=\w+)?", word) for word in args)


def _nothing(args: Sequence[str]) -> bool:
    return not args


GUARDS: dict[str, Callable[[Sequence[str]], bool]] = {
    "sed": _sed,
    "find": _find,
    "sort": _sort,
    "uniq": _uniq,
    "git": _git,
    "rg": _rg,
    "date": _date,
    "hostname": _nothing,
    "tree": _only(r"-[adfilpsughDFQNSC]+|-[LIP]"),
    "file": _only(r"-[bhikL]+"),
    "diff": _only(
        r"-[abBdEiNpqrstTuwyZ]+|-[UCW]\d*|-|--(?:brief|recursive|text|unified|context|side-by-side|new-file)|"
        r"--(?:unified|context|width|color)=\w+|--(?:ignore|suppress|strip)-[a-z-]+"
    ),
    "base64": _only(r"-[dDi]+|-w\d*|--decode|--ignore-garbage|--wrap=\d+|-"),  # `-o` writes a file on macOS
    "env": _nothing,
    "printf": _has_no_prefix("-v"),
    "command": lambda args: args[:1] in (["-v"], ["-V"]),
    "test": _has_no_prefix("-v", "-R"),
    "[": _has_no_prefix("-v", "-R"),
}

COMMANDS = frozenset(
    "ls cat echo printf pwd cd head tail wc nl tac rev cut tr sort uniq comm join paste column fold grep "
    "egrep fgrep rg find sed git diff cmp file stat du df tree basename dirname realpath readlink which "
    "type command whoami id groups uname hostname date uptime nproc free ps env printenv true false test "
    "[ seq sleep md5sum sha1sum sha256sum cksum base64 od hexdump strings jq".split()
)

_GIT_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "log.showSignature": "false",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
}
GIT_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # no protocol has this name: git starts no program to fetch a missing object
    "GIT_NO_LAZY_FETCH": "1",  # no attempt at all, in git that supports it (2.39.4)
    "GIT_PAGER": "cat",
    "GIT_CONFIG_PARAMETERS": "",  # would override the numbered settings
    "GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS)),
    **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(_GIT_SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_GIT_SETTINGS.values())},
}
"""Environment of a plain git command: the repository's own configuration may name programs for all of these. Git reads
the numbered settings since 2.31.
"""

"""Find the commands of a script's last pipeline, if bash can report the exit status of each. Pure.

For the report, a line is added to the script that bash evaluates (`keeper/protocol/bootstrap`). No line is added if the
command could notice it: by a trap, a trace (`set -x`) or a restricted shell, or by a file or variable that may set up
one of these; by using the file descriptors that bash keeps for itself; after a here-document without end, or in a
script with a syntax error. Nor if the report could be about another pipeline: only the number of its commands shows
whether the last pipeline ran.
"""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nacre.shell.syntax.nodes import Block, ListItem, Node, SimpleCommand

UNKNOWN = "…"
"""A command whose name only bash can know."""
_ODD_VARIABLES = frozenset(("BASH_ENV", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_builtin%%"))
"""They may have the effects that the script is searched for here."""
_MIN_OPEN_FILES = 64
"""Open files; with fewer, bash cannot restore descriptor 63, on which it reports."""
_MAX_COMMAND_CHARS = 20_000
_ODD = lazy_regex(r"<<|NACRE_|/fd\b|\blsof\b|\d\d[<>]|[<>]&\s{0,9}\d\d|(?<!\$)\{\w{1,99}\}[<>]|-u\s{0,9}\d\d")
_UNSUPPORTED_COMMANDS = frozenset("trap eval alias enable ulimit exec coproc builtin command".split())
"""Commands that may notice the added line, unless `_is_harmless` can tell from the arguments."""
_OPTIONS = lazy_regex(r"[-+][aefuBCE]*o?")
_OPTION_NAMES = frozenset("pipefail errexit nounset noglob allexport noclobber".split())
_SHOPTS = frozenset("-s -u -q -p globstar nullglob extglob dotglob failglob nocaseglob nocasematch".split())


def can_report_pipestatus(env: Mapping[str, str], open_files: int | None) -> bool:
    """Return whether bash can report with this environment and limit of open files, whatever the script."""
    return _ODD_VARIABLES.isdisjoint(env) and (open_files is None or open_files >= _MIN_OPEN_FILES)


def pipeline_commands(command: str) -> tuple[str, ...]:
    """Return the names of the last pipeline's commands; nothing if there is no pipeline, or bash cannot report."""
    text = command.rstrip()
    if "|" not in text or len(text) > _MAX_COMMAND_CHARS or text.endswith("\\") or _ODD.search(text):
        return ()
    from nacre.shell.syntax.nodes import Pipeline, SimpleCommand
    from nacre.shell.syntax.parser import TooDeep, parse

    try:
        block, broken = parse(text)
    except TooDeep:
        return ()
    if broken or not block.statements:
        return ()
    *earlier, last = block.statements[-1].items  # if the last does not run, PIPESTATUS is that of one of the others
    if last.background or last.negated or not isinstance(last.node, Pipeline):
        return ()
    count = len(last.node.stages)
    if any(_count(item) in (None, count) for item in earlier) or not all(map(_is_harmless, _commands_of_shell(block))):
        return ()
    return tuple(stage.name or UNKNOWN if isinstance(stage, SimpleCommand) else UNKNOWN for stage in last.node.stages)


def _count(item: ListItem) -> int | None:
    """Return the number of statuses that an item leaves in PIPESTATUS; None if it depends on what runs last in it."""
    from nacre.shell.syntax.nodes import ArithmeticCommand, Group, Pipeline, SimpleCommand, Test

    match item.node:
        case Pipeline() as node:
            return len(node.stages)
        case SimpleCommand() | Test() | ArithmeticCommand():
            return 1
        case Group(subshell=True):
            return 1
    return None


def _commands_of_shell(block: Block) -> Iterator[Node]:
    """Yield the commands that the shell itself runs, or may run, without those of its child processes."""
    from nacre.shell.syntax.nodes import Case, Function, Group, If, Loop, Pipeline

    for item in block.items:
        node = item.node
        if isinstance(node, Function):
            yield node
            node = node.body
        match node:
            case Pipeline():
                pass  # all run in child processes, unless `lastpipe` is set
            case Group():
                if not node.subshell:
                    yield from _commands_of_shell(node.body)
            case If():
                for condition, body in node.branches:
                    yield from _commands_of_shell(condition)
                    yield from _commands_of_shell(body)
            case Loop():
                if node.condition is not None:
                    yield from _commands_of_shell(node.condition)
                yield from _commands_of_shell(node.body)
            case Case():
                for _, body in node.arms:
                    yield from _commands_of_shell(body)
            case _:
                yield node


def _is_harmless(node: Node) -> bool:
    """Return whether a command can neither notice the added line nor reveal it."""
    from nacre.shell.syntax.nodes import ArithmeticCommand, Function, SimpleCommand, Test

    if isinstance(node, Function):
        return node.name.literal not in (None, "builtin")
    if not isinstance(node, SimpleCommand):
        return isinstance(node, Test | ArithmeticCommand)
    words = _words(node)
    if not words:
        return True  # assignments
    name, *rest = words
    match name:
        case None:
            return False
        case "exec":
            return not rest  # redirections only
        case "command":
            return rest[:1] in (["-v"], ["-V"])
        case "set":
            return _sets_little(rest)
        case "shopt":
            return all(word in _SHOPTS for word in rest)
        case "source" | ".":
            return len(rest) == 1 and rest[0] is not None and rest[0].endswith("bin/activate")
    return name not in _UNSUPPORTED_COMMANDS


def _words(node: SimpleCommand) -> list[str | None]:
    """Return the command's words; None for a word that only bash can know."""
    from nacre.shell.syntax.nodes import Word

    if node.argv is not None:
        return list(node.argv)
    return [word.literal if isinstance(word, Word) else None for word in node.words]


def _sets_little(words: list[str | None]) -> bool:
    for word in words:
        if word == "--":
            return True  # positional parameters follow
        if word is None or not (_OPTIONS.fullmatch(word) or word in _OPTION_NAMES):
            return False
    return True

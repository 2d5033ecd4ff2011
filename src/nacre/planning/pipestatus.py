"""Which commands the last pipeline of a text is made of, where bash can be asked how each of them ended. Pure.

For that a line is added to what bash evaluates (`keeper/prelude`). Nothing is asked where that could be seen: by a
trap, a trace, or a shell that is restricted; by what a file or a variable may hold of these; by who uses the
descriptors that bash keeps its own in; after a here-document that has no end, or in a text that bash would stumble
over. Nor where the answer may be another pipeline's: only the number of its commands tells whether the last one ran.
"""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nacre.shell.syntax.nodes import Block, ListItem, Node, SimpleCommand

UNKNOWN = "…"
"""A command whose name only bash knows."""
_ODD_VARIABLES = frozenset(("BASH_ENV", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_builtin%%"))
"""They may do what a text is searched for here."""
_MIN_OPEN_FILES = 64
"""Fewer, and bash cannot put the one back that it answers by."""
_MAX_COMMAND_CHARS = 20_000
_ODD = lazy_regex(r"<<|NACRE_|/fd\b|\blsof\b|\d\d[<>]|[<>]&\s{0,9}\d\d|(?<!\$)\{\w{1,99}\}[<>]|-u\s{0,9}\d\d")
_UNSUPPORTED_COMMANDS = frozenset("trap eval alias enable ulimit exec coproc builtin command".split())
"""Unless `_is_harmless` knows better."""
_OPTIONS = lazy_regex(r"[-+][aefuBCE]*o?")
_OPTION_NAMES = frozenset("pipefail errexit nounset noglob allexport noclobber".split())
_SHOPTS = frozenset("-s -u -q -p globstar nullglob extglob dotglob failglob nocaseglob nocasematch".split())


def can_report_pipestatus(env: Mapping[str, str], open_files: int | None) -> bool:
    """Whatever the text is."""
    return _ODD_VARIABLES.isdisjoint(env) and (open_files is None or open_files >= _MIN_OPEN_FILES)


def pipeline_commands(command: str) -> tuple[str, ...]:
    """Their names; nothing if there is no such pipeline, or bash cannot be asked."""
    text = command.rstrip()
    if "|" not in text or len(text) > _MAX_COMMAND_CHARS or text.endswith("\\") or _ODD.search(text):
        return ()
    from nacre.shell.syntax.nodes import Pipeline, SimpleCommand
    from nacre.shell.syntax.parser import TooDeep, parse

    try:
        block, broken = parse(text)
    except TooDeep:
        return ()
    last = block.items[-1] if block.items and not broken else None
    if last is None or last.background or last.negated or not isinstance(last.node, Pipeline):
        return ()
    count = len(last.node.stages)
    if any(_count(item) in (None, count) for item in _items_before_last(block)) or not all(
        map(_is_harmless, _commands_of_shell(block))
    ):
        return ()
    return tuple(stage.name or UNKNOWN if isinstance(stage, SimpleCommand) else UNKNOWN for stage in last.node.stages)


def _items_before_last(block: Block) -> Iterator[ListItem]:
    """What decides whether the last one runs, and would then be what bash tells of."""
    items = block.items
    for place in range(len(items) - 1, 0, -1):
        if items[place].operator not in ("&&", "||"):
            return
        yield items[place - 1]


def _count(item: ListItem) -> int | None:
    """How many exit statuses bash knows of it; None: those of whatever ran last in it."""
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
    """The commands that the shell itself runs, or may: not those of its children."""
    from nacre.shell.syntax.nodes import Case, Function, Group, If, Loop, Pipeline

    for item in block.items:
        node = item.node
        if isinstance(node, Function):
            yield node
            node = node.body
        match node:
            case Pipeline():
                pass  # children all of them, as long as nobody sets `lastpipe`
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
    """It can neither see what is asked nor make anybody else see it."""
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
            return not rest  # only redirections
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
    """None for what only bash knows."""
    from nacre.shell.syntax.nodes import Word

    if node.argv is not None:
        return list(node.argv)
    return [word.literal if isinstance(word, Word) else None for word in node.words]


def _sets_little(words: list[str | None]) -> bool:
    for word in words:
        if word == "--":
            return True  # what follows are parameters
        if word is None or not (_OPTIONS.fullmatch(word) or word in _OPTION_NAMES):
            return False
    return True

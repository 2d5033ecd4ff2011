"""Shortens a command to one line for a person, without hiding what it does (P-011). Pure; never raises.

    cd /work && make || echo failed      →  make || echo failed          (in /work)
    cat > x.py <<'EOF' … EOF; python x   →  cat > x.py <<'EOF' … +4 lines, 2 of them input; also runs python

Works on the tree that the checker reads, so a `cd` in quotes is not mistaken for one. Omitted text is counted. Every
command in it is named or counted; so is every file written by a redirection that belongs to none of them, and every
command that the shown part would run from the omitted one (`bash <<EOF`). In doubt, a name is mentioned twice rather
than not at all. `full` omits nothing: it is for a person who has to decide.
"""

from __future__ import annotations

from collections.abc import Iterator

from nacre.ansi.width import columns
from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.policy.facts.writes import changes
from nacre.shell import Command, Script, read
from nacre.shell.symbolic import is_literal, to_display
from nacre.shell.syntax.nodes import (
    Block,
    Case,
    Coprocess,
    Function,
    Group,
    If,
    ListItem,
    Loop,
    Node,
    Pipeline,
    SimpleCommand,
)
from nacre.views.console.escape import escape_command, fit

MAX_COLUMNS = 120
"""Columns of one line."""
_MAX_READ_CHARS = 100_000
"""Longest command that is parsed."""
_MAX_NAMES = 6
_REST_NOTE_COLUMNS = 50
"""Columns for the note on the omitted part."""
_MAX_NAME_COLUMNS = 40
"""Columns of a name."""
_DOUBT = "not all of it is understood"
_NO_FILES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
_AND_THEN = lazy_regex(r"[ \t]*(?:&&|;|\n)\s*")
_SLASHES = lazy_regex(r"/(?:\.?/)+|/\.?\Z")


def shorten(command: str, cwd: str, *, full: bool = False, most: int = MAX_COLUMNS) -> str:
    """Shorten a command that runs in `cwd` (empty if unknown). Return one line of up to `most` columns (at least 40),
    with a note on the omitted part; with `full`, the complete command line by line, escaped."""
    if full:
        return "\n".join(escape_command(line) for line in command.strip("\n").split("\n"))
    return "".join(split_shortened(command, cwd, most=most))


def split_shortened(command: str, cwd: str, *, most: int = MAX_COLUMNS) -> tuple[str, str]:
    """Return the shown part of the command, and nacre's note on the rest of it."""
    if len(command) > _MAX_READ_CHARS:
        return _summary(command.strip(), _Rest(), most, "too long to be read here")
    script = read(command, cwd=cwd, home="~")
    items = script.block.items if script.block is not None else []
    begin = 0
    if not script.syntax_error:
        begin, items = _without_cd(script.text, items, cwd)
    if "\n" not in (rest := command[begin:].strip()) and columns(line := escape_command(rest)) <= most:
        return line, ""
    begin += len(command[begin:]) - len(command[begin:].lstrip())
    if items and command[begin : begin + 1] == "#" and items[0].node.start > begin:
        begin = items[0].node.start  # a comment does not run
    if not items or script.syntax_error:
        return _summary(command[begin:].strip(), _rest(script, 0), most, _DOUBT)
    return _shorten_list(command, begin, items, script, most)


# the working directory


def _without_cd(text: str, items: list[ListItem], cwd: str) -> tuple[int, list[ListItem]]:
    """Skip each `cd` to the directory the command runs in. Return the position after them, and the remaining items."""
    begin = 0
    while len(items) > 1 and items[1].operator != "||" and _changes_directory(items[0], cwd):
        node = items[0].node
        between = _AND_THEN.match(text, node.start + len(text[node.start : node.end].rstrip()))
        if between is None:
            break
        begin, items = between.end(), items[1:]
    return begin, items


def _changes_directory(item: ListItem, cwd: str) -> bool:
    node = item.node
    if item.background or item.negated or not isinstance(node, SimpleCommand) or node.assignments or node.redirects:
        return False
    match node.argv:
        case ("cd", path) | ("cd", "--", path):
            return path == "." or (
                path[:1] == "/" and cwd != "" and ".." not in path.split("/") and _tidy(path) == _tidy(cwd)
            )
    return False


def _tidy(path: str) -> str:
    return _SLASHES.sub("/", path).rstrip("/") or "/"


# commands that are too long


def _shorten_list(text: str, begin: int, items: list[ListItem], script: Script, most: int) -> tuple[str, str]:
    """Show as many complete commands as fit on a line; fewer if there is no room left to name the others."""
    for room in (max(most - _REST_NOTE_COLUMNS, most // 3), most // 3, most // 5):
        line, cut = _beginning(text, begin, items, room)
        rest = text[cut:].rstrip()
        if rest.strip() in ("", ";"):
            return line, ""
        fed = sum(_lines_of_input(i.node) for i in items if isinstance(i.node, Function) or i.node.end >= cut)
        hidden, doubt = _rest(script, cut), _DOUBT if script.gave_up else ""
        line, remark = _summary_with_names(line, rest, "\n" in text[begin:].strip(), fed, hidden, doubt, most)
        if columns(line + remark) <= most and (not hidden.names or hidden.names[0] in remark):
            break
    return line, remark


def _beginning(text: str, begin: int, items: list[ListItem], most: int) -> tuple[str, int]:
    """Return the shown part, and the position where it ends."""
    line, cut = "", begin
    for number, item in enumerate(items):
        node = item.node
        end = node.end
        if node.start < cut or end <= node.start:
            break
        between = "" if number == 0 else _separator(text[cut : node.start])
        piece = text[node.start if number else begin : end].strip()
        if between is None or "\n" in piece or columns(longer := line + between + escape_command(piece)) > most:
            break
        line, cut = longer, node.start + len(text[node.start : end].rstrip())
        if "#" in piece or _lines_of_input(node):
            break  # on one line, a comment would swallow what follows; and lines of input are not commands
    if not line:
        first = text[begin:].partition("\n")[0]
        cut = begin + len(first)
        if columns(line := escape_command(first)) > most:
            line, cut = _cut(first, most), begin + _kept_chars(first, most)
    return line, cut


def _separator(between: str) -> str | None:
    """Return what to write between two commands on one line. None: there is a comment, which would swallow what
    follows."""
    if "#" in between:
        return None
    words = " ".join(between.split())
    if "\n" in between.partition(words[:1] or "\n")[0] or not words:
        return f"; {words} " if words else "; "
    return f"{'' if words[0] == ';' else ' '}{words} "


def _summary(text: str, hidden: _Rest, most: int, doubt: str) -> tuple[str, str]:
    """Show the beginning of a command that cannot be split."""
    first = text.partition("\n")[0]
    room = max(most - _REST_NOTE_COLUMNS, most // 3)
    if columns(line := escape_command(first)) > room:
        line, rest = _cut(first, room), text[_kept_chars(first, room) :]
    else:
        rest = text[len(first) :]
    return _summary_with_names(line, rest, "\n" in text, 0, hidden, doubt, most)


def _summary_with_names(
    line: str, rest: str, lines: bool, fed: int, hidden: _Rest, doubt: str, most: int
) -> tuple[str, str]:
    """Add the note on the omitted part, with as many names as there is room for. It always includes the number of
    others."""
    line = line.removesuffix("…").rstrip()
    left = _count_text(rest.strip().count("\n") + 1, "line") if lines else _count_text(len(rest), "character")
    start = f" … +{left}" if rest.strip() else " …"
    for written, names, files, fed_too in _drop_names(hidden):
        said = [start + (f", {fed:,} of them input" if fed and fed_too else "")]
        said += [f"also runs {_list_names(hidden.names, names, 'command')}"] if hidden.names else []
        said += [f"writes {_list_names(written, files, 'file')}"] if written else []
        said += [doubt] if doubt else []
        if columns(line + (remark := "; ".join(said))) <= most:
            break
    return line, remark


def _drop_names(hidden: _Rest) -> Iterator[tuple[tuple[str, ...], int, int, bool]]:
    """Yield versions of the note, from all of it down to nothing: the files written, how many of the commands and of
    these files to name, and whether to count the lines of input."""
    most = min(len(hidden.names), _MAX_NAMES)
    every = tuple(dict.fromkeys((*hidden.files, *hidden.theirs)))
    yield every, most, min(len(every), _MAX_NAMES), True
    yield every, most, min(len(every), _MAX_NAMES), False
    for total in range(most + min(len(hidden.files), _MAX_NAMES), -1, -1):
        for fed_too in (True, False):
            for named in range(min(total, most), max(total - len(hidden.files), 0) - 1, -1):
                yield hidden.files, named, total - named, fed_too


def _list_names(names: tuple[str, ...], count: int, what: str) -> str:
    more = len(names) - min(count, len(names))
    if not count:
        return _count_text(more, what)
    return ", ".join(names[:count]) + (f" and {more:,} more" if more else "")


def _cut(line: str, most: int) -> str:
    return fit(escape_command(line), most)


def _kept_chars(line: str, most: int) -> int:
    """Return how many characters remain of a line that is cut; 0 if some are escaped, since the number is unknown
    then."""
    return len(_cut(line, most)) - 1 if escape_command(line) == line else 0


def _count_text(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _lines_of_input(node: Node) -> int:
    """Count the lines of the here-documents in a node."""
    own = sum(
        sum(getattr(part, "text", "").count("\n") for part in redirect.target.parts)
        for redirect in node.redirects
        if redirect.operator in ("<<", "<<-")
    )
    return own + sum(map(_lines_of_input, _child_nodes(node)))


def _child_nodes(node: Node) -> list[Node]:
    match node:
        case Pipeline():
            return list(node.stages)
        case Coprocess():
            return [node.command]
        case Function():
            return [node.body]
        case Group():
            blocks: list[Block | None] = [node.body]
        case If():
            blocks = [block for branch in node.branches for block in branch]
        case Loop():
            blocks = [node.condition, node.body]
        case Case():
            blocks = [body for _, body in node.arms]
        case _:
            return []
    return [item.node for block in blocks if block is not None for item in block.items]


# the omitted part


@frozen
class _Rest:
    """Contents of the omitted part of a command."""

    names: tuple[str, ...] = ()
    """Commands in it; those that change files first."""
    files: tuple[str, ...] = ()
    """Files written by redirections that belong to none of these commands."""
    theirs: tuple[str, ...] = ()
    """Files written by redirections of these commands: named only if there is room. Their other arguments never are."""


def _rest(script: Script, cut: int) -> _Rest:
    """Collect what comes after `cut`, and what the part before it runs from there."""
    fed = "<<" in script.text[:cut]
    names: dict[str, bool] = {}
    files: dict[str, None] = {}
    theirs: dict[str, None] = {}
    for each in script.commands:
        hidden = bool(each.argv) and not _is_shown(each, script.text, cut, fed=fed)
        if hidden:
            name = _short_name(each.argv[0], "something unknown")
            names[name] = names.get(name, False) or bool(changes(each))
        if each.redirects and not (each.end <= cut and (not fed or not _is_run_by_wrapper(each))):
            for opened in each.redirects:
                if opened.writes and opened.target not in _NO_FILES:
                    (theirs if hidden else files)[_short_name(opened.target, "an unknown file")] = None
    return _Rest(tuple(sorted(names, key=lambda name: not names[name])), tuple(files), tuple(theirs))


def _short_name(word: str, unknown: str) -> str:
    name = escape_command(to_display(word))
    if columns(name) > _MAX_NAME_COLUMNS and "/" in name:
        name = f"…/{name.rpartition('/')[2]}"
    return unknown if name.strip("…") == "" else fit(name, _MAX_NAME_COLUMNS)


def _is_run_by_wrapper(command: Command) -> bool:
    """Return whether the command has the position of the command that runs it: a wrapper, or a shell that reads its
    script from elsewhere."""
    parent = command.parent
    return parent is not None and (command.start, command.end) == (parent.start, parent.end)


def _is_shown(command: Command, text: str, cut: int, *, fed: bool) -> bool:
    """Return whether the command's name is in `text[:cut]`. `fed`: a command there reads lines that are not."""
    if command.start >= cut:
        return False
    words = command.argv[:1]
    if not _is_run_by_wrapper(command):
        if command.end <= cut:
            return True
        if not is_literal(words[0]):
            return text[command.start] in '$"`'
        if not text[: command.start].strip() and "/" not in words[0] and words[0].startswith(text[command.start : cut]):
            return True  # the beginning of the first command; the rest is counted
    elif command.end <= cut and not fed:
        return True
    else:
        parent = command.parent
        while parent is not None and (outer := parent.parent) and _is_run_by_wrapper(parent):
            parent = outer  # as in `sudo env rm`
        assert parent is not None
        place = len(parent.argv) - len(command.argv)
        if place < 1 or parent.argv[place:] != command.argv:
            return False
        words = parent.argv[: place + 1]
    start = " ".join(words)
    return command.start + len(start) <= cut and text.startswith((f"{start} ", f"{start}\n"), command.start)

"""A command → one honest line of it, for a person (P-011). Pure; raises for no text.

    cd /work && make || echo failed      →  make || echo failed          (in /work)
    cat > x.py <<'EOF' … EOF; python x   →  cat > x.py <<'EOF' … +4 lines, 2 of them input; also runs python

Done on the tree that the checker reads, so a `cd` in quotes is not taken for one. What is left out is counted, and
every command in it is named. Where a person decides, `full` leaves out nothing at all.
"""

from __future__ import annotations

from nacre.patterns import later
from nacre.policy.writes import changes
from nacre.shell import Command, Script, read
from nacre.shell.syntax import Item, Simple
from nacre.views.escape import columns, fit, plainly

MOST = 120
"""Columns of one line."""
_READ = 100_000
"""Characters that are worth reading for a line about them."""
_NAMED = 6
_RESERVED = 50
"""Columns for what is said about the rest."""
_AND_THEN = later(r"[ \t]*(?:&&|;|\n)\s*")
_SLASHES = later(r"/(?:\.?/)+|/\.?\Z")


def display(command: str, cwd: str, *, full: bool = False, most: int = MOST) -> str:
    """`cwd`: where it runs; empty if nobody knows. `full`: all of it, line by line, escaped; else one line of up to
    `most` columns (from 40 up), with what is said about the rest."""
    if full:
        return "\n".join(plainly(line) for line in command.strip("\n").split("\n"))
    if len(command) > _READ:
        return _gist(command.strip(), [], most, "too long to be read here")
    script = read(command, cwd=cwd, home="~")
    items = script.block.items if script.block is not None else []
    begin, items = _without_cd(script.text, items, cwd)
    if "\n" not in (rest := command[begin:].strip()) and columns(line := plainly(rest)) <= most:
        return line
    begin += len(command[begin:]) - len(command[begin:].lstrip())
    if items and command[begin : begin + 1] == "#" and items[0].node.start > begin:
        begin = items[0].node.start  # a remark is not what runs
    if not items or script.broken:
        return _gist(command[begin:].strip(), _after(script, 0), most, "not all of it is understood")
    return _shortened(command, begin, items, script, most)


# the working directory


def _without_cd(text: str, items: list[Item], cwd: str) -> tuple[int, list[Item]]:
    """Where it begins after going where it is already, and what is left."""
    begin = 0
    while len(items) > 1 and items[1].operator in ("&&", ";") and _goes(items[0], cwd):
        node = items[0].node
        between = _AND_THEN.match(text, node.start + len(text[node.start : node.end].rstrip()))
        if between is None:
            break
        begin, items = between.end(), items[1:]
    return begin, items


def _goes(item: Item, cwd: str) -> bool:
    node = item.node
    if item.background or item.negated or not isinstance(node, Simple) or node.assignments or node.redirects:
        return False
    match node.argv:
        case ("cd", path) | ("cd", "--", path):
            return path == "." or (
                path[:1] == "/" and cwd != "" and ".." not in path.split("/") and _tidy(path) == _tidy(cwd)
            )
    return False


def _tidy(path: str) -> str:
    return _SLASHES.sub("/", path).rstrip("/") or "/"


# what is too long


def _shortened(text: str, begin: int, items: list[Item], script: Script, most: int) -> str:
    """Whole commands, as many as fit on a line."""
    whole, most = most, max(most - _RESERVED, most // 3)
    line, cut = "", begin
    for number, item in enumerate(items):
        node = item.node
        end = node.end
        if node.start < cut or end <= node.start:
            break
        between = "" if number == 0 else _joint(text[cut : node.start])
        piece = text[node.start if number else begin : end].strip()
        if between is None or "\n" in piece or columns(longer := line + between + plainly(piece)) > most:
            break
        line, cut = longer, node.start + len(text[node.start : end].rstrip())
        if "#" in piece or _lines_of_input(item):
            break  # on one line with a remark, what follows would be one; and lines of input are no commands
    if not line:
        first = text[begin:].partition("\n")[0]
        cut = begin + len(first)
        if columns(line := plainly(first)) > most:
            line, cut = _cut(first, most), begin + _kept(first, most)
    rest = text[cut:].strip()
    if rest in ("", ";"):
        return line
    return _gist_of(line, rest, "\n" in text[begin:].strip(), _input_after(items, cut), _after(script, cut), "", whole)


def _joint(between: str) -> str | None:
    """What stands between two commands, on one line. None: a remark, which would swallow what follows."""
    if "#" in between:
        return None
    words = " ".join(between.split())
    if "\n" in between.partition(words[:1] or "\n")[0] or not words:
        return f"; {words} " if words else "; "
    return f"{'' if words[0] == ';' else ' '}{words} "


def _gist(text: str, hidden: list[Command], most: int, doubt: str) -> str:
    """The beginning of a text that cannot be taken apart."""
    first = text.partition("\n")[0]
    room = max(most - _RESERVED, most // 3)
    if columns(shown := plainly(first)) > room:
        shown, rest = _cut(first, room), text[_kept(first, room) :].strip()
    else:
        rest = text[len(first) :].strip()
    return _gist_of(shown, rest, "\n" in text, 0, hidden, doubt, most)


def _gist_of(line: str, rest: str, lines: bool, fed: int, hidden: list[Command], doubt: str, most: int) -> str:
    """With as many names as there is room for; how many more there are is always said."""
    names = list(dict.fromkeys(plainly(each.words.partition(" ")[0].rpartition("/")[2])[:40] for each in hidden))
    left = _many(rest.count("\n") + 1, "line") if lines else _many(len(rest), "character")
    start = f"{line.removesuffix('…').rstrip()} …" + (f" +{left}" if rest else "")
    fewer = [(named, fed_too) for named in range(min(len(names), _NAMED), -1, -1) for fed_too in (True, False)]
    for named, fed_too in fewer:
        said = [start + (f", {fed:,} of them input" if fed and fed_too else "")]
        said += [f"also runs {_listed(names, named)}"] if names else []
        said += [doubt] if doubt else []
        if columns(text := "; ".join(said)) <= most:
            break
    return text


def _listed(names: list[str], count: int) -> str:
    more = len(names) - count
    if not count:
        return _many(more, "command")
    return ", ".join(names[:count]) + (f" and {more:,} more" if more else "")


def _cut(line: str, most: int) -> str:
    return fit(plainly(line), most)


def _kept(line: str, most: int) -> int:
    """How many characters of a line are shown when it is cut. None, where some of them are spelt out: who knows."""
    return len(_cut(line, most)) - 1 if plainly(line) == line else 0


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _lines_of_input(item: Item) -> int:
    return sum(
        sum(getattr(part, "text", "\n").count("\n") for part in redirect.target.parts)
        for redirect in item.node.redirects
        if redirect.operator in ("<<", "<<-")
    )


def _input_after(items: list[Item], cut: int) -> int:
    return sum(_lines_of_input(item) for item in items if item.node.end >= cut)


def _after(script: Script, cut: int) -> list[Command]:
    """The commands that a reader does not see: those that change files first."""
    hidden = [each for each in script.commands if each.start >= cut and each.name]
    return sorted(hidden, key=lambda each: not changes(each))

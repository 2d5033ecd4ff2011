"""`find` as a rule sees it: where it starts, whether it deletes everything or what was chosen, and who deletes what it
finds in its place."""

from __future__ import annotations

from collections.abc import Iterator

from nacre.policy.facts.precious_paths import ProtectedPlace, protected_place
from nacre.policy.rule import CheckContext
from nacre.shell import Command
from nacre.shell.programs.find import chooses_among_found
from nacre.shell.symbolic import ALL_FOUND, STAR, with_unknowns_empty

FINDERS = ("find", "gfind", "fd", "fdfind")
_DELETES = frozenset(("rm", "unlink", "shred", "srm"))
_BELOW = f"/{ALL_FOUND}"


def start_places(command: Command, around: CheckContext) -> Iterator[ProtectedPlace]:
    """What would be lost if everything went where it starts."""
    for start in starts(command):
        unknown = with_unknowns_empty(start) != start
        if place := protected_place(start if unknown else f"{start.rstrip('/')}/{STAR}", command, around):
            yield place


def starts(command: Command) -> list[str]:
    words = list(command.args)
    while words and (words[0] in ("-H", "-L", "-P") or words[0].startswith(("-O", "-D"))):
        words = words[2 if words[0] == "-D" else 1 :]
    found: list[str] = []
    for word in words:
        if word[:1] in ("-", "(", "!"):
            break
        found.append(word)
    return found or ["."]


def deletes_everything(command: Command, around: CheckContext) -> ProtectedPlace | None:
    """What a deletion of single files would take nevertheless: it is given all that was found there."""
    for target in command.operands():
        if target.endswith(_BELOW) and not _is_text(command) and (place := protected_place(target, command, around)):
            return place
    return None


def found_by(command: Command) -> Command | None:
    """The `find` that runs it, with whatever stands between them, and hands it all that it has found. One that names
    none of that (`find . -maxdepth 0 -exec bash -c '…' \\;`) is a wrapper as any."""
    given, parent = command, command.parent
    while parent is not None and not (parent.name in FINDERS and any(ALL_FOUND in word for word in given.argv)):
        given, parent = parent, parent.parent
    return parent


def deletes_found(command: Command, around: CheckContext) -> ProtectedPlace | None:
    """What would be lost by a program that `find` runs for all that it has found: `-exec sh -c 'rm "$1"' _ {}`."""
    finder = found_by(command)
    if finder is None or (finder is command.parent and deletes(finder)) or command.has_flag("-r", "-R", "--recursive"):
        return None
    return deletes_everything(command, around)


def _is_text(command: Command) -> bool:
    """The name was put into a text that a shell reads: what hangs on conditions there is not known to do so."""
    parent = command.parent
    while parent is not None:
        if parent.name != "parallel" and ALL_FOUND in (parent.script or ""):
            return True
        parent = parent.parent
    return False


def deletes(command: Command) -> bool:
    return any(True for _ in _deletions(command))


def deletes_all(command: Command) -> bool:
    """Nothing that stands before the deletion chooses among what is found."""
    return any(not chooses_among_found(before) for before in _deletions(command))


def _deletions(command: Command) -> Iterator[tuple[str, ...]]:
    """What stands before each deletion, from the last `-o` on."""
    words, since = command.args, 0
    for index, word in enumerate(words):
        if word in ("-o", "-or", ","):
            since = index + 1
        program = "".join(words[index + 1 : index + 2]).rsplit("/", 1)[-1]
        if word == "-delete" or (word in ("-exec", "-execdir") and program in _DELETES):
            yield words[since:index]

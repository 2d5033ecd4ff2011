"""Uses of `find`: where it starts, whether it deletes everything or a selection, which commands delete its finds."""

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


def start_places(command: Command, context: CheckContext) -> Iterator[ProtectedPlace]:
    """Yield the places that would be lost if everything in the start directories were deleted."""
    for start in starts(command):
        unknown = with_unknowns_empty(start) != start
        if place := protected_place(start if unknown else f"{start.rstrip('/')}/{STAR}", command, context):
            yield place


def starts(command: Command) -> list[str]:
    """Return the start directories of a `find` command."""
    words = list(command.args)
    while words and (words[0] in ("-H", "-L", "-P") or words[0].startswith(("-O", "-D"))):
        words = words[2 if words[0] == "-D" else 1 :]
    found: list[str] = []
    for word in words:
        if word[:1] in ("-", "(", "!"):
            break
        found.append(word)
    return found or ["."]


def deletes_everything(command: Command, context: CheckContext) -> ProtectedPlace | None:
    """Return the place whose files a non-recursive deletion would delete, given all that was found there."""
    for target in command.operands():
        if target.endswith(_BELOW) and not _is_text(command) and (place := protected_place(target, command, context)):
            return place
    return None


def found_by(command: Command) -> Command | None:
    """Return the `find` that runs a command, directly or through others, and passes it everything that it has found.

    A `find` that passes nothing (`find . -maxdepth 0 -exec bash -c '…' \\;`) is a wrapper like any other.
    """
    given, parent = command, command.parent
    while parent is not None and not (parent.name in FINDERS and any(ALL_FOUND in word for word in given.argv)):
        given, parent = parent, parent.parent
    return parent


def deletes_found(command: Command, context: CheckContext) -> ProtectedPlace | None:
    """Return the place lost by a program that `find` runs for all it has found: `-exec sh -c 'rm "$1"' _ {}`."""
    finder = found_by(command)
    if finder is None or (finder is command.parent and deletes(finder)) or command.has_flag("-r", "-R", "--recursive"):
        return None
    return deletes_everything(command, context)


def _is_text(command: Command) -> bool:
    """Return whether the name is inserted into a shell script, in which the effect of conditions is unknown."""
    parent = command.parent
    while parent is not None:
        if parent.name != "parallel" and ALL_FOUND in (parent.script or ""):
            return True
        parent = parent.parent
    return False


def deletes(command: Command) -> bool:
    """Return whether a `find` command deletes files."""
    return any(True for _ in _deletions(command))


def deletes_all(command: Command) -> bool:
    """Return whether there is a deletion without a test before it that selects among the files found."""
    return any(not chooses_among_found(before) for before in _deletions(command))


def _deletions(command: Command) -> Iterator[tuple[str, ...]]:
    """Yield the words before each deletion, from the last `-o` on."""
    words, since = command.args, 0
    for index, word in enumerate(words):
        if word in ("-o", "-or", ","):
            since = index + 1
        program = "".join(words[index + 1 : index + 2]).rsplit("/", 1)[-1]
        if word == "-delete" or (word in ("-exec", "-execdir") and program in _DELETES):
            yield words[since:index]

"""Which files a command would change: by redirection, or because that is what the program does with its arguments.

Programs that are known here, in their usual uses; any other is taken to change nothing but through redirections.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum, auto
from itertools import pairwise
from typing import NamedTuple

from nacre.base.lazy_regex import later
from nacre.policy.rule import WRITES
from nacre.shell import Command
from nacre.shell.interpreter.state import absolute
from nacre.shell.option_tables import SUDO, sort_tar
from nacre.shell.options import taking
from nacre.shell.symbolic import has_glob

_TO_WRITE = later(r"(?:^|[|\n:])[ \t]*[\d,%$.]*(?:w|wq|x|up|wa|wqa|xa)!?[ \t]*(?=$|[|\n])")


class Deed(Enum):
    FILLS = auto()
    """Its content changes, or it appears."""
    TAKES = auto()
    """It goes away."""
    MARKS = auto()
    """Its owner or mode changes."""
    MAKES = auto()
    """A directory appears."""


class Change(NamedTuple):
    deed: Deed
    target: str


def changes(command: Command) -> tuple[Change, ...]:
    known = command.memo.get("changes")
    if not isinstance(known, tuple):
        known = command.memo["changes"] = tuple(_changes(command))
    return known


def touched(command: Command) -> str:
    """The paths of all these files as one text: a rule need look no further if the place it is about is not in it."""
    known = command.memo.get("touched")
    if not isinstance(known, str):
        paths = [absolute(target, command.cwd) for _, target in changes(command)]
        known = command.memo["touched"] = "\n".join(paths)
    return known


def _changes(command: Command) -> Iterator[Change]:
    for opened in command.redirects:
        if opened.writes:
            yield Change(Deed.FILLS, opened.target)
    look = _PROGRAMS.get(command.name)
    if look is None and has_glob(command.name):  # `/bin/t?e`
        look = next((each for name, each in _PROGRAMS.items() if command.runs(name)), None)
    if look is not None:
        yield from look(command)


def _of(deed: Deed) -> Callable[[Command], Iterator[Change]]:
    """Every operand."""
    return lambda command: (Change(deed, each) for each in command.operands())


def _copied(command: Command) -> Iterator[Change]:
    """cp, mv, install, ln, rsync: to the last operand, or to the directory of `-t`."""
    operands = command.operands()
    into = [] if command.name == "rsync" else command.given.values("-t", "--target-directory")
    sources = operands if into else operands[:-1]
    if command.name == "install" and command.has("-d", "--directory"):
        yield from (Change(Deed.MAKES, each) for each in operands)
        return
    for each in into or operands[-1:]:
        if into or len(operands) > 1:
            yield Change(Deed.FILLS, each)
    if command.name == "mv":
        yield from (Change(Deed.TAKES, each) for each in sources)


def _dd(command: Command) -> Iterator[Change]:
    for word in command.args:
        if word.startswith(("of=", "ofs=")):
            yield Change(Deed.FILLS, word.partition("=")[2])


def _imaged(command: Command) -> Iterator[Change]:
    """qemu-img, bmaptool: after a subcommand."""
    operands = command.operands()
    if operands[:1] == ["create"]:
        yield from (Change(Deed.FILLS, each) for each in operands[1:2])
    elif operands[:1] in (["convert"], ["copy"]) and len(operands) > 2:
        yield Change(Deed.FILLS, operands[-1])
    elif operands[:1] == ["dd"]:
        yield from _dd(command)


def _edited(command: Command) -> Iterator[Change]:
    """sed with `-i`; its first operand is the script, unless an option brings it."""
    given = command.given
    if given.has("-i", "-I", "--in-place"):
        scripted = given.has("-e", "-f", "--expression", "--file")
        yield from (Change(Deed.FILLS, each) for each in given.operands[0 if scripted else 1 :])


def _in_place(command: Command) -> Iterator[Change]:
    """perl and ruby with `-i`; as `_edited`, but `-pie` is not what it seems."""
    scripted, edits = False, False
    for word in command.options():
        edits = edits or bool(re.match(r"-[nslpwa0-9]*i", word))
        scripted = scripted or bool(re.match(r"-[nslpwai0]*[eE]", word))
    if edits:
        valued = tuple(word for word in command.options() if re.fullmatch(r"-[nslpwai0]*[eE]|-[IMrC]", word))
        found, skip = [], False
        for word in command.args:
            if skip or word in valued:
                skip = not skip
            elif word[:1] != "-":
                found.append(word)
        yield from (Change(Deed.FILLS, each) for each in found[0 if scripted else 1 :])


def _marked(command: Command) -> Iterator[Change]:
    """chmod, chown, chgrp: the first operand is the mode or owner."""
    given = command.has("--reference") or any(re.fullmatch(r"-[rwxXst]+", word) for word in command.options())
    yield from (Change(Deed.MARKS, each) for each in command.operands()[0 if given else 1 :])


def _fetched(command: Command) -> Iterator[Change]:
    if command.name == "curl":
        files = command.given.values("-o", "--output", "--output-dir")
        if command.has("-O", "--remote-name", "--remote-name-all") and not command.given.has("--output-dir"):
            files.append(".")
    else:
        files = command.given.values("-O", "--output-document", "-P", "--directory-prefix") or ["."]
    yield from (Change(Deed.FILLS, each) for each in files if each != "-")


def _to_output(command: Command) -> Iterator[Change]:
    """gpg, sort, pv: `-o file`; openssl: `-out file`."""
    if command.name == "openssl":
        files = [after for word, after in pairwise(command.argv) if word == "-out"]
    else:
        files = command.given.values("-o", "--output")
    yield from (Change(Deed.FILLS, each) for each in files if each != "-")


def _unpacked(command: Command) -> Iterator[Change]:
    if command.name == "unzip":
        given = taking(("-d", "-P", "-x")).sort(command.args)
        into = [] if given.has("-l", "-p", "-t", "-v", "-z", "-Z") else given.values("-d") or ["."]
    else:
        given = sort_tar(command.args)
        extracts = given.has("-x", "--extract", "--get") and not given.has("-O", "--to-stdout")
        into = given.values("-C", "--directory") or ["."] if extracts else []
    yield from (Change(Deed.FILLS, each) for each in into)


def _in_editor(command: Command) -> Iterator[Change]:
    """ed, ex, vim: if they are told to write."""
    given = taking(("-p",) if command.name == "ed" else ("-c", "-S", "-u", "--cmd")).sort(command.args)
    told = [*given.values("-c"), *(word[1:] for word in given.operands if word[:1] == "+"), command.stdin or ""]
    if any(_TO_WRITE.search(text) for text in told):
        yield from (Change(Deed.FILLS, each) for each in given.operands if each[:1] != "+")


def _as_root(command: Command) -> Iterator[Change]:
    """sudoedit, `sudo -e`."""
    if command.name == "sudoedit" or SUDO.leading(command.argv).has("-e", "--edit"):
        yield from (Change(Deed.FILLS, each) for each in SUDO.command(command.argv))


def _patched(command: Command) -> Iterator[Change]:
    if command.has("--dry-run"):
        return
    files = command.given.values("-o", "--output") or command.operands()[:1]
    yield from (Change(Deed.FILLS, each) for each in (*files, *command.given.values("-d", "--directory")))


def _awk(command: Command) -> Iterator[Change]:
    """`gawk -i inplace`."""
    if not any("inplace" in word for word in command.args):
        return
    given = taking(("-i", "-f", "-v", "-F", "--include", "--file", "--assign", "--field-separator")).sort(command.args)
    if "inplace" in given.values("-i", "--include"):
        scripted = given.has("-f", "--file")
        yield from (Change(Deed.FILLS, each) for each in given.operands[0 if scripted else 1 :])


def _yq(command: Command) -> Iterator[Change]:
    if command.has("-i", "--inplace", "--in-place"):
        operands = command.operands("-o", "-p", "-I", "--output-format", "--input-format", "--indent", "--from-file")
        verb = 1 if operands[:1] in (["eval"], ["e"], ["eval-all"], ["ea"]) else 0
        yield from (Change(Deed.FILLS, each) for each in operands[verb + 1 :])


def _sent(command: Command) -> Iterator[Change]:
    """scp: to the last operand, if that is here."""
    operands = command.operands()
    if len(operands) > 1 and ":" not in operands[-1].partition("/")[0]:
        yield Change(Deed.FILLS, operands[-1])


def _listed(command: Command) -> Iterator[Change]:
    """find: what it has found goes to a file."""
    for word, after in pairwise(command.args):
        if word in ("-fprint", "-fprint0", "-fprintf", "-fls"):
            yield Change(Deed.FILLS, after)


_PROGRAMS: dict[str, Callable[[Command], Iterator[Change]]] = {
    **dict.fromkeys(("cp", "mv", "install", "ln", "rsync"), _copied),
    **dict.fromkeys(("dd", "dcfldd", "dc3dd"), _dd),
    **dict.fromkeys(("sed", "gsed"), _edited),
    **dict.fromkeys(("perl", "ruby"), _in_place),
    **dict.fromkeys(("ed", "ex", "vi", "vim", "nvim"), _in_editor),
    **dict.fromkeys(("sudo", "sudoedit"), _as_root),
    **dict.fromkeys(("awk", "gawk"), _awk),
    **dict.fromkeys(("find", "gfind"), _listed),
    "patch": _patched,
    "yq": _yq,
    "scp": _sent,
    **dict.fromkeys(("chmod", "chown", "chgrp"), _marked),
    **dict.fromkeys(("curl", "wget"), _fetched),
    **dict.fromkeys(("gpg", "sort", "openssl", "pv"), _to_output),
    **dict.fromkeys(("tar", "bsdtar", "unzip"), _unpacked),
    **dict.fromkeys(("qemu-img", "bmaptool"), _imaged),
    "ddrescue": lambda command: (Change(Deed.FILLS, each) for each in command.operands()[1:2]),
    "tee": _of(Deed.FILLS),
    "sponge": _of(Deed.FILLS),
    "touch": _of(Deed.FILLS),
    "truncate": _of(Deed.FILLS),
    "fallocate": _of(Deed.FILLS),
    "mkdir": _of(Deed.MAKES),
    "rm": _of(Deed.TAKES),
    "rmdir": _of(Deed.TAKES),
    "unlink": _of(Deed.TAKES),
    "shred": _of(Deed.FILLS),
}

WRITERS = (WRITES, *_PROGRAMS)
"""For `Rule.commands` of a rule that asks for `changes`."""

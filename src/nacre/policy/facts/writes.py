"""Find the files that a command would change: by redirections, or by the known effect of the program's arguments.

Knows common programs, in their usual uses; any other one is assumed to change files only through redirections.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum, auto
from itertools import pairwise
from typing import NamedTuple

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import WRITES
from nacre.shell import Command
from nacre.shell.option_tables import SUDO, parse_tar_options
from nacre.shell.options import spec_for
from nacre.shell.paths import absolute
from nacre.shell.symbolic import has_glob

_TO_WRITE = lazy_regex(r"(?:^|[|\n:])[ \t]*[\d,%$.]*(?:w|wq|x|up|wa|wqa|xa)!?[ \t]*(?=$|[|\n])")


class WriteKind(Enum):
    """Kinds of changes to a file."""

    WRITE = auto()
    """The file is created, or its contents change."""
    REMOVE = auto()
    """The file is removed."""
    CHANGE_MODE = auto()
    """The owner or mode changes."""
    CREATE_DIRECTORY = auto()
    """A directory is created."""


class Change(NamedTuple):
    """A change to a file, which `target` names as the command does."""

    kind: WriteKind
    target: str


def changes(command: Command) -> tuple[Change, ...]:
    """Return the changes that a command would make to files."""
    known = command.cache.get("changes")
    if not isinstance(known, tuple):
        known = command.cache["changes"] = tuple(_changes(command))
    return known


def written_paths(command: Command) -> str:
    """Return the paths of all changed files in one text: a rule stops early if its own path is not in that."""
    known = command.cache.get("touched")
    if not isinstance(known, str):
        paths = [absolute(target, command.cwd) for _, target in changes(command)]
        known = command.cache["touched"] = "\n".join(paths)
    return known


def _changes(command: Command) -> Iterator[Change]:
    for opened in command.redirects:
        if opened.writes:
            yield Change(WriteKind.WRITE, opened.target)
    look = _PROGRAMS.get(command.name)
    if look is None and has_glob(command.name):  # `/bin/t?e`
        look = next((each for name, each in _PROGRAMS.items() if command.runs(name)), None)
    if look is not None:
        yield from look(command)


def _all_operands(deed: WriteKind) -> Callable[[Command], Iterator[Change]]:
    """Return a function that yields a change of every operand."""
    return lambda command: (Change(deed, each) for each in command.operands())


def _copy_targets(command: Command) -> Iterator[Change]:
    """cp, mv, install, ln, rsync: they write to the last operand, or to the directory of `-t`."""
    operands = command.operands()
    into = [] if command.name == "rsync" else command.parsed.values("-t", "--target-directory")
    sources = operands if into else operands[:-1]
    if command.name == "install" and command.has_flag("-d", "--directory"):
        yield from (Change(WriteKind.CREATE_DIRECTORY, each) for each in operands)
        return
    for each in into or operands[-1:]:
        if into or len(operands) > 1:
            yield Change(WriteKind.WRITE, each)
    if command.name == "mv":
        yield from (Change(WriteKind.REMOVE, each) for each in sources)


def _dd_targets(command: Command) -> Iterator[Change]:
    for word in command.args:
        if word.startswith(("of=", "ofs=")):
            yield Change(WriteKind.WRITE, word.partition("=")[2])


def _image_targets(command: Command) -> Iterator[Change]:
    """qemu-img, bmaptool: the file follows a subcommand."""
    operands = command.operands()
    if operands[:1] == ["create"]:
        yield from (Change(WriteKind.WRITE, each) for each in operands[1:2])
    elif operands[:1] in (["convert"], ["copy"]) and len(operands) > 2:
        yield Change(WriteKind.WRITE, operands[-1])
    elif operands[:1] == ["dd"]:
        yield from _dd_targets(command)


def _sed_targets(command: Command) -> Iterator[Change]:
    """sed with `-i`; the first operand is the script, unless an option has it."""
    given = command.parsed
    if given.has("-i", "-I", "--in-place"):
        scripted = given.has("-e", "-f", "--expression", "--file")
        yield from (Change(WriteKind.WRITE, each) for each in given.operands[0 if scripted else 1 :])


def _inplace_targets(command: Command) -> Iterator[Change]:
    """perl and ruby with `-i`, like `_sed_targets`. In `-pie`, `e` is the suffix of `-i`; the script still follows."""
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
        yield from (Change(WriteKind.WRITE, each) for each in found[0 if scripted else 1 :])


def _mode_targets(command: Command) -> Iterator[Change]:
    """chmod, chown, chgrp: the first operand is the mode or owner."""
    given = command.has_flag("--reference") or any(re.fullmatch(r"-[rwxXst]+", word) for word in command.options())
    yield from (Change(WriteKind.CHANGE_MODE, each) for each in command.operands()[0 if given else 1 :])


def _download_targets(command: Command) -> Iterator[Change]:
    if command.name == "curl":
        files = command.parsed.values("-o", "--output", "--output-dir")
        if command.has_flag("-O", "--remote-name", "--remote-name-all") and not command.parsed.has("--output-dir"):
            files.append(".")
    else:
        files = command.parsed.values("-O", "--output-document", "-P", "--directory-prefix") or ["."]
    yield from (Change(WriteKind.WRITE, each) for each in files if each != "-")


def _output_option_targets(command: Command) -> Iterator[Change]:
    """gpg, sort, pv: `-o file`; openssl: `-out file`."""
    if command.name == "openssl":
        files = [after for word, after in pairwise(command.argv) if word == "-out"]
    else:
        files = command.parsed.values("-o", "--output")
    yield from (Change(WriteKind.WRITE, each) for each in files if each != "-")


def _archive_targets(command: Command) -> Iterator[Change]:
    if command.name == "unzip":
        given = spec_for(("-d", "-P", "-x")).parse(command.args)
        into = [] if given.has("-l", "-p", "-t", "-v", "-z", "-Z") else given.values("-d") or ["."]
    else:
        given = parse_tar_options(command.args)
        extracts = given.has("-x", "--extract", "--get") and not given.has("-O", "--to-stdout")
        into = given.values("-C", "--directory") or ["."] if extracts else []
    yield from (Change(WriteKind.WRITE, each) for each in into)


def _editor_targets(command: Command) -> Iterator[Change]:
    """ed, ex, vim: if their commands write."""
    given = spec_for(("-p",) if command.name == "ed" else ("-c", "-S", "-u", "--cmd")).parse(command.args)
    told = [*given.values("-c"), *(word[1:] for word in given.operands if word[:1] == "+"), command.stdin or ""]
    if any(_TO_WRITE.search(text) for text in told):
        yield from (Change(WriteKind.WRITE, each) for each in given.operands if each[:1] != "+")


def _sudoedit_targets(command: Command) -> Iterator[Change]:
    """sudoedit, `sudo -e`."""
    if command.name == "sudoedit" or SUDO.leading(command.argv).has("-e", "--edit"):
        yield from (Change(WriteKind.WRITE, each) for each in SUDO.command(command.argv))


def _patch_targets(command: Command) -> Iterator[Change]:
    if command.has_flag("--dry-run"):
        return
    files = command.parsed.values("-o", "--output") or command.operands()[:1]
    yield from (Change(WriteKind.WRITE, each) for each in (*files, *command.parsed.values("-d", "--directory")))


def _awk_targets(command: Command) -> Iterator[Change]:
    """`gawk -i inplace`."""
    if not any("inplace" in word for word in command.args):
        return
    given = spec_for(("-i", "-f", "-v", "-F", "--include", "--file", "--assign", "--field-separator")).parse(
        command.args
    )
    if "inplace" in given.values("-i", "--include"):
        scripted = given.has("-f", "--file")
        yield from (Change(WriteKind.WRITE, each) for each in given.operands[0 if scripted else 1 :])


def _yq_targets(command: Command) -> Iterator[Change]:
    if command.has_flag("-i", "--inplace", "--in-place"):
        operands = command.operands("-o", "-p", "-I", "--output-format", "--input-format", "--indent", "--from-file")
        verb = 1 if operands[:1] in (["eval"], ["e"], ["eval-all"], ["ea"]) else 0
        yield from (Change(WriteKind.WRITE, each) for each in operands[verb + 1 :])


def _scp_targets(command: Command) -> Iterator[Change]:
    """scp: writes to the last operand, if that is local."""
    operands = command.operands()
    if len(operands) > 1 and ":" not in operands[-1].partition("/")[0]:
        yield Change(WriteKind.WRITE, operands[-1])


def _find_output_targets(command: Command) -> Iterator[Change]:
    """find: writes what it has found to a file."""
    for word, after in pairwise(command.args):
        if word in ("-fprint", "-fprint0", "-fprintf", "-fls"):
            yield Change(WriteKind.WRITE, after)


_PROGRAMS: dict[str, Callable[[Command], Iterator[Change]]] = {
    **dict.fromkeys(("cp", "mv", "install", "ln", "rsync"), _copy_targets),
    **dict.fromkeys(("dd", "dcfldd", "dc3dd"), _dd_targets),
    **dict.fromkeys(("sed", "gsed"), _sed_targets),
    **dict.fromkeys(("perl", "ruby"), _inplace_targets),
    **dict.fromkeys(("ed", "ex", "vi", "vim", "nvim"), _editor_targets),
    **dict.fromkeys(("sudo", "sudoedit"), _sudoedit_targets),
    **dict.fromkeys(("awk", "gawk"), _awk_targets),
    **dict.fromkeys(("find", "gfind"), _find_output_targets),
    "patch": _patch_targets,
    "yq": _yq_targets,
    "scp": _scp_targets,
    **dict.fromkeys(("chmod", "chown", "chgrp"), _mode_targets),
    **dict.fromkeys(("curl", "wget"), _download_targets),
    **dict.fromkeys(("gpg", "sort", "openssl", "pv"), _output_option_targets),
    **dict.fromkeys(("tar", "bsdtar", "unzip"), _archive_targets),
    **dict.fromkeys(("qemu-img", "bmaptool"), _image_targets),
    "ddrescue": lambda command: (Change(WriteKind.WRITE, each) for each in command.operands()[1:2]),
    "tee": _all_operands(WriteKind.WRITE),
    "sponge": _all_operands(WriteKind.WRITE),
    "touch": _all_operands(WriteKind.WRITE),
    "truncate": _all_operands(WriteKind.WRITE),
    "fallocate": _all_operands(WriteKind.WRITE),
    "mkdir": _all_operands(WriteKind.CREATE_DIRECTORY),
    "rm": _all_operands(WriteKind.REMOVE),
    "rmdir": _all_operands(WriteKind.REMOVE),
    "unlink": _all_operands(WriteKind.REMOVE),
    "shred": _all_operands(WriteKind.WRITE),
}

WRITERS = (WRITES, *_PROGRAMS)
"""Value of `Rule.commands` for a rule that uses `changes`."""

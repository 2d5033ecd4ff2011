"""`nacre profiles`: prints all profiles side by side; `nacre profiles NAME…`: some of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from textwrap import wrap

from nacre.cli.common.arguments import Arguments
from nacre.cli.common.messages import write_json, write_out
from nacre.cli.common.terminal import size
from nacre.profiles import NAMES, profile_named
from nacre.profiles.table import facts, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser

_MAX_CELL_COLUMNS = 34
"""Widest cell."""


class _Arguments(Arguments):
    COMMAND = "profiles"
    USAGE = (("[--json]", "compare the variants of the tool"), ("[--json] NAME…", "some of them"))
    EPILOG = """\
A profile has a tool description, limits, a policy and an answer format. `nacre run --profile NAME`
uses one, `nacre schema --profile NAME` prints its tool for a model.

exit codes: 0; 125 unknown profile, or nacre itself failed.
"""
    MAX_OPERANDS = None

    json = False

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        parser.add_argument("--json", action="store_true", help="as one JSON object")


def profiles(words: list[str]) -> int:
    args = _Arguments.parse(words)
    known = [profile_named(name) for name in args.operands or NAMES]
    if args.json:
        write_json({"profiles": [{"name": profile.name, **facts(profile)} for profile in known]})
    else:
        write_out("".join(f"{line}\n" for line in _lines(table(known), size()[0])))
    return 0


def _lines(rows: list[list[str]], width: int) -> Iterator[str]:
    """Yield the table: as many profiles side by side as fit without breaking a word, the others below."""
    labels = max(len(row[0]) for row in rows) + 2
    longest = max(len(word) for row in rows for cell in row[1:] for word in cell.split())
    count = len(rows[0]) - 1
    abreast = max(1, min(count, (width - labels) // (longest + 2)))
    room = max(longest, min((width - labels) // abreast - 2, _MAX_CELL_COLUMNS))
    for first in range(1, count + 1, abreast):
        for label, *cells in [[row[0], *row[first : first + abreast]] for row in rows]:
            wrapped = [wrap(cell, room, break_on_hyphens=False) for cell in cells]
            for head, *line in zip_longest([label], *wrapped, fillvalue=""):
                yield "".join((f"{head:<{labels}}", *(f"{cell:<{room + 2}}" for cell in line))).rstrip()
            if not label or max(map(len, wrapped)) > 1:
                yield ""

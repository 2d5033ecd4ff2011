"""`nacre doctor`: prints what this machine supports, in a few lines.

Exit code 0 if commands can be run and confined here, else 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacre import __version__
from nacre.cli.common.arguments import Arguments
from nacre.cli.common.messages import write_json, write_out

if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser
    from nacre.cli.info.doctor_check import Check


class _Arguments(Arguments):
    COMMAND = "doctor"
    USAGE = (("[--json]", ""),)
    DESCRIPTION = """\
Tests what this machine supports, and says how to add what is missing.
Exit code 0 if commands can be run and sandboxed here, else 1.
"""

    json = False

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        parser.add_argument("--json", action="store_true", help="as one JSON object")


def doctor(words: list[str]) -> int:
    args = _Arguments.parse(words)
    from nacre.cli.info.probes import examine

    ok, checks = examine()
    if args.json:
        write_json({"ok": ok, "version": __version__, "checks": [check.to_dict() for check in checks]})
    else:
        write_out("".join(f"{line}\n" for line in _lines(checks)))
    return 0 if ok else 1


def _lines(checks: list[Check]) -> list[str]:
    name = max(len(check.name) for check in checks) + 2
    status = max(len(check.status) for check in checks) + 2
    lines: list[str] = []
    for check in checks:
        lines.append(f"{check.name:<{name}}{check.status:<{status}}{check.detail}".rstrip())
        if check.remedy:
            lines.append(f"{'':<{name + status}}→ {check.remedy}")
    return lines

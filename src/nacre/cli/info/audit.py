"""`nacre audit`: prints the records of an audit trail, one line each. Does not load asyncio."""

from __future__ import annotations

import os
from collections import deque

from nacre.base.units import format_duration
from nacre.cli.common.arguments import Arguments
from nacre.cli.common.messages import notice, write_json, write_out
from nacre.cli.tasks.table import width
from nacre.config import load_if_configured
from nacre.observe.audit import VARIABLE, Audit, default_path
from nacre.observe.audit_reader import AuditReader, AuditRecord
from nacre.views.console.escape import cut, escape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from nacre.cli.common.parser import OptionParser

_MAX_DURATION_S = 1e9
"""Longest duration that is shown: nacre never wrote a longer one."""


class _Arguments(Arguments):
    COMMAND = "audit"
    USAGE = (
        (
            "[options] [TEXT]",
            "runs in an audit trail, oldest first; TEXT: only those whose command contains it",
        ),
    )
    EPILOG = f"""\
{VARIABLE}, the setting `audit` or `Bash(observers=(Audit(),))` keeps a trail. Older files,
.1 and so on, are read as well.

  TIME OUTCOME DURATION BYTES CALLER COMMAND

exit codes: 0; 125 nacre itself failed; 130 Ctrl-C.
"""
    MAX_OPERANDS = 1

    last = 50
    follow = False
    outcome: str | None = None
    rule: str | None = None
    caller: str | None = None
    conversation: str | None = None
    json = False
    file: str | None = None

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        from nacre.cli.common.parser import count

        add = parser.add_argument
        add("-n", "--last", type=count, metavar="N", help=f"only the latest N (default: {cls.last}; 0: all)")
        add("-f", "--follow", action="store_true", help="print new ones until Ctrl-C")
        add(
            "--outcome",
            metavar="KIND",
            help="exited, timed_out, refused, cancelled, running, …; of a hook passed, asked, refused; "
            "failed: everything that did not succeed",
        )
        add("--rule", metavar="ID", help="with a finding of this rule")
        add("--caller", metavar="NAME", help="started by this program or adapter")
        add("--conversation", metavar="ID", help="of this conversation")
        add("--json", action="store_true", help="each as recorded, one JSON object on a line")
        add(
            "--file",
            metavar="PATH",
            help="the trail (default: the file in the setting, or audit.jsonl in nacre's state directory)",
        )


def audit(words: list[str]) -> int:
    args = _Arguments.parse(words)
    trail = AuditReader(_path(args.file))
    found = (record for record in trail.records() if _fits(record, args))
    for record in deque(found, maxlen=args.last) if args.last else found:
        _show(record, as_json=args.json)
    if trail.unreadable:
        notice(f"{trail.unreadable} lines are unreadable.")
    if not trail.files():
        notice(f"No audit trail at {trail.path}; {VARIABLE}=1 keeps one.")
    if args.follow:
        for record in trail.follow():
            if _fits(record, args):
                _show(record, as_json=args.json)
    return 0


def complain(observers: Iterable[object]) -> None:
    """Print a notice for each audit trail in which the run could not be recorded."""
    for observer in observers:
        if isinstance(observer, Audit) and observer.problem:
            notice(f"This run is not in the audit trail {observer.path}: {observer.problem}.")


def _path(file: str | None) -> str:
    if file:
        return os.path.abspath(file)
    config = load_if_configured()
    wanted = None if config is None else config.get("audit")
    return wanted if isinstance(wanted, str) else default_path()


def _fits(record: AuditRecord, args: _Arguments) -> bool:
    wanted = {"caller": args.caller, "conversation": args.conversation}
    if any(value is not None and record.get(name) != value for name, value in wanted.items()):
        return False
    if args.rule is not None and _part(record, "verdict").get("rule") != args.rule:
        return False
    if args.outcome == "failed":
        if _is_success(record):
            return False
    elif args.outcome is not None and _part(record, "outcome").get("kind") != args.outcome:
        return False
    return not args.operands or args.operands[0] in str(record.get("command", ""))


def _part(record: AuditRecord, name: str) -> AuditRecord:
    part = record.get(name)
    return part if isinstance(part, dict) else {}


def _is_success(record: AuditRecord) -> bool:
    """Return whether the run succeeded, or nothing is known to have failed."""
    outcome = _part(record, "outcome")
    kind = outcome.get("kind")
    return outcome.get("code") == 0 if kind == "exited" else kind in ("running", "passed", "asked")


def _show(record: AuditRecord, *, as_json: bool) -> None:
    if as_json:
        write_json(record)
        return
    output = _part(record, "bytes").get("output")
    size = str(output) if isinstance(output, int) else "?"
    duration = record.get("duration")
    took = "?"
    if isinstance(duration, int | float) and 0 <= duration < _MAX_DURATION_S:
        took = format_duration(duration)
    row = (
        f"{str(record.get('time', '?'))[:19].replace('T', ' ')}  {_outcome(record):12}  {took:>7}  {size:>9}  "
        f"{record.get('caller') or '-'}  {record.get('command', '?')}"
    )
    write_out(cut(escape_text(row), width()) + "\n")


def _outcome(record: AuditRecord) -> str:
    outcome = _part(record, "outcome")
    kind = str(outcome.get("kind") or record.get("error") or "?")
    return f"exit {outcome.get('code')}" if kind == "exited" else kind.replace("_", " ")

"""`nacre audit`: prints the records of an audit trail, one line each. Loads neither asyncio nor argparse."""

from __future__ import annotations

import os
from collections import deque

from nacre.cli.common.messages import notice, write_json, write_out
from nacre.cli.common.parser import ParsedArgs, int_option, parse_args
from nacre.cli.common.usage import UsageError
from nacre.cli.tasks.table import width
from nacre.config import load_if_configured
from nacre.observe.audit import VARIABLE, Audit, default_path
from nacre.observe.audit_reader import AuditReader, AuditRecord
from nacre.views.console.escape import cut, escape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_HELP = f"""\
usage: nacre audit [options] [TEXT]     runs in an audit trail, oldest first; TEXT: only those whose command contains it

  -n N, --last N      only the latest N (default: 50; 0: all)
  -f, --follow        print new ones until Ctrl-C
  --outcome KIND      exited, timed_out, refused, cancelled, running, …; of a hook passed, asked, refused;
                      failed: everything that did not succeed
  --rule ID           with a finding of this rule
  --caller NAME       started by this program or adapter
  --conversation ID   of this conversation
  --json              each as recorded, one JSON object on a line
  --file PATH         the trail (default: the file in the setting, or audit.jsonl in nacre's state directory)

{VARIABLE}, the setting `audit` or `Bash(observers=(Audit(),))` keeps a trail. Older files,
.1 and so on, are read as well.

  TIME OUTCOME DURATION BYTES CALLER COMMAND

exit codes: 0; 125 nacre itself failed; 130 Ctrl-C.
"""
_DEFAULT_RECORDS = 50
_MAX_DURATION_S = 1e9
"""Longest duration that is shown: nacre never wrote a longer one."""


def audit(words: list[str]) -> int:
    args = parse_args(
        "audit",
        [{"-n": "--last", "-f": "--follow"}.get(word, word) for word in words],
        flags=("--json", "--follow"),
        valued=("--last", "--outcome", "--rule", "--caller", "--conversation", "--file"),
        takes=(0, 1),
    )
    if "--help" in args:
        write_out(_HELP)
        return 0
    trail = AuditReader(_path(args))
    last = int_option(args, "--last")
    if last is not None and last < 0:
        raise UsageError(f"--last {last} is not a number of records.", "Give 0 for all of them.", field="last")
    as_json = "--json" in args
    found = (record for record in trail.records() if _fits(record, args))
    for record in found if last == 0 else deque(found, maxlen=_DEFAULT_RECORDS if last is None else last):
        _show(record, as_json=as_json)
    if trail.unreadable:
        notice(f"{trail.unreadable} lines are unreadable.")
    if not trail.files():
        notice(f"No audit trail at {trail.path}; {VARIABLE}=1 keeps one.")
    if "--follow" in args:
        for record in trail.follow():
            if _fits(record, args):
                _show(record, as_json=as_json)
    return 0


def complain(observers: Iterable[object]) -> None:
    """Print a notice for each audit trail in which the run could not be recorded."""
    for observer in observers:
        if isinstance(observer, Audit) and observer.problem:
            notice(f"This run is not in the audit trail {observer.path}: {observer.problem}.")


def _path(args: ParsedArgs) -> str:
    if given := args.last("--file"):
        return os.path.abspath(given)
    config = load_if_configured()
    wanted = None if config is None else config.get("audit")
    return wanted if isinstance(wanted, str) else default_path()


def _fits(record: AuditRecord, args: ParsedArgs) -> bool:
    wanted = {"caller": args.last("--caller"), "conversation": args.last("--conversation")}
    if any(value is not None and record.get(name) != value for name, value in wanted.items()):
        return False
    rule = args.last("--rule")
    if rule is not None and _part(record, "verdict").get("rule") != rule:
        return False
    kind = args.last("--outcome")
    if kind == "failed":
        if _is_success(record):
            return False
    elif kind is not None and _part(record, "outcome").get("kind") != kind:
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
    took = f"{duration:.1f}s" if isinstance(duration, int | float) and 0 <= duration < _MAX_DURATION_S else "?"
    row = (
        f"{str(record.get('time', '?'))[:19].replace('T', ' ')}  {_outcome(record):12}  {took:>7}  {size:>9}  "
        f"{record.get('caller') or '-'}  {record.get('command', '?')}"
    )
    write_out(cut(escape_text(row), width()) + "\n")


def _outcome(record: AuditRecord) -> str:
    outcome = _part(record, "outcome")
    kind = str(outcome.get("kind") or record.get("error") or "?")
    return f"exit {outcome.get('code')}" if kind == "exited" else kind.replace("_", " ")

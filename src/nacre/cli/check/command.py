"""`nacre check`: prints the checker's verdict on a command. Nothing is run.

Starts fast, because agents call it before each of their commands: no asyncio, argparse and `json` only on request.
"""

from __future__ import annotations

from nacre.approval.check import check as verdict_on
from nacre.cli.check.arguments import CheckOptions, read_command
from nacre.cli.common.arguments import Arguments
from nacre.cli.common.messages import printable, write_json, write_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser
    from nacre.verdict import Verdict


class _Arguments(Arguments):
    COMMAND = "check"
    USAGE = (("[options] 'command'", "may it run? runs nothing"),)
    EPILOG = """\
exit codes: 0 allow; 1 ask a person first; 2 refuse; 3 nacre itself failed, or a line could not be read.
With --jsonl the highest of all lines. `nacre explain` draws what would run, `nacre rules` lists the rules.
"""
    MAX_OPERANDS = 1
    TAKES_COMMAND = True

    json = False
    jsonl = False

    def __init__(self) -> None:
        self.context = CheckOptions()

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        add = parser.add_argument
        add("--json", action="store_true", help="print the verdict as one JSON object")
        add(
            "--jsonl",
            action="store_true",
            help='check many: each line of stdin is a JSON string, or an object with "command" and optionally '
            '"cwd", "env", "stdin"; prints one line for each, in order',
        )
        CheckOptions.add_options(parser)


def check(words: list[str]) -> int:
    """Run `nacre check` and return its exit code, the strictness of the verdict."""
    args = _Arguments.parse(words)
    if args.jsonl:
        from nacre.cli.check.jsonl import check_lines

        return check_lines(args.operands, args.context)
    command, ctx = read_command(args), args.context
    verdict = verdict_on(
        command, cwd=ctx.cwd, env=dict(ctx.env or ()), stdin=ctx.stdin, policy=ctx.load_policy(ctx.cwd)
    )
    if args.json:
        write_json({"command": command, **verdict.to_dict()})
    else:
        write_out(_lines(verdict, command))
    return verdict.decision.strictness


def _lines(verdict: Verdict, command: str) -> str:
    if verdict.allowed:
        return f"allow {printable(verdict.permitted)}".rstrip() + "\n"
    lines = [f"{verdict.decision} {verdict.rule}: {verdict.reason}"]
    if verdict.findings:
        lines.append(f"  {_where(verdict, command)}")
    return "".join(f"{printable(line)}\n" for line in lines)


def _where(verdict: Verdict, command: str) -> str:
    first = verdict.findings[0]
    line = command.count("\n", 0, first.start) + 1
    column = first.start - command.rfind("\n", 0, first.start)
    via = f", in {' › '.join(first.via)}" if first.via else ""
    more = len(verdict.findings) - 1
    rest = f"; {more} more: nacre explain shows all" if more else ""
    return f"at line {line}, column {column}{via}{rest}"

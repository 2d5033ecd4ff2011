"""`nacre check`: prints the checker's verdict on a command. Nothing is run.

Starts fast, because agents call it before each of their commands: no asyncio, no argparse, `json` only on request.
"""

from __future__ import annotations

from nacre.approval.check import check as verdict_on
from nacre.cli.common.messages import printable, write_json, write_out
from nacre.cli.common.parser import parse_args, policy_of, variables
from nacre.cli.common.stdin import command_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.verdict import Verdict

_HELP = """\
usage: nacre check [options] 'command'     may it run? runs nothing

  'command'           shell text, as one argument; without it, or with -, it is read from stdin
  --json              print the verdict as one JSON object
  --jsonl             check many: each line of stdin is a JSON string, or an object with "command" and
                      optionally "cwd", "env", "stdin"; prints one line for each, in order
  --cwd DIR           where it would run (default: here)
  --env NAME=VALUE    a variable that it would get (may be repeated)
  --stdin TEXT        the input that it would get: a script, where a shell would read it
  --no-config         use only nacre's built-in rules; ignore the configuration (see: nacre config)

exit codes: 0 allow; 1 ask a person first; 2 refuse; 3 nacre itself failed, or a line could not be read.
With --jsonl the highest of all lines. `nacre explain` draws what would run, `nacre rules` lists the rules.
"""


def check(words: list[str]) -> int:
    """Run `nacre check` and return its exit code, the strictness of the verdict."""
    args = parse_args("check", words, flags=("--json", "--jsonl", "--no-config"), valued=("--cwd", "--env", "--stdin"))
    if "--help" in args:
        write_out(_HELP)
        return 0
    if "--jsonl" in args:
        from nacre.cli.check.jsonl import check_lines

        return check_lines(args)
    command = command_of("check", args)
    verdict = verdict_on(
        command,
        cwd=args.last("--cwd"),
        env=variables(args),
        stdin=args.last("--stdin"),
        policy=policy_of(args, args.last("--cwd")),
    )
    if "--json" in args:
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

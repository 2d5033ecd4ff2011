"""`nacre explain`: draws what a command would run, and the checker's verdict on it. Nothing is run."""

from __future__ import annotations

from nacre.approval.check import check_script
from nacre.cli.check.tree import tree
from nacre.cli.check.tree_drawing import draw
from nacre.cli.common.messages import write_json, write_out
from nacre.cli.common.parser import parse_args, policy_of, variables
from nacre.cli.common.stdin import command_of
from nacre.cli.common.terminal import has_colour

_HELP = """\
usage: nacre explain [options] 'command'     what would run, and the verdict; runs nothing

  'command'           shell text, as one argument; without it, or with -, it is read from stdin
  --json              the tree and the verdict as one JSON object
  --cwd DIR           where it would run (default: here)
  --env NAME=VALUE    a variable that it would get (may be repeated)
  --stdin TEXT        the input that it would get: a script, where a shell would read it
  --no-config         use only nacre's built-in rules; ignore the configuration

Each command is drawn below the one that would run it. Colour on a terminal only, and not with NO_COLOR.
exit codes: 0 allow; 1 ask a person first; 2 refuse; 3 nacre itself failed.
"""


def explain(words: list[str]) -> int:
    args = parse_args("explain", words, flags=("--json", "--no-config"), valued=("--cwd", "--env", "--stdin"))
    if "--help" in args:
        write_out(_HELP)
        return 0
    command = command_of("explain", args)
    script, verdict = check_script(
        command,
        cwd=args.last("--cwd"),
        env=variables(args),
        stdin=args.last("--stdin"),
        policy=policy_of(args, args.last("--cwd")),
    )
    roots = tree(script, verdict)
    if "--json" in args:
        write_json(
            {
                "command": command,
                **verdict.to_dict(),
                "broken": script.syntax_error,
                "unread": script.gave_up,
                "tree": [root.to_dict() for root in roots],
            }
        )
    else:
        write_out("".join(f"{line}\n" for line in draw(script, verdict, roots, colour=has_colour())))
    return verdict.decision.strictness

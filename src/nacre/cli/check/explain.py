"""`nacre explain`: draws what a command would run, and the checker's verdict on it. Nothing is run."""

from __future__ import annotations

from nacre.approval.check import check_script
from nacre.cli.check.arguments import CheckOptions, read_command
from nacre.cli.check.tree import tree
from nacre.cli.check.tree_drawing import draw
from nacre.cli.common.arguments import Arguments
from nacre.cli.common.messages import write_json, write_out
from nacre.cli.common.terminal import has_colour

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser


class _Arguments(Arguments):
    COMMAND = "explain"
    USAGE = (("[options] 'command'", "what would run, and the verdict; runs nothing"),)
    EPILOG = """\
Each command is drawn below the one that would run it. Colour on a terminal only, and not with NO_COLOR.
exit codes: 0 allow; 1 ask a person first; 2 refuse; 3 nacre itself failed.
"""
    MAX_OPERANDS = 1
    TAKES_COMMAND = True

    json = False

    def __init__(self) -> None:
        self.context = CheckOptions()

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        parser.add_argument("--json", action="store_true", help="the tree and the verdict as one JSON object")
        CheckOptions.add_options(parser)


def explain(words: list[str]) -> int:
    args = _Arguments.parse(words)
    command, ctx = read_command(args), args.context
    script, verdict = check_script(
        command, cwd=ctx.cwd, env=dict(ctx.env or ()), stdin=ctx.stdin, policy=ctx.load_policy(ctx.cwd)
    )
    roots = tree(script, verdict)
    if args.json:
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

"""gh-delete: deletes a repository, or parts of it, on its host.

Why      issues, releases and history are deleted for everyone; only the host can restore a repository.
Instead  archive it, or let the user delete it.
Misses   the same request through curl; GraphQL mutations.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import parse_options, render, which_program
from nacre.shell.command import Command
from nacre.verdict import Decision

_VALUED = "method= field= raw-field= header= hostname= input= jq= preview= template= repo= cache="


def match(command: Command, _: CheckContext) -> Hit | None:
    if not which_program(command, "gh", "glab"):
        return None
    given = parse_options(command.args, "XfFHqptR", _VALUED)
    if given.has("--help"):
        return None
    words = render(*command.argv)
    if given.operands[:2] in (["repo", "delete"], ["project", "delete"]):
        return Hit(words, instead="`gh repo archive`, which can be undone")
    methods = given.values("-X", "--method")
    if given.operands[:1] == ["api"] and methods and methods[-1].upper() == "DELETE":
        return Hit(words, "would delete it on the host, for everybody")
    return None


RULE = Rule(
    id="gh-delete",
    decision=Decision.ASK,
    reason="would delete the repository on its host, with its issues and releases",
    instead="show the user what would be deleted, and let them do it",
    commands=("gh", "glab"),
    match=match,
    hits=(
        "gh repo delete o/r --yes",
        "gh repo delete",
        "gh api -X DELETE repos/o/r",
        "gh api -XDELETE /repos/o/r/git/refs/heads/x",
        "gh api --method=DELETE repos/o/r/releases/1",
        "gh api repos/o/r --method delete",
        "glab repo delete o/r",
        "sudo bash -c 'gh repo delete o/r --yes'",
    ),
    passes=(
        "gh repo view o/r",
        "gh repo archive o/r",
        "gh api repos/o/r",
        "gh api -X POST repos/o/r/issues -f title=DELETE",
        "gh pr create --title 'repo delete'",
        "gh repo delete --help",
        "gh pr merge --delete-branch 12",
        "gh search repos delete",
    ),
)

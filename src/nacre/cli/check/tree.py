"""Builds the tree of a script: each command below the one that would run it. Pure."""

from __future__ import annotations

from nacre.shell.symbolic import to_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.shell import Command, Script
    from nacre.verdict import Finding, Verdict


class Branch:
    """One command, and the commands that it would run."""

    __slots__ = ("children", "command", "findings")

    def __init__(self, command: Command) -> None:
        self.command = command
        self.children: list[Branch] = []
        self.findings: list[Finding] = []

    @property
    def words(self) -> str:
        """The command as a user would write it, without the part that its children show."""
        words = [to_display(word) for word in self._own()]
        redirects = [f"{each.descriptor}{each.operator} {to_display(each.target)}" for each in self.command.redirects]
        assigned = [f"{name}={to_display(value)}" for name, value in self.command.assigned.items()]
        return " ".join((*assigned, *words, *redirects))

    def _own(self) -> tuple[str, ...]:
        argv = self.command.argv
        if not self.children or not argv:
            return argv
        if self.command.script is not None and self.command.script in argv[1:]:
            at = argv.index(self.command.script, 1)
            return argv[:at] + (("…", *argv[at + 1 :]) if argv[at + 1 :] else ())
        child = self.children[0].command.argv
        for at in range(1, len(argv)):
            if argv[at:] == child[: len(argv) - at]:
                return argv[:at]
        return argv

    def to_dict(self) -> dict[str, object]:
        return {
            "words": self.words,
            "argv": [to_display(word) for word in self.command.argv],
            "span": [self.command.start, self.command.end],
            "cwd": to_display(self.command.cwd),
            "rules": [finding.rule for finding in self.findings],
            "runs": [child.to_dict() for child in self.children],
        }


def tree(script: Script, verdict: Verdict) -> list[Branch]:
    """Return the top-level commands, with each finding attached to its command."""
    branches: dict[int, Branch] = {}
    roots: list[Branch] = []

    def branch(command: Command) -> Branch:
        if id(command) not in branches:
            branches[id(command)] = new = Branch(command)
            (roots if command.parent is None else branch(command.parent).children).append(new)
        return branches[id(command)]

    for command in script.commands:
        branch(command)
    places: dict[tuple[object, ...], list[Command]] = {}
    for command in script.commands if verdict.findings else ():
        places.setdefault((command.start, command.end, command.via), []).append(command)
    for finding in verdict.findings:
        if found := _about(finding, places.get((finding.start, finding.end, finding.via), [])):
            branches[id(found)].findings.append(finding)
    return [root for root in roots if _says_something(root)]


def _about(finding: Finding, near: list[Command]) -> Command | None:
    """Return the command that a finding is about. Commands in text built at run time share a position: compare their
    words."""
    for command in near:
        if finding.words.rstrip("…").startswith(command.words[:40]) or command.words.startswith(finding.words[:40]):
            return command
    return near[0] if near else None


def _says_something(branch: Branch) -> bool:
    """Return whether the branch is worth showing: a bare assignment runs nothing."""
    return bool(branch.words or branch.children or branch.findings)

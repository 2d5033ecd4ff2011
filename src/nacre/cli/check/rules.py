"""`nacre rules`: lists the checker's rules; `nacre rules ID`: prints one rule's page."""

from __future__ import annotations

from nacre.base.suggest import find_nearest
from nacre.cli.common.arguments import Arguments
from nacre.cli.common.messages import write_json, write_out
from nacre.cli.common.usage import UsageError
from nacre.policy.rule_pages import Page, pages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser


class _Arguments(Arguments):
    COMMAND = "rules"
    USAGE = (
        ("[--json]", "every rule: its id, decision and purpose"),
        ("[--json] ID", "one rule: its reason, the alternative, what it misses, examples"),
    )
    EPILOG = "exit codes: 0; 3 unknown rule, or nacre itself failed."
    MAX_OPERANDS = 1

    json = False

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        parser.add_argument("--json", action="store_true", help="as one JSON object")


def rules(words: list[str]) -> int:
    args = _Arguments.parse(words)
    known = pages()
    if not args.operands:
        if args.json:
            write_json({"rules": [page.to_dict() for page in known]})
        else:
            write_out("".join(f"{line}\n" for line in _lines(known)))
        return 0
    page = _find(args.operands[0], known)
    if args.json:
        write_json(page.to_dict())
    else:
        write_out("".join(f"{line}\n" for line in _page(page)))
    return 0


def _find(id: str, known: list[Page]) -> Page:
    for page in known:
        if page.id == id:
            return page
    near = find_nearest(id, (page.id for page in known))
    hint = f"Did you mean: nacre rules {near}" if near else "`nacre rules` lists all of them."
    raise UsageError(f"Unknown rule {id!r}.", hint, field="id")


def _lines(known: list[Page]) -> list[str]:
    width = max((len(page.id) for page in known), default=0) + 2
    return [f"{page.id:<{width}}{page.decision:<8}{page.title}" for page in known]


def _page(page: Page) -> list[str]:
    floor = ", whatever the policy says" if page.mandatory else ""
    lines = [f"{page.id}: {page.title}", "", f"Decision  {page.decision}{floor}"]
    for name, text in page.sections.items():
        lines += [f"{name:<10}{line}" if not index else f"{'':<10}{line}" for index, line in enumerate(text)]
    for name, examples in (("Stops", page.hits), ("Passes", page.passes)):
        if examples:
            lines += ["", name, *(f"  {line}" for example in examples for line in example.split("\n"))]
    return lines

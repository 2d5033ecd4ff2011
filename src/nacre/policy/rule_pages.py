"""Documentation pages of the rules: the sections of each rule's module docstring, and its examples."""

from __future__ import annotations

from importlib import import_module

from nacre.policy import rules
from nacre.verdict import Decision

SECTIONS = ("Why", "Instead", "Misses")


class Page:
    """The page of one rule."""

    __slots__ = ("decision", "hits", "id", "mandatory", "passes", "sections", "title")

    def __init__(self, module: str) -> None:
        rule = rules.load(module)
        self.id: str = rule.id
        self.decision: Decision = rule.decision
        self.mandatory: bool = rule.mandatory
        self.hits: list[str] = [_readable(example) for example in rule.hits]
        self.passes: list[str] = [_readable(example) for example in rule.passes]
        text = import_module(f"{rules.__name__}.{module}").__doc__ or ""
        first, _, rest = text.strip().partition("\n")
        self.title: str = first.removeprefix(f"{rule.id}:").strip()
        """The rule's subject, in one line."""
        self.sections: dict[str, list[str]] = _sections(rest)
        """Lines by section: why the rule exists, what to do instead, what it misses."""

    def to_dict(self) -> dict[str, object]:
        """Return the page as JSON values."""
        return {
            "id": self.id,
            "decision": self.decision.value,
            "floor": self.mandatory,
            "title": self.title,
            **{name.lower(): " ".join(self.sections.get(name, ())) for name in SECTIONS},
            "stops": self.hits,
            "passes": self.passes,
        }


def pages() -> list[Page]:
    """Return all pages, ordered by id."""
    return sorted((Page(module) for module in rules.MODULES), key=lambda page: page.id)


def _sections(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word in SECTIONS:
            name = word
            found[name] = [rest.strip()]
        elif name and line.strip():
            found[name].append(line.strip())
    return found


def _readable(example: str) -> str:
    """Replace invisible characters by escapes."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else letter.encode("unicode_escape").decode("ascii")
        for letter in example
    )

"""Every rule's page: what its file says at the top, taken apart, with its examples."""

from __future__ import annotations

from importlib import import_module

from nacre.policy import rules
from nacre.verdict import Decision

SECTIONS = ("Why", "Instead", "Misses")


class Page:
    """One rule, for a reader."""

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
        """What it is about, in a line."""
        self.sections: dict[str, list[str]] = _sections(rest)
        """Why it is there, what to do instead, what it misses; line by line."""

    def to_dict(self) -> dict[str, object]:
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
    """In order of their ids."""
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
    """What nobody would see is written as an escape."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else letter.encode("unicode_escape").decode("ascii")
        for letter in example
    )

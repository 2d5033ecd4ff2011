"""Reads glossary.txt: names that are no longer used, and the plain name to use instead.

The file has sections. `[functions]` and its like list names of one kind that are banned in every directory. A section
named after modules, `[keeper/care | keeper/server/supervisor]`, lists names that are banned in those modules only: the
path before a move and the path after it. There `Care.review` is a member of a class; with `Care -> Supervisor` in the
same section, the renamed class counts as well. The last sections are word lists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("modules", "classes", "functions", "constants", "parameters")
BARE_WORDS = "words that are no verb"
VERBS_IN_ED = "verbs that end in -ed"
VAGUE_WORDS = "vague words"
VAGUE_ENDS = "vague first and last words"
WORD_LISTS = (BARE_WORDS, VERBS_IN_ED, VAGUE_WORDS, VAGUE_ENDS)
_MODULE = "module"


class GlossaryError(Exception):
    """A line of the glossary cannot be read."""


@dataclass(frozen=True, slots=True)
class Section:
    """Names that are banned in some modules."""

    modules: tuple[str, ...]
    """Path before a move, then those after it."""
    entries: dict[str, str]

    def replacement(self, name: str) -> str | None:
        """The plain name for `name`, which is qualified by its class; None when it is not banned."""
        if (new := self.entries.get(name)) is not None:
            return new
        owner, _, member = name.rpartition(".")
        old_owners = [old for old, new in self.entries.items() if new == owner] if owner else []
        found = (self.entries.get(f"{old}.{member}") for old in old_owners)
        return next((new for new in found if new is not None), None)


@dataclass(slots=True)
class Glossary:
    """Banned names, each with the name to use instead."""

    anywhere: dict[str, dict[str, str]] = field(default_factory=dict)
    """By kind: `functions` and its like."""
    sections: list[Section] = field(default_factory=list)
    words: dict[str, set[str]] = field(default_factory=dict)
    _by_module: dict[str, list[Section]] = field(default_factory=dict)

    def add_section(self, section: Section) -> None:
        self.sections.append(section)
        for module in section.modules:
            self._by_module.setdefault(module, []).append(section)

    def replacement_in_module(self, module: str, name: str) -> str | None:
        """The plain name for `name`, qualified by its class, where its module's section bans it."""
        found = (section.replacement(name) for section in self._by_module.get(module, ()))
        return next((new for new in found if new is not None), None)

    def replacement_anywhere(self, kind: str, name: str) -> str | None:
        """The plain name for an unqualified name of one of `KINDS` that is banned everywhere, private or not."""
        return self.anywhere[kind].get(name.strip("_"))

    def module_replacement(self, module: str, stem: str) -> str | None:
        """The plain name for a module; None when it has one already."""
        for section in self._by_module.get(module, ()):
            if _MODULE in section.entries and stem == section.modules[0].rpartition("/")[2]:
                return section.entries[_MODULE]
        return self.anywhere["modules"].get(stem)

    def missing_sections(self, modules: frozenset[str]) -> list[str]:
        """Titles of the sections that name no existing module, so that their names would go unchecked."""
        return [" | ".join(section.modules) for section in self.sections if not modules.intersection(section.modules)]


def read_glossary(path: Path) -> Glossary:
    """Read the file. Raises GlossaryError with the line number for a line that is neither section, entry nor words."""
    glossary = Glossary({kind: {} for kind in KINDS}, words={title: set() for title in WORD_LISTS})
    title = ""
    entries: dict[str, str] = {}
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        if line.startswith("[") and line.endswith("]"):
            title = line[1:-1].strip()
            entries = _open_section(glossary, title)
        elif title in WORD_LISTS:
            glossary.words[title].update(line.split())
        elif not title or " -> " not in line:
            raise GlossaryError(f"{path.name}:{number}: expected `old -> new`: {line}")
        else:
            old, _, new = (part.strip() for part in line.partition(" -> "))
            if old in entries:
                raise GlossaryError(f"{path.name}:{number}: duplicate entry {old}")
            entries[old] = new
    return glossary


def _open_section(glossary: Glossary, title: str) -> dict[str, str]:
    """Return the table that the section's entries go to."""
    if title in KINDS:
        return glossary.anywhere[title]
    if title in WORD_LISTS:
        return {}
    section = Section(tuple(part.strip() for part in title.split("|")), {})
    glossary.add_section(section)
    return section.entries

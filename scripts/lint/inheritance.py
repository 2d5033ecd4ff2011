"""The classes of the package, and which of them inherit from which."""

from __future__ import annotations

import builtins
from collections.abc import ItemsView, Iterator, Sequence

from scripts.lint.source import PACKAGE, Definition, SourceFile

_EXCEPTIONS = frozenset(
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
)

Place = tuple[str, str]
"""Path of a file, and the qualified name of a class in it."""


class PackageClasses:
    """Every class of the package, top-level or not, by its place."""

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self._classes: dict[Place, tuple[SourceFile, Definition]] = {}
        self._attributes: dict[Place, set[str]] = {}
        self._public: dict[str, Place] = {}
        """Top-level classes by name: the lint forbids a second one, but in `compat`, from which nothing inherits."""
        for file in files:
            if file.path.startswith(PACKAGE):
                self._add(file)

    def _add(self, file: SourceFile) -> None:
        for item in file.definitions:
            if item.kind == "class":
                place = file.path, item.name
                self._classes[place] = file, item
                self._attributes[place] = set()
                if not item.owner:
                    self._public.setdefault(item.name, place)
        for item in file.definitions:
            if item.kind == "attribute" and (file.path, item.owner) in self._attributes and not _is_special(item):
                self._attributes[file.path, item.owner].add(item.own_name)

    def items(self) -> ItemsView[Place, tuple[SourceFile, Definition]]:
        return self._classes.items()

    def attributes_of(self, place: Place) -> set[str]:
        """Names of the attributes of a class and its ancestors."""
        inherited = (self.attributes_of(base) for base in self._bases_of(place))
        return self._attributes[place].union(*inherited)

    def longest_line_above(self, place: Place) -> list[str]:
        """Names of the ancestors of a class, each the base of the one before; of several lines, the longest."""
        lines = ([base[1], *self.longest_line_above(base)] for base in self._bases_of(place))
        return max(lines, key=len, default=[])

    def is_exception(self, place: Place) -> bool:
        names = self._classes[place][1].bases
        return not _EXCEPTIONS.isdisjoint(names) or any(map(self.is_exception, self._bases_of(place)))

    def _bases_of(self, place: Place) -> Iterator[Place]:
        """Places of the bases that are in the package."""
        file, item = self._classes[place]
        for name in item.bases:
            if (file.path, name) in self._classes:
                yield file.path, name
            elif (original := file.own_imports.get(name)) in self._public:
                yield self._public[original]


def _is_special(item: Definition) -> bool:
    return item.own_name.startswith("__")

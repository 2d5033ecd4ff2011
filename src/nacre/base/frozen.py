"""Frozen dataclasses, built in a tenth of the time of `@dataclass(frozen=True, slots=True)` (decision 0010).

The standard library compiles half a dozen functions for every class, and loads `inspect` first. This module compiles
only `__init__`; all classes share the other methods. `dataclasses.replace`, `fields` and `asdict` accept these classes:
the attributes that they need are built on first access. Inheritance is not supported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from dataclasses import Field

T = TypeVar("T")
_NOTHING: Any = object()


class _Factory:
    """Marks a default that is built anew for each value."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class _Uncompared:
    """Marks a field that `==`, `hash` and `repr` ignore."""

    __slots__ = ("default",)

    def __init__(self, default: Any) -> None:
        self.default = default


def field(*, default_factory: Callable[[], T]) -> T:
    """Return a field whose default is built anew for each value by `default_factory`."""
    return _Factory(default_factory)  # type: ignore[return-value]  # type checkers must see the field's type


def uncompared_field(*, default: T) -> T:
    """Return a field that `==`, `hash` and `repr` ignore."""
    return _Uncompared(default)  # type: ignore[return-value]  # as above


@overload
def frozen(cls: type[T]) -> type[T]: ...
@overload
def frozen(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field, uncompared_field))
def frozen(cls: type[T] | None = None, *, kw_only: bool = False) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a class frozen and slotted (class decorator).

    Fields after one that is annotated as `KW_ONLY`, or all of them with `kw_only=True`, are keyword-only parameters.
    """
    if cls is None:
        return lambda cls: _build(cls, kw_only=kw_only)
    return _build(cls, kw_only=kw_only)


def field_names(cls: type) -> tuple[str, ...]:
    """Return the names of the class's fields, in the order of `__init__`."""
    return cls.__slots__  # type: ignore[attr-defined,no-any-return]


def replace(value: T, **changes: Any) -> T:
    """Return a copy of the value with some fields changed."""
    return type(value)(**{name: getattr(value, name) for name in field_names(type(value))} | changes)


def _build(cls: type[T], *, kw_only: bool) -> type[T]:
    body = dict(cls.__dict__)
    for name in ("__dict__", "__weakref__"):
        body.pop(name, None)
    by_place: list[str] = []
    by_name: list[str] = []
    fields = by_name if kw_only else by_place
    for name, annotation in cls.__annotations__.items():
        if annotation == "KW_ONLY":
            fields = by_name
        else:
            fields.append(name)
    names = (*by_place, *by_name)
    defaults = {name: body.pop(name) for name in names if name in body}
    uncompared = {name: mark.default for name, mark in defaults.items() if isinstance(mark, _Uncompared)}
    defaults |= uncompared
    shared = {name: method for name, method in _SHARED.items() if name not in body}
    body |= {**shared, "__slots__": names, "__match_args__": tuple(by_place)}
    body["_compared"] = tuple(name for name in names if name not in uncompared)
    made: Any = type(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    made.__init__ = _initialiser(made, by_place, by_name, defaults)
    made.__dataclass_fields__ = _Fields(defaults, by_name)
    return made  # type: ignore[no-any-return]


def _initialiser(made: Any, by_place: list[str], by_name: list[str], defaults: dict[str, Any]) -> Any:
    """Compile `__init__`. Its source contains only the names of fields; values reach it through its globals."""
    values: dict[str, Any] = {"_nothing": _NOTHING}
    lines = []
    for name in (*by_place, *by_name):
        values[f"_set_{name}"] = made.__dict__[name].__set__
        value = name
        default = defaults.get(name, _NOTHING)
        if isinstance(default, _Factory):
            values[f"_make_{name}"] = default.make
            value = f"_make_{name}() if {name} is _nothing else {name}"
        lines.append(f" _set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append(" self.__post_init__()")

    def parameter(name: str) -> str:
        if name not in defaults:
            return name
        default = defaults[name]
        values[f"_default_{name}"] = _NOTHING if isinstance(default, _Factory) else default
        return f"{name}=_default_{name}"

    head = ["self", *map(parameter, by_place), *(["*"] if by_name else []), *map(parameter, by_name)]
    exec("\n".join([f"def __init__({', '.join(head)}):", *(lines or [" pass"])]), values)
    init = values["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {**made.__annotations__, "return": "None"}
    return init


class _Fields:
    """Descriptor that builds `__dataclass_fields__` on first access."""

    def __init__(self, defaults: dict[str, Any], by_name: list[str]) -> None:
        self._defaults = defaults
        self._by_name = by_name

    def __get__(self, instance: object, owner: Any) -> dict[str, Field[Any]]:
        import dataclasses

        parts = []
        for name in owner.__slots__:
            default = self._defaults.get(name, dataclasses.MISSING)
            how = {"default_factory": default.make} if isinstance(default, _Factory) else {"default": default}
            seen = name in owner._compared
            spec = dataclasses.field(**how, kw_only=name in self._by_name, repr=seen, compare=seen)
            parts.append((name, owner.__annotations__[name], spec))
        twin: Any = dataclasses.make_dataclass(owner.__name__, parts)
        owner.__dataclass_fields__ = twin.__dataclass_fields__
        return owner.__dataclass_fields__  # type: ignore[no-any-return]


def _values(value: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(getattr(value, name) for name in names)


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    names: tuple[str, ...] = self._compared
    return _values(self, names) == _values(other, names)


def _hash(self: Any) -> int:
    return hash((self.__class__, *_values(self, self._compared)))


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._compared)
    return f"{self.__class__.__qualname__}({fields})"


def _raise_frozen(self: Any, name: str, *_: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{self.__class__.__name__} is frozen: {name!r} cannot be changed; see `replace`")


def _parts(self: Any) -> tuple[Any, ...]:
    return _unpickle, (self.__class__, _values(self, field_names(self.__class__)))


def _unpickle(cls: Any, values: tuple[Any, ...]) -> Any:
    """Rebuild a value without calling `__post_init__` again."""
    value = object.__new__(cls)
    for name, each in zip(cls.__slots__, values, strict=True):
        object.__setattr__(value, name, each)
    return value


_SHARED: dict[str, Any] = {
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _raise_frozen,
    "__delattr__": _raise_frozen,
    "__reduce__": _parts,
    "__replace__": replace,
}

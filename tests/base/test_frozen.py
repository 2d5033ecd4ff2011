"""Frozen values behave like frozen dataclasses."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from nacre import Request, Result
from nacre.base.frozen import field, field_names, frozen, replace, uncompared_field
from nacre.redact.redactor import Redactor
from nacre.result import Exited, Signalled

if TYPE_CHECKING:
    from dataclasses import KW_ONLY


@frozen
class Point:
    """A point."""

    x: int
    y: int = 2
    _: KW_ONLY
    tags: dict[str, int] = field(default_factory=dict)

    @property
    def sum(self) -> int:
        return self.x + self.y


def test_repr_equality_and_hash_use_the_fields() -> None:
    assert repr(Exited(3)) == "Exited(code=3)"
    assert Exited(3) == Exited(3) != Exited(4)
    assert Exited(3) != Signalled(3)  # type: ignore[comparison-overlap]
    assert len({Exited(3), Exited(3), Signalled(3)}) == 2
    assert Point(1).sum == 3


def test_frozen_value_cannot_be_changed() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="Point is frozen: 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.x
    with pytest.raises(AttributeError):
        point.z = 1  # type: ignore[attr-defined]


def test_default_factory_makes_a_new_value_each_time() -> None:
    assert Point(1).tags is not Point(1).tags
    assert Point(1, tags={"a": 1}).tags == {"a": 1}


def test_wrong_arguments_raise_pythons_own_type_errors() -> None:
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional argument"):
        Point(1, 2, {})  # type: ignore[call-arg]


def test_dataclasses_module_treats_a_frozen_class_as_a_dataclass() -> None:
    point = Point(1, tags={"a": 1})
    assert dataclasses.is_dataclass(point)
    assert [each.name for each in dataclasses.fields(point)] == ["x", "y", "tags"] == [*field_names(Point)]
    assert [each.kw_only for each in dataclasses.fields(Point)] == [False, False, True]
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "tags": {"a": 1}}
    assert dataclasses.replace(point, y=5) == replace(point, y=5) == Point(1, 5, tags={"a": 1})
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_frozen_value_can_be_copied_and_pickled() -> None:
    request = Request("ls", env={"A": "b"})
    assert pickle.loads(pickle.dumps(request)) == copy.deepcopy(request) == request
    result = Result(command="x", cwd="/", outcome=Exited(0))
    assert pickle.loads(pickle.dumps(result)) == result


def test_check_loads_neither_dataclasses_nor_inspect() -> None:
    look = "import sys, nacre; nacre.check('ls'); print(sorted({'dataclasses', 'inspect'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@frozen
class Marked:
    x: int
    note: str = uncompared_field(default="")


def test_uncompared_field_is_ignored_by_equality_hash_and_repr_and_kept_otherwise() -> None:
    one, other = Marked(1, "a"), Marked(1, "b")
    assert one == other != Marked(2, "a")
    assert (hash(one), repr(one)) == (hash(other), "Marked(x=1)")
    assert (Marked(1).note, replace(one, x=2).note, dataclasses.replace(one, x=2).note) == ("", "a", "a")
    assert [each.name for each in dataclasses.fields(Marked) if each.compare and each.repr] == ["x"]
    assert pickle.loads(pickle.dumps(one)).note == "a"


def test_repr_and_equality_of_a_result_ignore_its_redactor() -> None:
    result = Result(command="x", cwd="/", outcome=Exited(0))
    masked = replace(result, redactor=Redactor(["a secret value"]))
    assert masked == result
    assert repr(masked) == repr(result)
    assert "redactor" not in repr(masked)

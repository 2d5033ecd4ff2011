"""What is attacked: for each target, a way to invent a case from a seed, and to say what is wrong with what nacre did.

A case is a text or bytes, so that one that failed can be kept (tests/fuzz/kept.jsonl) and is tried from then on,
whatever becomes of the inventor.
"""

from __future__ import annotations

import base64
import importlib
import json
import signal
import traceback
from dataclasses import dataclass
from typing import Any, Protocol

Case = str | bytes
SLOW = 20
"""Seconds that no case may take. Far above what any takes, so that a busy machine is no failure."""


class Target(Protocol):
    def invent(self, seed: int) -> Any:
        """The case of this seed."""

    def wrong(self, case: Any) -> str:
        """What is wrong; empty if nothing is. Whatever it raises is wrong, too."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Kind:
    """Where a target is, and its share of the cases."""

    place: str
    weight: int

    def made(self) -> Target:
        module, _, name = self.place.partition(":")
        target: Target = getattr(importlib.import_module(module), name)()
        return target


TARGETS = {
    "reading": Kind("fuzz.reading:Reading", 20),
    "rewriting": Kind("fuzz.rewriting:Rewriting", 20),
    "running": Kind("fuzz.running:Running", 10),
    "output": Kind("fuzz.bytes:Output", 15),
    "wire": Kind("fuzz.bytes:Wire", 10),
    "hook": Kind("fuzz.files:Hook", 10),
    "config": Kind("fuzz.files:Config", 8),
    "tasks": Kind("fuzz.files:Tasks", 7),
}


@dataclass(frozen=True)
class Failure:
    target: str
    seed: int
    case: Case
    wrong: str

    @property
    def line(self) -> str:
        """As it is kept."""
        return json.dumps({"target": self.target, **written(self.case)}, ensure_ascii=True)


def attack(name: str, first: int, count: int) -> list[Failure]:
    """Cases of one target, by their seeds."""
    target = TARGETS[name].made()
    try:
        found = []
        for seed in range(first, first + count):
            case = target.invent(seed)
            if wrong := verdict(target, case):
                found.append(Failure(name, seed, case, wrong))
        return found
    finally:
        target.close()


def verdict(target: Target, case: Case) -> str:
    """What is wrong with how it was taken; it may also have raised, or taken too long."""

    def late(*_: object) -> None:
        raise TimeoutError(f"it takes more than {SLOW} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SLOW)
    try:
        return target.wrong(case)
    except Exception:
        return traceback.format_exc(limit=-6)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def written(case: Case) -> dict[str, str]:
    return {"text": case} if isinstance(case, str) else {"bytes": base64.b64encode(case).decode()}


def kept(entry: dict[str, str]) -> Case:
    return entry["text"] if "text" in entry else base64.b64decode(entry["bytes"])

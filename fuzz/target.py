"""What is attacked: for each target, a way to invent a case from a seed, and to say what is wrong with what nacre did.

A case is a text or bytes, so that one that failed can be kept (tests/fuzz/saved_cases.jsonl) and is tried from then on,
whatever becomes of the inventor.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import signal
import traceback
from dataclasses import dataclass
from typing import Any, Protocol

Case = str | bytes
SLOW = 60
"""Seconds of the processor that no case may take, however often it looks; a busy machine is no failure."""
STUCK = 300
"""Seconds by the clock, for what waits."""


class Target(Protocol):
    def invent(self, seed: int) -> Any:
        """The case of this seed."""

    def wrong(self, case: Any) -> str:
        """What is wrong; empty if nothing is. Whatever it raises is wrong, too."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Kind:
    """Where a target is, its share of the cases, and the package that it cannot do without."""

    place: str
    weight: int
    needs: str = "nacre"

    @property
    def missing(self) -> str:
        """Why it cannot be attacked here; empty if it can."""
        return "" if importlib.util.find_spec(self.needs) else f"{self.needs} is not installed"

    def load_target(self) -> Target:
        module, _, name = self.place.partition(":")
        target: Target = getattr(importlib.import_module(module), name)()
        return target


TARGETS = {
    "reading": Kind("fuzz.reading:Reading", 120),
    "guessing": Kind("fuzz.guessing:Guessing", 200),
    "repeating": Kind("fuzz.repeating:Repeating", 12),
    "rewriting": Kind("fuzz.rewriting:Rewriting", 130),
    "running": Kind("fuzz.running:Running", 87),
    "output": Kind("fuzz.output:Output", 110),
    "wire": Kind("fuzz.wire:Wire", 100),
    "hook": Kind("fuzz.files:Hook", 100),
    "config": Kind("fuzz.settings:Config", 60),
    "tasks": Kind("fuzz.tasks:Tasks", 60),
    "mcp": Kind("fuzz.mcp:Mcp", 30, needs="mcp"),
}


@dataclass(frozen=True)
class Failure:
    target: str
    seed: int
    case: Case
    """Empty, if there came to be none."""
    wrong: str

    @property
    def line(self) -> str:
        """As it is kept."""
        return json.dumps({"target": self.target, **encode_case(self.case)}, ensure_ascii=True)


def attack(name: str, first: int, count: int) -> list[Failure]:
    """Cases of one target, by their seeds. That a target cannot be made, or a case not be invented, is a failure too:
    the others go on."""
    try:
        target = TARGETS[name].load_target()
    except Exception:
        return [Failure(name, first, "", f"the target cannot be made:\n{traceback.format_exc(limit=-6)}")]
    try:
        return [failure for seed in range(first, first + count) if (failure := _try_case(name, target, seed))]
    finally:
        target.close()


def _try_case(name: str, target: Target, seed: int) -> Failure | None:
    try:
        case = target.invent(seed)
    except Exception:
        return Failure(name, seed, "", f"no case can be invented:\n{traceback.format_exc(limit=-6)}")
    wrong = verdict(target, case)
    return Failure(name, seed, case, wrong) if wrong else None


def verdict(target: Target, case: Case) -> str:
    """What is wrong with how it was taken; it may also have raised, or taken too long."""

    def late(*_: object) -> None:
        raise TimeoutError(f"it takes more than {SLOW} seconds of the processor, or {STUCK} by the clock")

    before = [(number, signal.signal(number, late)) for number in (signal.SIGALRM, signal.SIGPROF)]
    signal.alarm(STUCK)
    signal.setitimer(signal.ITIMER_PROF, SLOW)
    try:
        return target.wrong(case)
    except Exception:
        return traceback.format_exc(limit=-6)
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in before:
            signal.signal(number, handler)


def encode_case(case: Case) -> dict[str, str]:
    return {"text": case} if isinstance(case, str) else {"bytes": base64.b64encode(case).decode()}


def decode_case(entry: dict[str, str]) -> Case:
    return entry["text"] if "text" in entry else base64.b64decode(entry["bytes"])

"""The targets of fuzzing: each generates a case from a seed and returns what nacre did wrong with it.

A case is text or bytes, so that a failed one can be saved (tests/fuzz/saved_cases.jsonl) and is tested from then on,
independently of its generator.
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
MAX_CPU_S = 60
"""CPU seconds that no case may take; CPU time, so that a busy machine does not cause a failure."""
MAX_WALL_S = 300
"""Wall-clock limit in seconds, for cases that wait."""


class Target(Protocol):
    def invent(self, seed: int) -> Any:
        """Return the case of this seed."""

    def wrong(self, case: Any) -> str:
        """Return what is wrong; empty if nothing is. An exception is a failure, too."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Kind:
    """The location of a target, its share of the cases, and the package that it requires."""

    place: str
    weight: int
    needs: str = "nacre"

    @property
    def missing(self) -> str:
        """The reason why it cannot be run here; empty if it can."""
        return "" if importlib.util.find_spec(self.needs) else f"{self.needs} is not installed"

    def load_target(self) -> Target:
        module, _, name = self.place.partition(":")
        target: Target = getattr(importlib.import_module(module), name)()
        return target


TARGETS = {
    "reading": Kind("fuzz.reading:Reading", 120),
    "guessing": Kind("fuzz.hypothesis_texts:HypothesisTexts", 200),
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
    """Empty if none could be generated."""
    wrong: str

    @property
    def line(self) -> str:
        """The line to save in saved_cases.jsonl."""
        return json.dumps({"target": self.target, **encode_case(self.case)}, ensure_ascii=True)


def attack(name: str, first: int, count: int) -> list[Failure]:
    """Run cases of one target, by their seeds. If the target or a case cannot be created, that is a failure, too; the
    other cases still run."""
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
    """Return what is wrong with the handling of a case, including an exception and a timeout; empty if nothing is."""

    def late(*_: object) -> None:
        raise TimeoutError(f"it takes more than {MAX_CPU_S} s of CPU time, or {MAX_WALL_S} s in all")

    before = [(number, signal.signal(number, late)) for number in (signal.SIGALRM, signal.SIGPROF)]
    signal.alarm(MAX_WALL_S)
    signal.setitimer(signal.ITIMER_PROF, MAX_CPU_S)
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

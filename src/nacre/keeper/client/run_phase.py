"""Phases of a run in the host, and the values that go with them."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from nacre.keeper.protocol.messages import AdoptMessage


class RunPhase(Enum):
    """The phase of a run, as far as the host knows."""

    SUBMITTED = auto()
    """The host's keeper has the request."""
    HANDED_OVER = auto()
    """A dedicated keeper has, or is about to get, the request."""
    RUNNING = auto()
    """The shell was reported as started."""
    LOST = auto()
    """No keeper reports the end: see `Loss`. The run is ended by the host, or requested again."""
    ENDED = auto()
    """The final event is known. Answers on the adoption of leftovers may still come."""
    CLOSED = auto()
    """Released by its caller. No further event."""


ACTIVE = frozenset({RunPhase.SUBMITTED, RunPhase.HANDED_OVER, RunPhase.RUNNING})
"""Phases in which a keeper is to report the end."""

TRANSITIONS = {
    RunPhase.SUBMITTED: {RunPhase.HANDED_OVER, RunPhase.RUNNING, RunPhase.LOST, RunPhase.ENDED, RunPhase.CLOSED},
    # a keeper that dies while it gets the request is replaced by another
    RunPhase.HANDED_OVER: {RunPhase.HANDED_OVER, RunPhase.RUNNING, RunPhase.LOST, RunPhase.ENDED, RunPhase.CLOSED},
    RunPhase.RUNNING: {RunPhase.LOST, RunPhase.ENDED, RunPhase.CLOSED},
    RunPhase.LOST: {RunPhase.SUBMITTED, RunPhase.ENDED, RunPhase.CLOSED},
    RunPhase.ENDED: {RunPhase.CLOSED},
    RunPhase.CLOSED: set[RunPhase](),
}
"""Phases that may follow each phase."""


class LossScope(Enum):
    """The runs that are lost."""

    RUN = auto()
    """Only this run is lost; its keeper's other runs are not affected."""
    KEEPER = auto()
    """All runs of the keeper are lost."""


class Loss(NamedTuple):
    """The loss of a run."""

    scope: LossScope
    before_start: bool = False
    """The run cannot have started."""
    reason: str = ""
    """Reason, if it is not the keeper's death."""


class AdoptionRequest(NamedTuple):
    """A request to make a run a task that was not answered yet."""

    message: AdoptMessage
    task_dir: int
    """Descriptor of the task's directory; valid until the request is cancelled."""
    is_cancelled: bool = False
    """No caller waits for the answer: it is not sent again."""

"""Plans and payloads for an agent on a node, and what it answers."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from nacre import ToolContext
from nacre.engines.ray.node.agent import Agent
from nacre.engines.ray.node.payload import MARK, FinalMessage, PlanContext, RunPayload, make_sendable, strip_local
from nacre.keeper.client.events import RunEvent
from nacre.planning.plan import plan_for
from nacre.profiles import DEFAULT
from nacre.types import Plan, Request

NOTHING = ToolContext()


def make_plan(command: str, **settings: object) -> Plan:
    return plan_for(Request(command), ToolContext(**settings), DEFAULT, {MARK: "ray"})  # type: ignore[arg-type]


def make_payload(plan: Plan, id: str = "1", *, ctx: ToolContext = NOTHING, **settings: Any) -> RunPayload:
    """Return a payload as the node receives it."""
    asked = PlanContext(ctx=make_sendable(ctx), inherits=True)
    made = RunPayload(**{"id": id, "plan": strip_local(plan), "context": asked, "reports_state": False, **settings})
    arrived: RunPayload = pickle.loads(pickle.dumps(made))
    return arrived


async def collect_events(agent: Agent, run: RunPayload) -> tuple[list[RunEvent], FinalMessage]:
    happened: list[RunEvent] = []
    async for items in agent.run(run):
        for item in items:
            if isinstance(item, FinalMessage):
                return happened, item
            happened.append(item)
    pytest.fail("the agent's answer has no final event")

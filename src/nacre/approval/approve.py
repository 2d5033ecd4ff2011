"""Decide whether a plan may run. The checker's refusals are final; what it asks about, the caller decides."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial

from nacre.approval.check import check_script
from nacre.base.frozen import replace
from nacre.base.threads import run_in_thread
from nacre.cancel import run_unless_cancelled
from nacre.errors import CheckUnavailable
from nacre.policy.policy import Policy
from nacre.result import Cancelled, NotStarted, Refused
from nacre.types import Plan, ToolContext
from nacre.verdict import Decision, Verdict

NO_APPROVER = "It needs approval, and no person was asked"
_THREAD_PROMPT_MIN_CHARS = 4000
"""Longer scripts are checked in a thread: checking them inline would block the event loop too long."""
_DENIED = "A person was asked and refused"


async def approve(
    plan: Plan,
    ctx: ToolContext,
    policy: Policy,
    on_verdict: Callable[[Verdict, bool | None], None] | None = None,
) -> Plan | Refused | Cancelled | NotStarted:
    """Check the command of a plan and, if needed, ask the person behind `ctx.approve`.

    Returns the plan to run, or why it does not run. `on_verdict` is called with the verdict and None, and with the
    verdict and the answer after a person has decided.
    """
    request = plan.request
    stdin = plan.stdin.decode("utf-8", "surrogateescape") if plan.stdin is not None else None
    env = {**request.env, "HOME": plan.env.get("HOME", "")}
    strict = policy.default_decision is not Decision.ALLOW
    run_check = partial(
        check_script,
        request.command,
        cwd=plan.cwd,
        env=env,
        stdin=stdin,
        policy=policy,
        want_harmless=strict,
        inherited=plan.env,
    )
    try:
        script, verdict = (
            run_check()
            if len(request.command) + len(stdin or "") < _THREAD_PROMPT_MIN_CHARS
            else await run_in_thread(run_check)
        )
    except CheckUnavailable as error:
        return NotStarted(str(error), "Close some files, or raise the limit: ulimit -n.")
    if on_verdict is not None:
        on_verdict(verdict, None)
    if verdict.decision is Decision.ALLOW:
        if strict and verdict.plain:  # plain only if git starts no programs that its configuration names
            from nacre.policy.facts.harmless import GIT_ENVIRONMENT

            return replace(plan, env={**plan.env, **GIT_ENVIRONMENT}, standby_ok=False)
        return plan
    if verdict.decision is Decision.REFUSE:
        return Refused(verdict.rule, verdict.what, verdict.instead)
    if ctx.approve is None:
        return Refused(verdict.rule, f"{verdict.what}. {NO_APPROVER}", verdict.instead)
    from nacre.approval.request import build_approval_request  # not loaded unless a person is asked

    answer = await _ask_user(replace(verdict, approval_request=build_approval_request(plan, script, stdin)), ctx)
    if answer is None:
        return Cancelled()
    if on_verdict is not None:
        on_verdict(verdict, answer)
    return plan if answer else Refused(verdict.rule, f"{verdict.what}. {_DENIED}", verdict.instead)


async def _ask_user(verdict: Verdict, ctx: ToolContext) -> bool | None:
    """Return the person's answer; None if the call was cancelled meanwhile."""
    assert ctx.approve is not None
    said = ctx.approve(verdict)
    if not inspect.isawaitable(said):
        return bool(said)
    return await run_unless_cancelled(ctx.cancel, _to_bool(said))


async def _to_bool(answer: Awaitable[object]) -> bool:
    return bool(await answer)

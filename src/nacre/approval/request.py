"""Build the request that a person approves: a command, its working directory and its inputs. Pure.

A command may execute code from outside its text: its standard input, a variable of the call or of the session.
Approving the command approves that code, so the request shows it: everything that the call brings, every variable that
the command names, and every script that the checker has followed into a shell and that is not shown already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nacre.base.lazy_regex import lazy_regex
from nacre.environment import looks_secret
from nacre.shell import Script
from nacre.shell.symbolic import remove_markers, to_display
from nacre.types import Plan, Request
from nacre.verdict import ApprovalInput, ApprovalRequest

_NAMES = lazy_regex(r"\$\{?[!#]?([A-Za-z_]\w*)")
_SECRET = "(a secret)"


def build_approval_request(plan: Plan, script: Script, stdin: str | None) -> ApprovalRequest:
    """Build the request for `ctx.approve`. Secrets of the plan are masked."""
    request = plan.request
    run = {to_display(each.script).strip(): each.name for each in script.commands if each.script is not None}
    given = [
        ApprovalInput(f"${name}", value, value.strip() in run)
        for name, value in _variable_inputs(request, plan.env, [*run])
    ]
    if stdin:
        given.append(ApprovalInput("stdin", stdin, remove_markers(stdin).strip() in run))
    known = [request.command, *(each.text for each in given)]
    for text, name in run.items():
        if text and not any(text in each for each in known):
            given.append(ApprovalInput(f"what {name} is given", text, True))
            known.append(text)
    redactor = plan.redactor
    masked = (
        ApprovalInput(each.label, redactor.mask(each.text), each.executed) if redactor else each for each in given
    )
    return ApprovalRequest(request.command, plan.cwd, tuple(masked))


def _variable_inputs(request: Request, env: Mapping[str, str], run: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the variables of the call, and those that the command names, directly or through another variable."""
    wanted = [*request.env, *_NAMES.findall(request.command)]
    wanted += [name for text in run for name in _NAMES.findall(text)]
    seen: set[str] = set()
    while wanted:
        name = wanted.pop(0)
        if name in seen or name not in env:
            continue
        seen.add(name)
        value = env[name]
        wanted += _NAMES.findall(value)
        yield name, _SECRET if looks_secret(name, value) and value.strip() not in run else value

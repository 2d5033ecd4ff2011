"""Observers of runs: events in the order they happen, for a log, an audit trail, traces, or your own observer.

    Bash(observers=(Audit("/var/log/agent/audit.jsonl"), print))

An observer is called with each `RunBegan` and each `RunEnded`, in the thread and task of the run. It should be fast;
exceptions that it raises are logged and do not affect the run. Without observers, nothing is recorded.
"""

from __future__ import annotations

from nacre.observe.events import Observed, Observer, RunBegan, RunEnded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.observe.audit import Audit

__all__ = ["Audit", "Observed", "Observer", "RunBegan", "RunEnded", "observers_from_config"]


def observers_from_config(audit: object) -> tuple[Observer, ...]:
    """Return the observers for the setting `audit`.

    Example: `Bash(config.profile, observers=observers_from_config(config.get("audit")))`.
    """
    if not audit:
        return ()
    from nacre.observe.audit import audit_at

    found = audit_at(audit)
    return () if found is None else (found,)


def __getattr__(name: str) -> object:
    if name == "Audit":  # imported only if it is used
        from nacre.observe.audit import Audit

        return Audit
    raise AttributeError(f"module 'nacre.observe' has no attribute {name!r}")

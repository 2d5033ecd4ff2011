"""What is asked about → Verdict. The one place where a hook's question is decided.

By the checker, with what is configured for the directory in which the command would run: the user's rules and those of
the project.
"""

from __future__ import annotations

from nacre.approval.check import examine
from nacre.policy.policy import DEFAULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.config.config import Config
    from nacre.hooks.agents.protocol import Asked
    from nacre.verdict import Verdict


def judge(asked: Asked, config: Config | None) -> Verdict:
    """None: nothing is configured."""
    policy = DEFAULT if config is None else config.policy
    return examine(asked.command, cwd=asked.cwd, policy=policy, ask_plain=False)[1]

"""Test support for programs that use nacre: a `Bash` that runs nothing and gives scripted answers.

    bash = ScriptedBash()
    bash.on("pytest -q", stdout="1 failed\n", exit_code=1)
    await my_agent(bash)
    assert_ran(bash, "pytest -q")

It is a `Bash`: the same code plans, checks, observes and renders; only the shell is missing. An unexpected command
fails the test. `pytest_plugins = ["nacre.testing.plugin"]` provides the fixture `scripted_bash`.
"""

from nacre.testing.assertions import assert_not_ran, assert_ran
from nacre.testing.bash import RecordedCall, ScriptedBash
from nacre.testing.results import result
from nacre.testing.script import Reply, UnexpectedCommand

__all__ = ["RecordedCall", "Reply", "ScriptedBash", "UnexpectedCommand", "assert_not_ran", "assert_ran", "result"]

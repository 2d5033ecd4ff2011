"""For tests of programs that use nacre: a `Bash` that runs nothing and answers as it was told.

    bash = ScriptedBash()
    bash.on("pytest -q", stdout="1 failed\n", exit_code=1)
    await my_agent(bash)
    assert_ran(bash, "pytest -q")

It is a `Bash`: planned, checked, observed and put into words by the same code, and only the shell is missing. A command
that nobody expected fails the test. `pytest_plugins = ["nacre.testing.plugin"]` gives the fixture `scripted_bash`.
"""

from nacre.testing.assertions import assert_not_ran, assert_ran
from nacre.testing.bash import RecordedCall, ScriptedBash
from nacre.testing.results import result
from nacre.testing.script import Reply, UnexpectedCommand

__all__ = ["RecordedCall", "Reply", "ScriptedBash", "UnexpectedCommand", "assert_not_ran", "assert_ran", "result"]

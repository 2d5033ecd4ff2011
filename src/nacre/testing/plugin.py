"""The fixture `scripted_bash`, for pytest: `pytest_plugins = ["nacre.testing.plugin"]` in a conftest.

Not an entry point: pytest would load it, and rewrite all of nacre's modules, in every project that has nacre installed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nacre.testing.bash import ScriptedBash


@pytest.fixture
def scripted_bash() -> Iterator[ScriptedBash]:
    """A Bash that runs nothing. A command that nobody expected fails the test, also where it was caught."""
    bash = ScriptedBash()
    yield bash
    bash.verify()

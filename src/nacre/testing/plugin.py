"""The pytest fixture `scripted_bash`: put `pytest_plugins = ["nacre.testing.plugin"]` in a conftest.

It is not an entry point: pytest would load it, and rewrite all modules of nacre, in every project with nacre installed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nacre.testing.bash import ScriptedBash


@pytest.fixture
def scripted_bash() -> Iterator[ScriptedBash]:
    """Provide a Bash that runs nothing. An unexpected command fails the test, even if the program catches the error."""
    bash = ScriptedBash()
    yield bash
    bash.verify()

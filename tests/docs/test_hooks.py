"""docs/hooks.md shows the settings that `nacre hook install --project` writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nacre.hooks.install.locations import AGENTS
from nacre.hooks.install.settings import with_hook

PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text()


@pytest.mark.parametrize("agent", AGENTS)
def test_hooks_page_shows_the_settings_that_install_writes(agent: str) -> None:
    settings = AGENTS[agent]
    written = with_hook(settings, settings.files[-1], None, "PYTHONPATH= nacre hook || exit 2").decode()
    written = re.sub(r"(?m)^# .*\n", "", written)
    assert written in re.findall(r"```(?:json|toml)\n(.*?)```", PAGE, re.DOTALL)

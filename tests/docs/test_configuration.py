"""docs/configuration.md is correct: its code runs, its settings are valid, its table is complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from nacre.config import load
from nacre.config.settings import SETTINGS
from tests.support.waiting import HANG_TIMEOUT_S

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")


def test_configuration_page_python_prints_what_its_comments_say() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANG_TIMEOUT_S
    )
    assert done.stdout.splitlines() == re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)


def test_configuration_page_settings_are_valid(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    nested = re.sub(r"^\[", "[tool.nacre.", text, flags=re.MULTILINE)
    (tmp_path / "pyproject.toml").write_text("[tool.nacre]\n" + nested)
    config = load(tmp_path, env={})
    assert config.context().access == "workspace"
    assert config.policy.permissions.deny == ("Bash(npm publish:*)",)


def test_configuration_page_table_lists_exactly_the_settings() -> None:
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \|", PAGE, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)} == set(SETTINGS)


def test_configuration_page_links_to_existing_pages() -> None:
    pages = [target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", PAGE) if "://" not in target]
    assert pages
    assert [page for page in pages if not (ROOT / "docs" / page).exists()] == []

"""The README is correct: its code and commands print what it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_readme_starts_with_make_demo_and_make_test() -> None:
    commands = [line.split("#")[0].strip() for line in blocks("sh")[0].splitlines()]
    assert commands == ["make demo", "make test"]


def test_readme_python_equals_the_examples_and_prints_its_comments() -> None:
    code, tool = blocks("python")
    assert (ROOT / "examples" / "quickstart.py").read_text().partition('"""\n\n')[2] == code
    assert (ROOT / "examples" / "tool.py").read_text().partition('"""\n\n')[2] == tool
    assert _run_code(code) == "timed out after 1 s\npartial\n\n()\n1\n2\n3\n7\n"
    shown = re.findall(r"print\(.*\)  # (.*)", tool)
    assert len(shown) == 4
    assert _run_code(tool) == "".join(f"{line}\n" for line in shown)


def _run_code(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANG_TIMEOUT_S
    )
    return done.stdout


def test_readme_links_to_existing_pages() -> None:
    pages = [target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", README) if "://" not in target]
    assert pages
    assert [page for page in pages if not (ROOT / page).exists()] == []


def test_readme_checker_commands_print_what_it_shows(tmp_path: Path) -> None:
    (shown,) = (block for block in blocks("console") if "nacre explain" in block)
    calls = re.findall(r"^\$ (nacre (?:check|explain) .*)\n((?:(?!\$ ).*\n)+)", shown, re.MULTILINE)
    assert len(calls) == 2
    for command, answer in calls:
        words = ["bash", "-c", command.replace("nacre ", f"{quote(sys.executable)} -m nacre ", 1)]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=HANG_TIMEOUT_S, cwd=tmp_path)
        assert done.stdout == answer


def test_readme_task_commands_print_what_it_shows(tmp_path: Path) -> None:
    (shown,) = (block for block in blocks("console") if "--background" in block)
    commands = [line.removeprefix("$ ") for line in shown.splitlines() if line.startswith("$ ")]
    script = "; ".join(commands).replace("nacre ", f"{quote(sys.executable)} -m nacre ")
    done = subprocess.run(
        ["bash", "-c", f"{{ {script}; }} 2>&1"],
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_TIMEOUT_S,
        cwd=tmp_path,
    )
    assert _comparable_lines(done.stdout) == _comparable_lines(
        "".join(f"{line}\n" for line in shown.splitlines() if line[0] != "$")
    )


def _comparable_lines(text: str) -> list[str]:
    """Return the lines without ids, paths, PIDs and times."""
    text = re.sub(r"bash-[0-9a-f]{8}", "ID", text)
    text = re.sub(r"in /\S+/nacre", "in nacre", text)
    return [" ".join(re.sub(r"\b\d+(\.\d+)?s?\b", "N", line).split()) for line in text.splitlines()]


def test_readme_model_view_commands_print_what_it_shows(tmp_path: Path) -> None:
    (shown,) = (block for block in blocks("console") if "--view model" in block)
    calls = re.findall(r"^\$ nacre (run --view model) '(.*)'\n((?:(?!\$ ).*\n)+)", shown, re.MULTILINE)
    assert len(calls) == 3
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").touch()
    for words, command, answer in calls:
        call = [sys.executable, "-m", "nacre", *words.split(), command]
        done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=HANG_TIMEOUT_S, cwd=tmp_path)
        assert done.stdout == answer


def test_readme_permission_rule_denies_as_shown(tmp_path: Path) -> None:
    (shown,) = (block for block in blocks("console") if "[permissions]" in block)
    (config,) = re.findall(r"echo '(.*?)' >>", shown, re.DOTALL)
    ((command, answer),) = re.findall(r"^\$ nacre (check .*)\n((?:.*\n)+)", shown, re.MULTILINE)
    (tmp_path / "nacre").mkdir()
    (tmp_path / "nacre" / "config.toml").write_text(config)
    done = subprocess.run(
        ["bash", "-c", f"XDG_CONFIG_HOME=$PWD {quote(sys.executable)} -m nacre {command}"],
        capture_output=True, text=True, check=False, timeout=HANG_TIMEOUT_S, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout == answer

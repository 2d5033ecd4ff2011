"""`nacre mcp` without its extra, and the modules that are loaded without it."""

from __future__ import annotations

import subprocess
import sys

from nacre.cli.commands import COMMANDS
from tests.support.hosts import run_host
from tests.support.waiting import HANG_TIMEOUT_S


def test_mcp_command_without_the_sdk_names_the_extra_to_install() -> None:
    program = "import sys; sys.modules['mcp_types'] = None; from nacre.cli import main; sys.exit(main(['mcp']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=HANG_TIMEOUT_S, check=False)
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"pip install 'nacre[mcp]'" in done.stderr


def test_mcp_help_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nacre", "mcp", "--help"], capture_output=True, timeout=HANG_TIMEOUT_S, check=True
    )
    assert done.stdout.startswith(b"usage: nacre mcp")
    assert "mcp" in {command.name for command in COMMANDS}


def test_check_loads_neither_the_mcp_sdk_nor_its_dependencies() -> None:
    program = """
        import sys
        import nacre
        from nacre.cli import main

        main(["check", "ls"])
        print(sorted({"mcp", "mcp_types", "pydantic", "anyio", "uvicorn", "starlette", "rich"} & set(sys.modules)))
    """
    assert run_host(program) == "allow\n[]\n"

"""`nacre mcp` without its extra, and the modules that are loaded without it."""

from __future__ import annotations

import subprocess
import sys

from nacre.cli.common.usage import COMMANDS
from tests.support.hosts import run_host
from tests.support.waiting import HANG_TIMEOUT_S


def test_without_the_sdk_it_says_how_to_install_it() -> None:
    program = "import sys; sys.modules['mcp_types'] = None; from nacre.cli import main; sys.exit(main(['mcp']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=HANG_TIMEOUT_S, check=False)
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"pip install 'nacre[mcp]'" in done.stderr


def test_its_help_needs_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nacre", "mcp", "--help"], capture_output=True, timeout=HANG_TIMEOUT_S, check=True
    )
    assert done.stdout.startswith(b"usage: nacre mcp")
    assert "mcp" in COMMANDS


def test_a_check_loads_neither_the_sdk_nor_what_it_needs() -> None:
    program = """
        import sys
        import nacre
        from nacre.cli import main

        main(["check", "ls"])
        print(sorted({"mcp", "mcp_types", "pydantic", "anyio", "uvicorn", "starlette", "rich"} & set(sys.modules)))
    """
    assert run_host(program) == "allow\n[]\n"

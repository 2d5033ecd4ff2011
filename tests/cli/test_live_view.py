"""The live view of `nacre run` at a terminal, which the panel replaces."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from nacre.ansi.render import render
from tests.cli.nacre_program import Nacre, read_terminal
from tests.cli.terminal import resize, start_at_terminal
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S


@pytest.mark.req("M-10")
def test_live_view_shows_output_and_is_replaced_by_the_panel(nacre: Nacre, gate: Gate) -> None:
    with start_at_terminal(nacre, "run", f"echo first; {gate.wait}; echo last") as (program, terminal):
        said = read_terminal(terminal, until=b"Ctrl-C ends it")
        assert b"first" in said
        gate.open()
        said += read_terminal(terminal)
        assert program.wait(HANG_TIMEOUT_S) == 0
    rows = render(said.decode()).text.split("\n")
    assert rows[0].endswith(" ok ──")
    assert rows[3:5] == ["first", "last"]
    assert not any("Ctrl-C" in row for row in rows)


@pytest.mark.parametrize(
    ("words", "timeout"),
    [
        ((), "120s"),
        (("--mode", "slow"), "900s"),
        (("--timeout", "9999"), "3600s"),
        (("--yield-after", "3000"), "none"),
        (("--yield-after", "3000", "--timeout", "3500"), "3500s"),
    ],
)
def test_live_view_and_panel_show_the_timeout_in_force(
    nacre: Nacre, gate: Gate, words: tuple[str, ...], timeout: str
) -> None:
    env = {"NO_COLOR": "1"}
    with start_at_terminal(nacre, "run", *words, f"echo first; {gate.wait}", env=env) as (program, terminal):
        live = read_terminal(terminal, until=b"Ctrl-C ends it").decode().splitlines()[-1]
        gate.open()
        rows = render(read_terminal(terminal).decode()).text.split("\n")
        assert program.wait(HANG_TIMEOUT_S) == 0
    assert [*re.findall(r" of (\d+s)", live), "none"][0] == timeout
    assert f"cwd: {nacre.home}  timeout: {timeout}" in rows


@pytest.mark.req("M-10")
def test_live_view_redraws_to_fit_a_resized_terminal(nacre: Nacre, gate: Gate) -> None:
    with start_at_terminal(nacre, "run", f"echo first; {gate.wait}") as (program, terminal):
        read_terminal(terminal, until=b"Ctrl-C ends it")
        resize(terminal, 40, 20)
        read_terminal(terminal, until="─".encode() * 39 + b"\x1b[0m\x1b[K")
        gate.open()
        assert "─" * 41 not in read_terminal(terminal).decode()
        assert program.wait(HANG_TIMEOUT_S) == 0


@pytest.mark.req("M-10")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_removes_the_live_view_and_restores_the_terminal(
    nacre: Nacre, life: Lifeline, number: signal.Signals
) -> None:
    with start_at_terminal(nacre, "run", f"{life.hold} echo here; sleep 60") as (program, terminal):
        said = read_terminal(terminal, until=b"Ctrl-C ends it")
        program.send_signal(number)
        said += read_terminal(terminal)
        assert program.wait(HANG_TIMEOUT_S) == 128 + number
    assert life.over
    rows = render(said.decode()).text.split("\n")
    assert rows[0].endswith(" cancelled ──")
    assert not any("Ctrl-C" in row for row in rows)
    assert said.count(b"\x1b[?7l") == said.count(b"\x1b[?7h")
    assert b"\x1b[?25l" not in said


@pytest.mark.req("M-10")
def test_ctrl_z_clears_the_live_view_and_it_is_drawn_again(nacre: Nacre, gate: Gate) -> None:
    with start_at_terminal(nacre, "run", f"echo here; {gate.wait}") as (program, terminal):
        said = read_terminal(terminal, until=b"Ctrl-C ends it")
        program.send_signal(signal.SIGTSTP)  # it is in an orphaned process group: the kernel does not stop it
        said += read_terminal(terminal, until=b"\r\x1b[4A\x1b[J")  # back to its first line, and clears below
        said += read_terminal(terminal, until=b"Ctrl-C ends it")
        gate.open()
        said += read_terminal(terminal)
        assert program.wait(HANG_TIMEOUT_S) == 0
    rows = render(said.decode()).text.split("\n")
    assert rows[0].endswith(" ok ──")
    assert not any("Ctrl-C" in row for row in rows)


def test_closed_terminal_kills_the_command(nacre: Nacre, life: Lifeline) -> None:
    with start_at_terminal(nacre, "run", f"{life.hold} yes") as (program, terminal):
        read_terminal(terminal, until=b"Ctrl-C ends it")
        resize(terminal, 80, 30)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, terminal)
        os.close(null)
        program.wait(HANG_TIMEOUT_S)
    life.wait_over()


def test_stopped_terminal_does_not_block_the_command(nacre: Nacre, gate: Gate, tmp_path: Path) -> None:
    """As with Ctrl-S: the terminal's output is not read."""
    with start_at_terminal(nacre, "run", f"{gate.wait}; yes | head -c 20000000; {gate.wait}; echo end") as (
        program,
        terminal,
    ):
        read_terminal(terminal, until=b"Ctrl-C ends it")
        gate.open()
        gate.open()  # it has printed twenty megabytes, all unread
        said = read_terminal(terminal)
        assert program.wait(HANG_TIMEOUT_S) == 0
    assert b"stdout: 10,000,001 lines" in said


def test_ctrl_backslash_leaves_the_terminal_on_a_new_line(nacre: Nacre, life: Lifeline) -> None:
    with start_at_terminal(nacre, "run", f"{life.hold} sleep 60") as (program, terminal):
        read_terminal(terminal, until=b"Ctrl-C ends it")
        program.send_signal(signal.SIGQUIT)
        assert read_terminal(terminal).endswith(b"\r\n")
        assert program.wait(HANG_TIMEOUT_S) == -signal.SIGQUIT
    life.wait_over()

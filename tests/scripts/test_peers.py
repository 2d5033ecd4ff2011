"""bench/peers: the probes detect what they should, and the tables show it. Uses the adapters without dependencies."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import nacre
from bench.peers import __main__ as command
from bench.peers import venvs
from bench.peers.__main__ import BLOCK, README, groups, run_supervisor, with_block
from bench.peers.probes import PROBES, Facts
from bench.peers.tables import RACES, SPEED_COLUMNS, TABLES, Column, Findings, ahead, keepers, table, yes
from bench.peers.venvs import ROOT, Peer, commit, interpreter, peers
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = pytest.mark.slow

PEER = Peer("peer", ("peer==1.2",), "3.11", "own", "What it is.")
FIGURES = {"import", "first", "median", "p95", "resting", "took", "grew"}
"""Facts of which less is better, in every probe."""
COLUMN = Column("works", "tree", lambda facts: yes(facts["next"]))


def measure_peer(name: str, *probes: str) -> dict[str, Facts]:
    return run_supervisor(interpreter(peers()[name]), name, list(probes))


@pytest.mark.linux
def test_timeout_probe_counts_surviving_processes_and_partial_output() -> None:
    ours, theirs = measure_peer("nacre", "tree")["tree"], measure_peer("subprocess", "tree")["tree"]
    assert (ours["left"], ours["part"], ours["ended"], ours["next"]) == (0, True, "timeout", True)
    assert (theirs["left"], theirs["part"], theirs["ended"], theirs["next"]) == (2, False, "timeout", True)


@pytest.mark.linux
def test_nacre_call_promotes_late_commands_and_dies_with_its_host() -> None:
    facts = measure_peer("nacre-call", "setsid", "killed")
    late = facts["setsid"]
    assert (late["left"], late["part"], late["ended"], late["next"]) == (2, True, "running", True)
    assert facts["killed"]["left"] == 0


@pytest.mark.linux
def test_killed_host_probe_counts_surviving_processes() -> None:
    assert measure_peer("nacre", "killed")["killed"]["left"] == 0
    assert measure_peer("subprocess", "killed")["killed"]["left"] == 2


@pytest.mark.linux
def test_probes_detect_inherited_secrets_and_shared_stdin() -> None:
    ours, theirs = measure_peer("nacre", "secret", "read", "cat"), measure_peer("subprocess", "secret", "read")
    assert ours["secret"]["inherited"] is False
    assert [(ours[name]["ended"], ours[name]["stole"]) for name in ("read", "cat")] == [("exit", False)] * 2
    assert (theirs["secret"]["inherited"], theirs["read"]["stole"]) == (True, True)


@pytest.mark.linux
def test_exception_of_a_peer_is_recorded_and_the_next_probe_runs() -> None:
    facts = measure_peer("subprocess", "bytes", "newline")
    assert str(facts["bytes"]["raised"]).startswith("UnicodeDecodeError: ")
    assert facts["newline"]["text"] == "foo"


@pytest.mark.linux
def test_hanging_probe_is_recorded_and_the_next_one_runs() -> None:
    impatient = (
        "import bench.peers.probes as p, bench.peers.supervisor as s; p.PROBES['cat'] = p.Probe(p.cat, 0); s.main()"
    )
    command = [sys.executable, "-c", impatient, sys.executable, "subprocess", "cat", "newline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=HANG_TIMEOUT_S)
    facts = json.loads(done.stdout)
    assert facts["cat"] == {"hung": 0, "left": 0}
    assert facts["newline"]["text"] == "foo"


@pytest.mark.linux
def test_flood_probe_measures_the_memory_of_the_captured_output() -> None:
    grew = measure_peer("subprocess", "flood")["flood"]["grew"]
    assert isinstance(grew, int)
    assert grew > 50_000_000


def test_peers_pin_their_packages_and_nacre_comes_first() -> None:
    known = peers()
    assert list(known)[:3] == ["nacre", "nacre-call", "subprocess"]
    assert [package for peer in known.values() for package in peer.packages if "==" not in package] == []
    assert [peer.name for peer in known.values() if not peer.about] == []
    assert interpreter(known["nacre"]) == sys.executable


def test_peer_table_shows_the_version_of_nacre() -> None:
    rows = table((COLUMN,), [Findings(peers()[name]) for name in ("nacre", "nacre-call")]).splitlines()[2:]
    assert rows == [f"| nacre {nacre.__version__} | – |", f"| nacre-call {nacre.__version__} | – |"]


def test_peers_page_names_the_measured_commit_if_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for known, told in (("abc1234-dirty", f"{nacre.__version__}, commit abc1234-dirty"), ("", nacre.__version__)):
        monkeypatch.setattr(command, "commit", lambda known=known: known)
        assert f"would use instead of nacre (here {told}), each" in command.page([], 1.0, 1.0)


def test_commit_is_empty_outside_a_git_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(venvs, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit() == ""
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        mine = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
        subprocess.run(["git", *mine, *words], cwd=tmp_path, check=True)
    assert re.fullmatch("[0-9a-f]{7,}", commit())


def test_probe_groups_contain_each_probe_once_and_isolate_echo_and_cancel() -> None:
    assert groups(["echo", "tree", "cancel", "exit"]) == [["echo"], ["cancel"], ["tree", "exit"]]
    assert sorted(itertools.chain(*groups(list(PROBES)))) == sorted(PROBES)


def test_peer_table_cell_shows_the_result_or_why_there_is_none() -> None:
    findings = [
        Findings(PEER, {"tree": {"next": True}}),
        Findings(PEER, {"tree": {"hung": 15.0}}),
        Findings(PEER, {"tree": {"raised": "OSError: a | b"}}),
        Findings(PEER, {}),
        Findings(PEER, missing="no such package"),
    ]
    assert table((COLUMN,), findings) == dedent("""\
        | | works |
        |---|---|
        | peer 1.2 | yes |
        | peer 1.2 | hung (over 15 s) |
        | peer 1.2 | raised `'OSError: a \\| b'` |
        | peer 1.2 | – |
        | peer 1.2 | not installed |""")


def test_peer_table_marks_peers_without_a_timeout() -> None:
    peer = Peer("peer", (), "3.11", None, "")
    column = Column("late", "tree", lambda facts: yes(facts["next"]), timed=True)
    assert table((column,), [Findings(peer, {"tree": {"hung": 15.0}})]).endswith("| peer | has no timeout |")


def test_every_peer_table_column_renders_the_facts_of_its_probe() -> None:
    """A peer that supports everything, with facts under the names that the probes give them."""
    facts: dict[str, Facts] = {
        "echo": {"import": 0.1, "first": 0.2, "median": 0.003, "p95": 0.004, "resting": 30_000_000, "right": True},
        "many": {"took": 0.3, "right": 100, "objects": 1},
        "background": {"took": 0.01, "told": True, "running": 1, "survivors": 0, "ended": "exit"},
        "cancel": {"took": 0.02, "left": 0, "returned": True},
        "killed": {"left": 0},
        "newline": {"text": "foo"},
        "bashisms": {"right": True},
        "bytes": {"text": "a\ufffdb"},
        "exit": {"told": True},
        "flood": {"took": 0.2, "grew": 9_000_000, "told": 28_000, "text": "xxx", "right": True},
        "read": {"took": 0.005, "ended": "exit", "stole": False},
        "cat": {"took": 2.0, "ended": "timeout", "stole": True},
        "secret": {"inherited": False, "shown": False},
        "state": {"directory": False, "variable": False},
    }
    timed: Facts = {"took": 2.0, "part": True, "left": 0, "ended": "timeout", "next": True}
    facts |= dict.fromkeys(("tree", "setsid", "stubborn"), timed)
    found = Findings(PEER, facts)
    rows = [table(columns, [found]).splitlines()[-1] for columns in TABLES.values()]
    assert rows == [
        "| peer 1.2 | 100.0 ms | 200.0 ms | 3.0 ms | 4.0 ms | 30 MB | 300.0 ms, 100 of 100 right |",
        "| peer 1.2 | 10.0 ms, with `done` | runs | ended | nothing left after 20.0 ms | 0 of 2 left |",
        "| peer 1.2 |" + " 2.0 s, output kept, 0 of 2 left |" * 3 + " yes |",
        "| peer 1.2 | `'foo'` | yes | `'a\ufffdb'` | yes | 200.0 ms | +9 MB | 28,000 characters |",
        "| peer 1.2 | 5.0 ms | 2.0 s (timeout), with the host's input | absent | none |",
    ]
    short = table(SPEED_COLUMNS, [found], short=True).splitlines()[-1]
    assert short == "| peer 1.2 | 200.0 ms | 3.0 ms | 30 MB | ✗ | ✓ | ✓ | ✓ | ✓ | ✓ | ✓ | +9 MB |"


def test_short_peer_table_shows_why_a_figure_is_missing() -> None:
    facts: list[Facts] = [{"grew": 0, "right": False}, {"hung": 30.0}, {"raised": "OSError"}]
    rows = table(SPEED_COLUMNS[-1:], [Findings(PEER, {"flood": seen}) for seen in facts], short=True).splitlines()[2:]
    assert rows == ["| peer 1.2 | +0 MB, nothing shown |", "| peer 1.2 | hung |", "| peer 1.2 | raised |"]


def test_comparison_names_faster_peers_that_did_the_work() -> None:
    nacre = Findings(Peer("nacre", (), "3.11", "own", ""), {"cancel": {"took": 0.02, "left": 0}})
    quick = Findings(Peer("quick", (), "3.11", "own", ""), {"cancel": {"took": 0.01, "left": 0}})
    sloppy = Findings(Peer("sloppy", (), "3.11", "own", ""), {"cancel": {"took": 0.01, "left": 2}})
    called = Findings(Peer("nacre-call", (), "3.11", "own", ""), {"cancel": {"took": 0.01, "left": 0}})
    line = "- 20.0 ms to end everything when cancelled; less: quick (10.0 ms)."
    assert ahead([nacre, called, quick, sloppy], "nacre") == [line]
    line = "- 10.0 ms to end everything when cancelled; less: nobody."
    assert ahead([nacre, called, quick, sloppy], "nacre-call") == [line]


def test_comparison_covers_every_figure_of_every_column() -> None:
    """Each figure is a race, for the slowest few runs as well as for the median."""
    facts: Facts = dict.fromkeys(FIGURES, 2.0)
    nacre = Findings(Peer("nacre", (), "3.11", "own", ""), dict.fromkeys(PROBES, facts))
    lines = ahead([nacre, Findings(PEER, dict.fromkeys(PROBES, dict.fromkeys(FIGURES, 1.0)))], "nacre")
    shown = {(column.probe, name) for columns in TABLES.values() for column in columns for name in _figures(column)}
    assert {(race.probe, race.fact) for race in RACES} == shown
    assert len(lines) == len(shown) == sum("less: peer (" in line for line in lines)


class _Noted(dict[str, Any]):
    """Facts that record which of them were read."""

    def __init__(self) -> None:
        super().__init__(
            ended="exit", text="", told=1, right=100, objects=1, left=0, running=0, **dict.fromkeys(FIGURES, 1.0)
        )
        self.seen: set[str] = set()

    def __missing__(self, name: str) -> int:
        return 0

    def __getitem__(self, name: str) -> Any:
        self.seen.add(name)
        return super().__getitem__(name)


def _figures(column: Column) -> set[str]:
    """Return which figures the column shows."""
    facts = _Noted()
    column.cell(facts)
    return facts.seen & FIGURES


def test_comparison_ignores_peers_whose_command_reads_the_host_stdin() -> None:
    nacre = Findings(Peer("nacre", (), "3.11", "own", ""), {"read": {"took": 0.02, "stole": False}})
    thief = Findings(PEER, {"read": {"took": 0.01, "stole": True}})
    assert ahead([nacre, thief], "nacre") == ["- 20.0 ms to return from `read x`, which has no input; less: nobody."]


def test_comparison_names_peers_that_keep_state() -> None:
    forgets = Findings(PEER, {"state": {"directory": False, "variable": False}})
    keeps = Findings(Peer("keeps", (), "3.11", "own", ""), {"state": {"directory": True, "variable": True}})
    assert keepers([forgets, keeps, Findings(PEER, {"state": {"hung": 15.0}})]) == (
        "- Kept for the next command: keeps (directory and variable)."
    )
    assert keepers([forgets]) == "- Kept for the next command: by nobody."


def test_readme_has_one_block_for_the_short_peer_table() -> None:
    text = README.read_text()
    assert len(BLOCK.findall(text)) == 1
    changed = with_block(text, "| a table |")
    assert "\n| a table |\n<!-- /peers -->" in changed
    assert with_block(changed, "| another |") == with_block(text, "| another |")


def test_only_a_full_peers_run_writes_the_page_and_the_readme_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, readme = tmp_path / "PEERS.md", tmp_path / "README.md"
    readme.write_text(before := README.read_text())
    found = [Findings(peer, {"newline": {"text": "foo"}}) for peer in peers().values()]
    replaced = {"PAGE": page, "README": readme, "VENVS": tmp_path, "FACTS": tmp_path / "facts.json"}
    for name, value in {**replaced, "measure_peers": lambda *_: found}.items():
        monkeypatch.setattr(command, name, value)
    monkeypatch.setattr(sys, "argv", ["peers", "nacre"])
    command.main()
    assert (page.exists(), readme.read_text()) == (False, before)
    monkeypatch.setattr(sys, "argv", ["peers"])
    command.main()
    assert page.read_text().startswith("# Peers, side by side\n\n`make peers`, ")
    assert readme.read_text() == with_block(before, table(SPEED_COLUMNS, found, short=True))

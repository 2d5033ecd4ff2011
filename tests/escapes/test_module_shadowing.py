"""A sandboxed program in the workspace, where commands can make modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nacre
from tests.escapes.inside import needs_landlock

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]


AGENT = """
import json, sys
import nacre
place = sys.argv[1]
plant = "for name in colorsys installed; do echo 'planted = True' >$name.py; done; echo new=1 >made.py"
options = json.loads(sys.argv[2])
result = nacre.run_sync(plant, access="workspace", cwd=place, approve=lambda _: True, **options)
import colorsys, installed, helper, made
planted = [each.__name__ for each in (colorsys, installed) if hasattr(each, "planted")]
print(json.dumps({"path": sys.path[0], "ok": result.ok, "planted": planted, "helper": helper.mine, "made": made.new}))
"""


@pytest.mark.parametrize("start", ["script", "current-directory"])
def test_module_made_in_the_workspace_shadows_no_other(tmp_path: Path, start: str) -> None:
    place, beside = tmp_path / "project", tmp_path / "installed"
    for directory in (place, beside, tmp_path / "tmp"):
        directory.mkdir()
    (beside / "installed.py").write_text("")
    (place / "helper.py").write_text("mine = True\n")
    (place / "agent.py").write_text(AGENT)
    package = os.path.dirname(os.path.dirname(nacre.__file__))
    words = [str(place / "agent.py")] if start == "script" else ["-c", AGENT]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((package, str(beside))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(tmp_path / "tmp"),
    }
    env.pop("PYTHONSAFEPATH", None)
    done = subprocess.run(
        [sys.executable, *words, str(place), "{}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=place,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said.pop("path") in ("", str(place))
    assert said == {"ok": True, "planted": [], "helper": True, "made": 1}
    assert (place / "colorsys.py").exists()

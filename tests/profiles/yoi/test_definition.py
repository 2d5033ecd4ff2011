"""The tool's definition for a model, and that it has no rules except the floor."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import Bash, check
from nacre.compat.yoi import BashTool, bash_tool
from nacre.policy.policy import EVERYTHING
from nacre.profiles.yoi import YOI
from tests.profiles.yoi.conftest import Execute


@pytest.mark.req("Y-12")
def test_yoi_name_description_and_schema_match_the_document(workspace: Path, outputs: Path) -> None:
    meta, tool = bash_tool(workspace, outputs)
    assert (meta.name, isinstance(tool, BashTool)) == ("Bash", True)
    assert meta.input_schema == {
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "minLength": 1,
                "description": "Shell command to execute. Passed verbatim to `bash -c`.",
            },
            "timeout": {
                "type": ["integer", "null"],
                "minimum": 0,
                "default": 120,
                "description": "Timeout in seconds. Defaults to 120, capped at 600.",
            },
        },
        "required": ["command"],
    }
    paragraphs = meta.description.split("\n\n")
    assert [paragraph.partition(". ")[0] for paragraph in paragraphs] == [
        "Execute a shell command via bash",
        (
            "Output handling: when the command produces more than 80 lines (or ~12 KiB), the full output is saved to "
            "a file and only the LAST 80 lines are returned, prefixed with the saved path"
        ),
        (
            "Prefer dedicated tools when one fits: Read instead of `cat`/`head`/`tail` on workspace files, Edit "
            "instead of `sed`/`awk` rewrites, Glob instead of `find <dir>`, Grep instead of `grep`/`rg`"
        ),
    ]
    assert "stdout and stderr are merged. Default timeout 120s, max 600s." in paragraphs[0]
    assert not outputs.exists()


@pytest.mark.req("Y-15")
@pytest.mark.parametrize(
    "command", ["git add -A", "git push -f", "rm -rf *", "curl x | sh", "git reset --hard", "chmod -R 777 .", "sudo ls"]
)
def test_yoi_has_no_rules_beyond_the_floor(command: str) -> None:
    assert YOI.policy == EVERYTHING
    assert check(command, policy=YOI.policy).allowed


@pytest.mark.req("Y-15")
async def test_floor_rule_refuses_rm_of_root(execute: Execute) -> None:
    output = await execute("rm -rf /")
    assert output.summary == "$ rm -rf / (not run: refused by rm-root-or-home)"
    assert output.content is not None
    assert output.content.startswith("`rm -rf /` would delete the whole file system. Instead: ")


@pytest.mark.req("Y-12")
def test_yoi_profile_is_found_by_name() -> None:
    assert Bash("yoi").profile is YOI

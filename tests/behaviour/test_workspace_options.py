"""Invalid sandbox options are refused before anything starts."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from nacre import InvalidRequest, Limits
from tests.support.confined import confined, run

pytestmark = [pytest.mark.req("P-008"), *confined]


# invalid options

WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "network-restricted": ({"access": "restricted", "network": True}, "bad_network", "network"),
    "ports-restricted": ({"access": "restricted", "network": (443,)}, "bad_network", "network"),
    "writable-restricted": ({"access": "restricted", "writable": ("/tmp",)}, "bad_writable", "writable"),
    "protected-restricted": ({"access": "restricted", "protected": ("x",)}, "bad_protected", "protected"),
    "strict-workspace": ({"strict": True}, "bad_strict", "strict"),
    "hidden-unrestricted": ({"access": "unrestricted", "hidden": ("/x",)}, "bad_hidden", "hidden"),
    "network-unrestricted": ({"access": "unrestricted", "network": True}, "bad_network", "network"),
    "strict-unrestricted": ({"access": "unrestricted", "strict": True}, "bad_strict", "strict"),
    "partial-unrestricted": ({"access": "unrestricted", "allow_partial": True}, "bad_allow_partial", "allow_partial"),
    "everything": ({"working_dir": "/"}, "bad_workspace", "working_dir"),
    "temporary-files": ({"working_dir": tempfile.gettempdir()}, "bad_workspace", "working_dir"),
    "everything-writable": ({"writable": ("/",)}, "bad_workspace", "working_dir"),
    "writable-missing": ({"writable": ("no/such",)}, "writable_missing", "writable"),
    "writable-text": ({"writable": "/tmp"}, "bad_writable", "writable"),
    "writable-number": ({"writable": (3,)}, "bad_writable", "writable"),
    "protected-empty": ({"protected": ("",)}, "bad_protected", "protected"),
    "hidden-text": ({"hidden": "/x"}, "bad_hidden", "hidden"),
    "port-zero": ({"network": (0,)}, "bad_network", "network"),
    "port-large": ({"network": (65536,)}, "bad_network", "network"),
    "port-text": ({"network": ("443",)}, "bad_network", "network"),
    "port-true": ({"network": (True,)}, "bad_network", "network"),
    "ports-none": ({"network": ()}, "bad_network", "network"),
    "network-word": ({"network": "lan"}, "bad_network", "network"),
    "network-number": ({"network": 443}, "bad_network", "network"),
    "memory-zero": ({"limits": Limits(memory=0)}, "bad_limit", "limits.memory"),
    "cpu-negative": ({"limits": Limits(cpu=-1)}, "bad_limit", "limits.cpu"),
    "cpu-nan": ({"limits": Limits(cpu=float("nan"))}, "bad_limit", "limits.cpu"),
    "cpu-endless": ({"limits": Limits(cpu=float("inf"))}, "bad_limit", "limits.cpu"),
    "processes-true": ({"limits": Limits(processes=True)}, "bad_limit", "limits.processes"),
    "processes-half": ({"limits": Limits(processes=1.5)}, "bad_limit", "limits.processes"),  # type: ignore[arg-type]
    "files-text": ({"limits": Limits(open_files="9")}, "bad_limit", "limits.open_files"),  # type: ignore[arg-type]
    "size-half": ({"limits": Limits(file_size=0.5)}, "bad_limit", "limits.file_size"),  # type: ignore[arg-type]
    "memory-huge": ({"limits": Limits(memory=2**70)}, "bad_limit", "limits.memory"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_invalid_sandbox_option_is_refused_before_anything_starts(place: Path, name: str) -> None:
    given, code, field = WRONG[name]
    with pytest.raises(InvalidRequest) as caught:
        await run("touch made", place, **given)
    assert (caught.value.code, caught.value.field) == (code, field)
    assert caught.value.hint
    assert os.listdir(place) == []

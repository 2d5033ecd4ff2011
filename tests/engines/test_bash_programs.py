"""The bash scripts that run in containers, tested outside one: how they report the end of a command."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nacre.engines.guest.bash_programs import _JOB
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = pytest.mark.linux

_AWAITS = """
exec 7<> <(:)
mkfifo gate
set -m
bash -c 'read -r _ <gate; {ending}' &
child=$!
[[ {moment} != later ]] || {{ (read -r -t 0.3 <> <(:); echo >gate) & disown; }}
open() {{ echo >gate; while [[ -e /proc/$child ]]; do :; done; }}  # and it has been seen to end
jobs() {{
    [[ {moment} != before-"$1" || $opened ]] || {{ opened=1; open; }}
    builtin jobs "$@"
    [[ {moment} != after-"$1" || $opened ]] || {{ opened=1; open; }}
}}
await $child
[[ $ended =~ [^0-9]${{code}}[^0-9] ]] && echo "exit $code" || echo "signal $code"
"""


@pytest.mark.parametrize("moment", ["before--r", "after--r", "before--s", "after--s", "before-", "after-", "later"])
@pytest.mark.parametrize(("ending", "told"), [("exit 139", "exit 139"), ("kill -SEGV $$", "signal 139")])
def test_exit_code_is_distinguished_from_signal_whenever_the_child_ends(
    tmp_path: Path, moment: str, ending: str, told: str
) -> None:
    """The child may also end while the script checks its state."""
    program = _JOB + _AWAITS.format(moment=moment, ending=f"ulimit -c 0; {ending}")
    command = ["bash", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_TIMEOUT_S, check=False)
    assert done.stdout == f"{told}\n", done

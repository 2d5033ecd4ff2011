"""Free heap memory goes back to the system after large outputs."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys

import pytest

from nacre import Bash

HAS_TRIM = hasattr(ctypes.CDLL(None), "malloc_trim")

# Buffers from the heap, with small live blocks between them: when the buffers are freed, the top of the heap is not
# free.
FRAGMENTED_HOST = """
import json
from pathlib import Path
from nacre.base.heap import note_output

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1])

def fill():
    buffers, small = [], []
    for number in range(1000):
        buffers.append(bytearray(b"x" * 60_000))
        small.append(bytearray(b"y" * 600))
    return small

kept = fill()
before = resident()
note_output(100)
after_small = resident()
note_output(1_000_000)
note_output(100)
print(json.dumps([before, after_small, resident()]))
"""


@pytest.mark.linux
@pytest.mark.skipif(not HAS_TRIM, reason="the C library has no malloc_trim")
def test_free_heap_is_returned_only_after_a_large_output() -> None:
    program = [sys.executable, "-c", FRAGMENTED_HOST]
    said = subprocess.run(program, stdout=subprocess.PIPE, check=True, timeout=100).stdout
    before, after_small, after_large = json.loads(said)
    assert after_small >= before - 100, "ordinary outputs must not trim the heap (pages)"
    assert after_large < before / 2


async def test_output_of_one_stream_is_stored_once() -> None:
    printed = await Bash().run("head -c 3000000 /dev/zero")
    failed = await Bash().run("head -c 3000000 /dev/zero >&2")
    mixed = await Bash().run("echo out; echo err >&2")
    assert printed.out is printed.both
    assert failed.err is failed.both
    assert (mixed.out.head, mixed.err.head) == (b"out\n", b"err\n")

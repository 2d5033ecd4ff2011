"""sandlock, called from its own Python: for each byte on stdin, run one sandboxed `bash -c true` and time it."""

import sys
import time

from sandlock import Sandbox

sandbox = Sandbox(fs_readable=["/"], fs_writable=["/dev/null"])
while sys.stdin.read(1):
    start = time.perf_counter_ns()
    result = sandbox.run(["bash", "-c", "true"], timeout=10)
    assert result.success, result
    print(time.perf_counter_ns() - start, flush=True)

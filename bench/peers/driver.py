"""Run some probes in the peer's environment, one after another, and write a line of JSON for each event.

    python -m bench.peers.driver NAME PROBE… [--directory DIR] [--tell FD] [--mark SECONDS]

Run by hand, it prints the lines, which shows what an adapter does. A peer may print anything: the supervisor passes a
separate descriptor for the lines. Exceptions of the peer are recorded as facts, too.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

from bench.peers.contract import Adapter
from bench.peers.probes import PARALLEL_COMMANDS, PROBES, Facts, Scene


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("probes", nargs="+", choices=list(PROBES))
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--tell", type=int, default=1)
    parser.add_argument("--mark", default=f"300.{os.getpid()}")
    asked = parser.parse_args()
    directory = asked.directory or Path(tempfile.mkdtemp(prefix="peers-"))
    os.chdir(directory)
    os.set_inheritable(asked.tell, asked.tell == 1)

    def tell(kind: str, **facts: object) -> None:
        os.write(asked.tell, json.dumps({"kind": kind, **facts}).encode() + b"\n")
        if kind == "note" and asked.tell != 1:
            os.read(asked.tell, 1)  # wait until the supervisor has handled the note

    start = time.perf_counter()
    adapter = cast("Adapter", importlib.import_module(f"bench.peers.adapters.{asked.name.replace('-', '_')}"))
    tell("loaded", took=time.perf_counter() - start)

    async def perform() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(PARALLEL_COMMANDS + 28))
        for number, name in enumerate(asked.probes):
            mark = f"{asked.mark}{number:02}"
            tell("begin", probe=name, mark=mark)
            scene = Scene(adapter, directory, mark, lambda note: tell("note", note=note))
            tell("done", probe=name, facts=await run_probe(name, scene))

    asyncio.run(perform())


async def run_probe(name: str, scene: Scene) -> Facts:
    try:
        return await PROBES[name].run(scene)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        return {"raised": f"{type(error).__name__}: {error}"[:300]}


if __name__ == "__main__":
    main()

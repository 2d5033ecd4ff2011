"""The tool for a model: its definition and an answered call, in nacre's format and in another tool's."""

import asyncio

from nacre import Bash, ToolContext


async def main() -> None:
    bash = Bash()  # or Bash("mycode"), Bash("tunacode"), Bash("phoenix"), Bash("yoi"), Bash("tachikoma")
    ctx = ToolContext(working_dir=".")
    print(bash.definition(ctx)["name"])  # Bash

    answer = await bash.call({"command": "echo hello; exit 3"}, ctx)
    print(answer.text.splitlines())  # ['[nacre: exit 3]', 'hello']

    answer = await bash.call({"command": "ls", "timeout": 30}, ctx)
    print(answer.text)  # Error (unknown_argument): Unknown argument: 'timeout'. Did you mean `timeout_seconds`?

    answer = await Bash("mycode").call({"command": "echo hello", "timeout": 30_000}, ctx)
    print(answer.data["stdout"].strip(), answer.data["exit_code"])  # hello 0


asyncio.run(main())

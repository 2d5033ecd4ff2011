"""The example of the README."""

import asyncio

import nacre


async def main() -> None:
    result = await nacre.run("echo partial; setsid sleep 999 & sleep 999", timeout=1)
    print(result.summary)  # timed out after 1 s
    print(result.output)  # partial
    print(result.running)  # () — the setsid child is dead too

    bash = nacre.Bash()
    async for event in bash.stream("for i in 1 2 3; do echo $i; done; exit 7"):
        match event:
            case nacre.Chunk(stream="stdout"):
                print(event.text, end="")
            case nacre.Ended(result):
                print(result.exit_code)  # 7


asyncio.run(main())

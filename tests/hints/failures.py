"""Failed commands, and the hints that they get."""

from __future__ import annotations

from pathlib import Path

from nacre import Bash, Request, Result
from nacre.hints import Failure, hints


def program(path: Path, text: str = "#!/bin/sh\n", mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def hints_after(project_dir: Path, text: str, command: str = "work", *, stdin: bool = False, **env: str) -> list[str]:
    values = {"PATH": str(project_dir / "bin"), "HOME": str(project_dir / "home"), "GIT_EDITOR": "true", **env}
    return hints(
        Failure(
            command=command, cwd=str(project_dir), text=text, env=values, stdin=stdin, store=str(project_dir / "store")
        )
    )


async def run_here(bash: Bash, project_dir: Path, command: str) -> Result:
    return await bash.run(Request(command, cwd=project_dir))

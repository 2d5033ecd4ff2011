"""Write docs/profiles.md, a comparison of the profiles, from the profiles themselves."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from nacre.profiles import NAMES, profile_named
from nacre.profiles.table import table

PAGE = """\
# Profiles

A profile is a flavour of the tool: what a model is told, which limits hold, what is refused, what is given back. It is
data, and there is one engine. `Bash(profile="mycode")` and `nacre run --profile mycode` take one by its name;
`nacre schema --profile mycode` prints its tool for a model's API. `default` is our own; the others behave as the
documents they are named after, and there is a page for who comes from one:
{migrating}.

This page is generated from the profiles: `make profiles` writes it anew. A parameter with `?` may be left out; the
floor is what no policy lifts ([the checker](checker.md)).

{table}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the page of all profiles.")
    docs = Path(__file__).parent.parent / "docs"
    parser.add_argument("--to", type=Path, default=docs / "profiles.md", help="the file (default: docs/profiles.md)")
    path: Path = parser.parse_args().to
    path.write_text(text(docs / "migrating"), encoding="utf-8")
    return 0


def text(pages: Path) -> str:
    """Return the page. `pages` is the directory of the pages that it links to."""
    known = [name for name in NAMES if find_spec(f"nacre.profiles.{name}") is not None]
    links = [f"[{name}](migrating/{name}.md)" for name in known if (pages / f"{name}.md").exists()]
    header, *rows = table(profile_named(name) for name in known)
    lines = [_line(header), _line(["---"] * len(header)), *(_line([f"**{row[0]}**", *row[1:]]) for row in rows)]
    return PAGE.format(migrating=", ".join(links), table="\n".join(lines))


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    raise SystemExit(main())

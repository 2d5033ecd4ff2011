"""Write docs/rules: a page for each rule of the checker, and a table of all. The source of a page is the rule's
module."""

from __future__ import annotations

import argparse
from pathlib import Path

from nacre.policy.rule_pages import SECTIONS, Page, pages

INDEX = """\
# Rules

What the checker looks for, one page each. `nacre rules` prints the same table, `nacre rules ID` the same page. How it
reads a command, and how a policy changes a rule's decision, is in [the checker](../checker.md). These files are
generated from the rules: `make rules` writes them anew.

| rule | decision | what it finds |
|---|---|---|
"""

FLOOR = ", and no policy lowers it"


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the pages of the checker's rules.")
    default = Path(__file__).parent.parent / "docs" / "rules"
    parser.add_argument("--to", type=Path, default=default, help="the directory (default: docs/rules)")
    directory: Path = parser.parse_args().to
    directory.mkdir(parents=True, exist_ok=True)
    texts = render_pages()
    for path in directory.glob("*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    return 0


def render_pages() -> dict[str, str]:
    """Return the text of every file, by name."""
    known = pages()
    rows = (f"| [{page.id}]({page.id}.md) | {page.decision} | {_cell(page.title)} |\n" for page in known)
    return {"README.md": INDEX + "".join(rows), **{f"{page.id}.md": text(page) for page in known}}


def text(page: Page) -> str:
    parts = [f"# {page.id}", page.title[:1].upper() + page.title[1:]]
    parts.append(f"Decision: **{page.decision}**{FLOOR if page.mandatory else ''}.")
    parts += [f"**{name}:** " + "\n".join(page.sections[name]) for name in SECTIONS if name in page.sections]
    for heading, examples in (("It stops", page.hits), ("It lets pass", page.passes)):
        if examples:
            body = "\n".join(examples)
            fence = "````" if "```" in body else "```"
            parts.append(f"## {heading}\n\n{fence}sh\n{body}\n{fence}")
    return "\n\n".join(parts) + "\n"


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


if __name__ == "__main__":
    raise SystemExit(main())

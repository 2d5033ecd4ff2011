"""interpreter-destroys: a one-liner or here-document in another language deletes precious places.

Why      `shutil.rmtree(os.getcwd())` does the same as `rm -rf .`. Commands that such code starts are checked like those
         of the script; this rule checks the code's own calls.
Instead  name the directory: `shutil.rmtree("build")`.
Misses   a path that comes from a variable, an argument or a file; code in existing files.
"""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.facts.precious_paths import PlaceKind, protected_place
from nacre.policy.rule import RUNS_CODE, CheckContext, Hit, Rule
from nacre.shell import Command
from nacre.shell.programs.shells import SHELLS
from nacre.shell.symbolic import mark_globs
from nacre.verdict import Decision

_STRING = r"""[rbf]?(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)")"""
_TREE = (
    r"(?:rmtree|remove_tree|rmSync|rmdirSync|removeSync|emptyDirSync|rm_rf?|remove_dir_all|remove_entry_secure|"
    r"rimraf(?:\.sync)?|Deno\.remove(?:Sync)?|fs(?:\.promises)?\.rm)\s?\(?\s?"
)
_CALLS = lazy_regex(_TREE)
_GLOB = r"(?:glob\.i?glob|Dir\.glob|Dir|glob)\s?[(\[]?\s?"
_PATHS = (
    re.compile(rf"\b{_TREE}(?:(?:pathlib\.)?Path\(\s?|os\.path\.expanduser\(\s?)*{_STRING}"),
    re.compile(rf"\b{_TREE}{_GLOB}{_STRING}"),
    re.compile(rf"\bfor\s(\w+)\sin\s{_GLOB}{_STRING}.{{0,400}}?\b{_TREE}\1\b", re.DOTALL),
    re.compile(rf"\b{_GLOB}{_STRING}\s?\)?\s?\.(?:each|forEach)\b.{{0,400}}?\b{_TREE}", re.DOTALL),
)
_HERE = lazy_regex(
    rf"\b{_TREE}(?:os\.getcwdb?\(\)|(?:pathlib\.)?Path\.cwd\(\)|process\.cwd\(\)|Dir\.pwd|getcwd\(\)|__dirname)"
)
_HOME = lazy_regex(
    rf"\b{_TREE}(?:(?:pathlib\.)?Path\.home\(\)|(?:require\(.os.\)|os)\.homedir\(\)|process\.env\.HOME|Dir\.home|"
    rf"os\.environ(?:\.get\(|\[).HOME.[)\]]|os\.getenv\(.HOME.\)|ENV\[.HOME.\]|\$ENV\{{.?HOME.?\}})\s?[,)]"
)
_BLANKS = lazy_regex(r"\s{2,}")


def match(command: Command, context: CheckContext) -> Hit | None:
    code = command.script
    if not code or command.name in SHELLS or not _CALLS.search(code):
        return None
    from nacre.shell.programs.code_literals import QUOTED  # slow to import

    code = _BLANKS.sub(lambda found: "\n" if "\n" in found[0] else " ", code)
    quoted = [found.span() for found in QUOTED.finditer(code)]
    for pattern in _PATHS:
        for found in pattern.finditer(code):
            path = next((each for each in reversed(found.groups()) if each is not None), "")
            path = command.home + path[1:] if path[:1] == "~" and "expanduser" in found[0] else path
            place = protected_place(mark_globs(path), command, context)
            if place is not None and not _is_inside(found.start(), quoted):
                lost = place.kind in (PlaceKind.ROOT, PlaceKind.HOME)
                return Hit(words=found[0] + "…)", reason=f"would delete {place.what}", mandatory=lost)
    for pattern, what in ((_HERE, "the working directory"), (_HOME, "the home directory")):
        if (bare := pattern.search(code)) and not _is_inside(bare.start(), quoted):
            return Hit(words=bare[0] + "…)", reason=f"would delete {what}", mandatory=pattern is _HOME)
    return None


def _is_inside(position: int, spans: list[tuple[int, int]]) -> bool:
    return any(start < position < end for start, end in spans)


RULE = Rule(
    id="interpreter-destroys",
    decision=Decision.REFUSE,
    reason="would delete files that cannot be recovered",
    instead='name the one directory that has to go, as in `shutil.rmtree("build")`',
    commands=(RUNS_CODE,),
    match=match,
    hits=(
        "python3 -c \"import shutil; shutil.rmtree('/')\"",
        "python3 -c 'import shutil, os; shutil.rmtree(os.getcwd())'",
        "python3 -c 'import shutil, pathlib; shutil.rmtree(pathlib.Path.home())'",
        "python3 -c 'import shutil; shutil.rmtree(\".\")'",
        "python3 - <<'EOF'\nimport glob, shutil\nfor f in glob.glob(\"/*\"):\n    shutil.rmtree(f)\nEOF",
        "node -e \"require('fs').rmSync('/', {recursive: true, force: true})\"",
        "node -e 'require(\"fs-extra\").removeSync(process.cwd())'",
        "node -e \"require('rimraf').sync('/etc'); rimraf.sync('/etc')\"",
        "ruby -rfileutils -e 'FileUtils.rm_rf(Dir.glob(\"*\"))'",
        "sudo ruby -e 'FileUtils.rm_rf Dir.home, secure: true'",
        "perl -MFile::Path -e 'File::Path::remove_tree(\"/\")'",
        "perl -MFile::Path=rmtree -e 'rmtree($ENV{HOME})'",
        "echo \"import shutil; shutil.rmtree('/etc')\" | python3",
    ),
    passes=(
        "python3 -c \"import shutil; shutil.rmtree('build', ignore_errors=True)\"",
        "python3 -c 'import shutil; shutil.rmtree(\"/tmp/x\")'",
        "node -e \"require('fs').rmSync('dist', {recursive: true, force: true})\"",
        "python3 -c 'print(\"never call shutil.rmtree(os.getcwd())\")'",
        "python3 -c 'import os; print(os.getcwd())'",
        "python3 - <<'EOF'\n# shutil.rmtree('/') would be bad\nprint(1)\nEOF",
        "ruby -rfileutils -e 'FileUtils.rm_rf(Dir.glob(\"tmp/*\"))'",
        "python3 -c 'import shutil; shutil.rmtree(tmp)'",
        "grep -rn 'shutil.rmtree(\"/\")' src",
    ),
)

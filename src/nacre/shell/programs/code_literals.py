"""Find commands that are literals in the code of other languages: `os.system("…")`, `rmtree("/")`, awk's `system`.

Uses regular expressions, not grammars: what it finds is certainly there, but it misses much.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from shlex import quote

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.symbolic import DECODED, DOWNLOADED
from nacre.shell.syntax.escapes import ansi_c

_STRING = r"""(?:[rbfuRBFU]{0,2}(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`))"""
_SHELL_CALLS = lazy_regex(
    r"(?:\b(?:os\.(?:system|popen)|subprocess\.\w+|commands\.getoutput|system|exec|popen|shell_exec|passthru|execSync|"
    r"spawnSync|exec[A-Z]\w*|os\.execute|IO\.popen|Open3\.\w+|check_output|check_call|run|call|Popen|getoutput|"
    r"getstatusoutput|do\s+shell\s+script|qx|sh)\s?\(?\s?)" + _STRING
)
_LIST_CALLS = lazy_regex(
    r"\b(?:subprocess\.\w+|run|call|check_call|check_output|Popen|os\.(?:exec|spawn)\w+|spawnSync|spawn|execFileSync|"
    r"execFile|system|exec)\s?\(?\s?(\[[^\]]{0,2000}\]|"
    + _STRING
    + r"\s?,\s?\[[^\]]{0,2000}\]|"
    + _STRING
    + r"(?:\s?,\s?"
    + _STRING
    + r")+)"
)
_BACKQUOTES = lazy_regex(
    r"`((?:[^`\\]|\\.)*)`|(?:%x|\bqx)\s?(?:\(([^()]{0,2000})\)|\{([^{}]{0,2000})\}|\[([^\[\]]{0,2000})\])|\bqx([/|!])(.{0,2000}?)\5"
)
_AWK = lazy_regex(r'system\s?\(\s?"((?:[^"\\]|\\.)*)"|"((?:[^"\\]|\\.)*)"\s*\|\s*getline|\|\s*"((?:[^"\\]|\\.)*)"')
_TCL = lazy_regex(r"\b(?:spawn|exec|system)\s+(?:-\w+\s+)?([^\n;\]]+)")
_BRACED = lazy_regex(r"\{([^{}]*)\}")
_TO_SHELL = lazy_regex(r'\|\s*"(?:/\w+)*/?(?:ba|da|z)?sh\b')
_CALLED = lazy_regex(r"system\s?\(\s?(\w+)")
_SET = lazy_regex(r'\b(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_ANY_STRING = lazy_regex(_STRING)
_ARGUMENTS = lazy_regex(r"\bsys\.argv|@ARGV|\bARGV\b|process\.argv")
_STARTS = lazy_regex(r"\bsystem\b|\bexec|subprocess\.|\bspawn|\bpopen", re.IGNORECASE)
_INPUT = lazy_regex(r"system\s?\(\s?\$0|\$0\s*\|\s*(?:getline|\"(?:ba)?sh\")|print\s*(?:\$0)?\s*\|\s*\"(?:ba)?sh\"")
_PRINTS = lazy_regex(r"(?:\bprintf?|\becho|\bputs|console\.log|stdout\.write)\s?\(?\s?" + _STRING)
QUOTED = lazy_regex(
    r"""(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(?:^|(?<=\s))(?:#|//)[^\n]*)""", re.DOTALL
)
_BLANKS = lazy_regex(r"\s{2,}")
_RUNS_CODE = lazy_regex(r"\b(?:exec|eval)\s?\(\s?" + _STRING)
_OPENS = lazy_regex(
    r"\b(?:open|writeFileSync|appendFileSync|file_put_contents|File\.write)\s?\(\s?"
    + _STRING
    + r"\s?,\s?(?:['\"][wa+]|(?!['\"]r)\S)"
)
_WRITES_PATH = lazy_regex(
    r"\bPath\s?\(\s?" + _STRING + r"\s?\)\.(?:write_text|write_bytes|touch|open\s?\(\s?['\"][wa+])"
)
_REMOVES = lazy_regex(
    r"(?:\b(?:os\.(?:remove|unlink|truncate)|unlinkSync|fs\.unlink|File\.(?:delete|unlink)|unlink)\s?\(?\s?(?:glob\s?\(?\s?)?"
    + _STRING
    + r")"
    r"|\bPath\s?\(\s?" + _STRING + r"\s?\)\.unlink\b"
)
_COPIES = lazy_regex(
    r"\b(?:shutil\.(?:copy\w*|move)|os\.(?:rename|replace)|copyFileSync|renameSync|FileUtils\.(?:cp|mv))\s?\(\s?"
    + _STRING
    + r"\s?,\s?"
    + _STRING
)
_PRINTS_TO = lazy_regex(r'\bprintf?\b[^;}\n]{0,200}>\s?"((?:[^"\\]|\\.)*)"')
_EXECUTES = lazy_regex(
    r"\b(?:exec|eval|os\.system|system|popen|check_output|subprocess\.\w+|child_process|execSync|shell_exec|passthru)\b"
)
_FETCH = (
    r"(?:urlopen|requests\.get|httpx\.get|urlretrieve|file_get_contents\s?\(\s?['\"]https?:|Net::HTTP\.get|LWP::Simple)"
)
_DECODE = (
    r"(?:b64decode|b32decode|a85decode|fromhex|unhexlify|decompress|decode_base64|base64_decode|atob|decode64|hex2bin|"
    r"Buffer\.from\s?\([^()\n]{0,200},\s?['\"](?:base64|hex)['\"])"
)
_RUNS = r"\b(?:exec|eval|system|run|call|execSync|shell_exec|passthru)\b\s?[( ][^\n;]{0,80}?"
_FETCHES, _FETCHED = re.compile(_RUNS + _FETCH), re.compile(_FETCH)
_DECODES, _DECODED = re.compile(_RUNS + _DECODE), re.compile(_DECODE)
_MAX_DEPTH = 3


def shell_commands_in(code: str, language: str, depth: int = 0) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yield texts that go to a shell, each with None, and `""` with the argv of each program started without one."""
    code = _BLANKS.sub(lambda found: "\n" if "\n" in found[0] else " ", code)
    if language.endswith("awk"):
        yield from _in_awk(code)
        return
    if language in ("expect", "tclsh"):
        for found in _TCL.finditer(code):
            yield _BRACED.sub(lambda each: quote(each[1]), found[1]), None
        return
    quoted = [found.span() for found in QUOTED.finditer(code)]
    for found in _calls(_LIST_CALLS, code, quoted):
        words = tuple(ansi_c(_text(each)) for each in _ANY_STRING.finditer(found[1]))
        if len(words) > 1:
            yield "", words
    for found in _calls(_SHELL_CALLS, code, quoted):
        yield ansi_c(_text(found)), None
    for found in _calls(_OPENS, code, quoted):
        yield ": > " + quote(ansi_c(_text(found))), None
    for found in _calls(_WRITES_PATH, code, quoted):
        yield ": > " + quote(ansi_c(_text(found))), None
    for found in _calls(_REMOVES, code, quoted):
        yield "", ("rm", ansi_c(_text(found)))
    for found in _calls(_COPIES, code, quoted):
        moves = re.match(r"\w*\.?(?:move|mv|re)", found[0]) is not None
        yield "", ("mv" if moves else "cp", *(ansi_c(_text(each)) for each in _ANY_STRING.finditer(found[0])))
    for found in _calls(_RUNS_CODE, code, quoted):
        if depth < _MAX_DEPTH:
            yield from shell_commands_in(ansi_c(_text(found)), language, depth + 1)
    if language.startswith(("perl", "ruby", "php")):
        for found in _calls(_BACKQUOTES, code, quoted):
            yield ansi_c(_text(found)), None


def _calls(pattern: re.Pattern[str], code: str, quoted: list[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """Yield the matches in the code itself, not in its strings and comments."""
    position = 0
    while found := pattern.search(code, position):
        start = found.start()
        index = bisect(quoted, (start, len(code) + 1)) - 1
        if index < 0 or quoted[index][1] <= start or quoted[index][0] == start:
            yield found
            position = max(found.end(), start + 1)
        else:
            position = quoted[index][1]


def _in_awk(code: str) -> Iterator[tuple[str, None]]:
    for found in _AWK.finditer(code):
        yield ansi_c(_text(found)), None
    if _TO_SHELL.search(code):
        yield printed_by(code), None
    for found in _PRINTS_TO.finditer(code):
        yield ": > " + quote(ansi_c(_text(found))), None
    called = set(_CALLED.findall(code))
    for name, text in _SET.findall(code):
        if name in called:
            yield ansi_c(text), None


def _text(found: re.Match[str]) -> str:
    return next((group for group in found.groups() if group is not None), "")


def origin_of(code: str) -> str:
    """Return the marker for text that the code downloads or decodes and then executes; "" if it does neither."""
    if not _EXECUTES.search(code):
        return ""
    return DOWNLOADED if _FETCHES.search(code) else DECODED if _DECODES.search(code) else ""


def source_of(code: str) -> str:
    """Return the marker for text that the code downloads or decodes, and so may print; "" if it does neither."""
    return DOWNLOADED if _FETCHED.search(code) else DECODED if _DECODED.search(code) else ""


def takes_arguments(code: str) -> bool:
    """Tell whether the code starts programs that its own arguments name."""
    return _ARGUMENTS.search(code) is not None and _STARTS.search(code) is not None


def takes_input(code: str) -> bool:
    """Tell whether awk passes each line of its input to a shell."""
    return _INPUT.search(code) is not None


def printed_by(code: str) -> str:
    """Return the literal texts that the code would print."""
    return "".join(ansi_c(_text(found)) + "\n" for found in _PRINTS.finditer(code))

"""Permission rules in the syntax that agents share, `Bash(git push:*)`: parse the rules of three lists.

    Bash                every command; so does Bash(*)
    Bash(ls)            these words and no others
    Bash(git push:*)    these words, and any after them; so does Bash(git push *)
    Bash(ls*)           a star matches any text, with spaces, at any place
    Bash(make > *)      an output redirection is only allowed by a rule that names one
    Bash(a && b)        a compound, as text; denied anywhere in a script, allowed only as a whole

Rules of other tools (`Read(…)`, `mcp__…`) are ignored. Data and its parsing; `nacre.policy.permissions.match` applies
the rules. The contract is https://code.claude.com/docs/en/permissions, as of 2026-11-16 (it names version 2.1.211).
"""

from __future__ import annotations

from functools import lru_cache

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.errors import InvalidPolicy

TOOL = "Bash"
STAR = "\ufdef"
"""Any text. The checker never gets a text with this character."""
SEPARATOR = "\0"
"""Separates words: no word contains it."""
_COMPOUND = frozenset("|;&\n")
_OTHERS = lazy_regex(r"[A-Z]\w*$|mcp__|[\w*]*\*[\w*]*$")
"""Names of other tools, also with wildcards. Any other name was meant as a command: the rule would have no effect."""
_SHELLS = frozenset(("bash", "sh", "shell", "run_shell_command"))
"""Names of this tool in other agents."""
_SYSTEM = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin")


@frozen(kw_only=True)
class Permissions:
    """Rules as written. Deny takes precedence over ask, and ask over allow, however specific a rule is."""

    allow: tuple[str, ...] = ()
    """Rules that approve what the checker asks about; they do not lift its refusals."""
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("allow", "ask", "deny"):
            rules = getattr(self, name)
            if isinstance(rules, str):
                raise InvalidPolicy(f"{name}={rules!r} is one string. Give a list of rules: {name}=({rules!r},)")
            object.__setattr__(self, name, tuple(rules))
            for rule in rules:
                pattern_of(rule)

    def __bool__(self) -> bool:
        return bool(self.allow or self.ask or self.deny)


@frozen(kw_only=True)
class PermissionPattern:
    """A parsed rule."""

    rule: str
    words: tuple[str, ...] = ()
    """Words, with `STAR` as wildcard. Empty: every command, or a compound."""
    more: bool = False
    """Any words may follow."""
    writes: bool = False
    """The rule names an output redirection."""
    text: str = ""
    """Only of a compound: its text, with single spaces, also around operators."""
    parts: int = 0
    """Only of a compound: its number of pipelines."""
    source: str = ""
    """Only of a compound: its text as written."""

    @property
    def everything(self) -> bool:
        """Whether the rule matches every command."""
        return not self.words and not self.text

    @property
    def named(self) -> int:
        """Number of leading words without a wildcard."""
        return next((place for place, word in enumerate(self.words) if STAR in word), len(self.words))

    @property
    def exact(self) -> bool:
        """Whether the rule has no wildcards."""
        return not self.more and STAR not in "".join((*self.words, self.text))


@lru_cache(2048)
def pattern_of(rule: str, *, stops: bool = True) -> PermissionPattern | None:
    """Parse a rule; None if it is about other tools.

    `stops`: the rule asks or denies; only then may the tool's name be a glob. InvalidPolicy: the rule is invalid.
    """
    if not isinstance(rule, str):
        raise InvalidPolicy(f"{rule!r} is not a permission rule. Write a string such as 'Bash(git push:*)'.")
    tool, opened, rest = rule.strip().partition("(")
    tool = tool.strip()
    if not _is_ours(tool, stops=stops):
        if tool.lower() in _SHELLS or not _OTHERS.match(tool):
            raise InvalidPolicy(f"The permission rule {rule!r} names no tool. Write Bash(…) around the command.")
        return None
    if opened and not rest.endswith(")"):
        raise InvalidPolicy(f"The permission rule {rule!r} has no closing parenthesis.")
    if not opened:
        return PermissionPattern(rule=rule)
    return _read(rule, rest[:-1].strip())


def _is_ours(tool: str, *, stops: bool) -> bool:
    if "*" not in tool or not stops:
        return tool == TOOL
    from nacre.policy.permissions.globs import matches_pieces

    return matches_pieces(tool.split("*"), TOOL)


def _read(rule: str, text: str) -> PermissionPattern:
    from nacre.shell.symbolic import remove_markers

    text = remove_markers(text)
    if text.endswith(":*"):
        text = text[:-2] + " *"
    if text.strip() == "*":
        return PermissionPattern(rule=rule)
    words, compound = _words(text)
    if compound:
        from nacre.policy.permissions.compounds import compounds, parts

        length = len(parts(text)[0])
        whole = next(compounds(text, length)).replace("*", STAR)
        return PermissionPattern(rule=rule, text=whole, parts=length, source=text)
    more = words[-1:] == [STAR]
    words = words[:-1] if more else words
    if not words:
        raise InvalidPolicy(f"The permission rule {rule!r} names no command. Write Bash(ls:*), or Bash for every one.")
    if STAR not in words[0]:
        words[0] = program(words[0])
    return PermissionPattern(
        rule=rule, words=tuple(words), more=more, writes=any(word.lstrip("&012")[:1] == ">" for word in words)
    )


def program(word: str) -> str:
    """Return the name of a system program; any other program's path unchanged."""
    directory, slash, name = word.rpartition("/")
    return name if slash and name and directory in _SYSTEM else word


def _words(text: str) -> tuple[list[str], bool]:
    """Split text into words like a shell; the second value is whether there is an operator between commands.

    The parser cannot do this: a rule is a pattern, not a script. A star is a wildcard in quotes, too; `$`, `#`,
    brackets and reserved words stand for themselves; and an unclosed quote ends with the rule.
    """
    words: list[str] = []
    word, quote, begun, position = "", "", False, 0
    while position < len(text):
        letter = text[position]
        position += 1
        if letter == "\\" and quote != "'" and position < len(text):
            word, begun, position = word + text[position], True, position + 1
        elif quote and letter == quote:
            quote = ""
        elif quote or letter not in " \t'\"<>|;&\n":
            word, begun = word + (STAR if letter == "*" else letter), True
        elif letter in "'\"":
            quote, begun = letter, True
        elif letter in "<>" or (letter == "&" and text[position : position + 1] == ">"):
            end = position
            while end < len(text) and text[end] in "<>&|":
                end += 1
            operator = text[position - 1 : end]
            if word.isdigit():
                operator, begun = word + operator, False
            words += [word, operator] if begun else [operator]
            word, begun, position = "", False, end
        elif letter in _COMPOUND:
            return words, True
        elif begun:
            words.append(word)
            word, begun = "", False
    return ([*words, word] if begun else words), False

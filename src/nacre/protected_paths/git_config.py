"""Finds the settings in a git configuration that run programs or lead git elsewhere. Pure.

The file is read character by character like git's own parser: any difference in the treatment of quotes, comments or
continued lines could hide a setting.

`git clone`, `git init` and `git submodule add` write only settings that do neither, so repositories that a command
creates with them are left alone. In sections that can name programs, every key counts except those known to be
harmless. Other sections are harmless: git runs no program from them.
"""

from __future__ import annotations

import re
import string

MAX_BYTES = 256 * 1024
"""A larger configuration is not read, and counts as one that runs programs."""
UNREADABLE = "?"
"""Stands for a configuration that cannot be read as git would read it."""

_HARMLESS = {
    "core": """abbrev autocrlf bare bigfilethreshold checkstat commentchar commentstring commitgraph compression eol
        filemode fscache hidedotfiles ignorecase ignorestat logallrefupdates longpaths multipackindex
        packedgitlimit precomposeunicode preloadindex protecthfs protectntfs quotepath
        repositoryformatversion safecrlf sharedrepository sparsecheckout sparsecheckoutcone splitindex
        symlinks trustctime untrackedcache whitespace worktree""",
    "remote": """fetch followremotehead mirror partialclonefilter promisor prune prunetags push pushdefault pushurl
        skipdefaultupdate skipfetchall tagopt url""",
    "submodule": """active alternateerrorstrategy alternatelocation branch fetchjobs fetchrecursesubmodules ignore path
        propagatebranches recurse url""",
    "http": "lowspeedlimit lowspeedtime maxrequests postbuffer version",
    "init": "defaultbranch defaultobjectformat defaultrefformat",
    "protocol": "version",
    "gc": """aggressivedepth aggressivewindow auto autodetach autopacklimit bigpackthreshold cruftpacks logexpiry
        maxcruftsize packrefs pruneexpire reflogexpire reflogexpireunreachable rerereresolved rerereunresolved
        worktreepruneexpire writecommitgraph""",
    "annex": "uuid version",
    "lfs": "access locksverify repositoryformatversion url",
    "receive": "autogc denycurrentbranch denydeletecurrent denydeletes denynonfastforwards fsckobjects maxinputsize",
    "uploadpack": "allowanysha1inwant allowfilter allowreachablesha1inwant allowrefinwant allowtipsha1inwant hiderefs",
    "diff": """algorithm autorefreshindex binary cachetextconv colormoved colormovedws context dirstat funcname
        ignoresubmodules indentheuristic interhunkcontext mnemonicprefix noprefix relative renamelimit renames
        statgraphwidth submodule suppressblankempty wordregex wserrorhighlight xfuncname""",
    "merge": """autostash branchdesc conflictstyle defaulttoupstream directoryrenames ff log name recursive renamelimit
        renames renormalize stat suppressdest verbosity verifysignatures""",
    **dict.fromkeys(
        """alias archive browser credential difftool filter gpg guitool help hook imap include includeif instaweb
        interactive man mergetool pager scalar sendemail sequence ssh svn svn-remote tar trailer url web""".split(),
        "",
    ),
}
"""Sections that can name programs, with their keys that never do."""
_HARMLESS_KEYS = {section: frozenset(keys.split()) for section, keys in _HARMLESS.items()}
_HARMLESS_VALUES = {
    "core.fsmonitor": re.compile(r"(?:true|false|yes|no|on|off|0|1)?", re.IGNORECASE),
    "filter.lfs.clean": re.compile(r"git-lfs clean -- %f"),
    "filter.lfs.smudge": re.compile(r"git-lfs smudge (?:--skip )?-- %f"),
    "filter.lfs.process": re.compile(r"git-lfs filter-process(?: --skip)?"),
    "filter.lfs.required": re.compile(r"true|false"),
    "submodule.*.update": re.compile(r"checkout|rebase|merge|none"),
}
_SPACES = frozenset(" \t\n\r")
_LETTERS = frozenset(string.ascii_letters)
_KEY_LETTERS = frozenset(string.ascii_letters + string.digits + "-")
_SECTION_LETTERS = _KEY_LETTERS | {"."}
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"'}


def settings_that_run_programs(text: str) -> frozenset[str]:
    """Return each setting that runs programs or leads git elsewhere as `section.name.key=value`; `UNREADABLE` if git
    may read the file differently."""
    try:
        settings = read_settings(text)
    except ValueError:
        return frozenset({UNREADABLE})
    return frozenset(
        f"{full}={value or ''}" for full, value in settings if not _is_harmless(*_split_name(full), value=value or "")
    )


def find_setting(text: str, name: str) -> str:
    """Return the last value of a setting; empty if it is not set or the text cannot be read."""
    try:
        values = [value for full, value in read_settings(text) if full == name]
    except ValueError:
        return ""
    return (values[-1] or "") if values else ""


def read_settings(text: str) -> list[tuple[str, str | None]]:
    """Return names (`section.name.key`) and values as `git config --list` does; the value is None for a key without
    `=`.

    Raises ValueError if git would refuse the file, or might read it differently.
    """
    if "\0" in text:
        raise ValueError("a NUL, at which git ends a value")
    reader = _ConfigReader(text.removeprefix("\ufeff"))
    found: list[tuple[str, str | None]] = []
    stem = ""
    while not reader.at_end:
        letter = reader.next()
        if letter in _SPACES:
            continue
        if letter in "#;":
            reader.skip_line()
        elif letter == "[":
            stem = reader.read_header()
        elif letter not in _LETTERS or not stem:
            raise ValueError(f"{letter!r} begins neither a section nor a setting")
        else:
            found.append(reader.read_setting(stem, letter))
    return found


class _ConfigReader:
    """Reads the characters of a configuration one by one. At the end, `next` returns newlines without limit."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._text)

    def next(self) -> str:
        """Return the next character."""
        letter = "\n" if self.at_end else self._text[self._at]
        self._at += 1
        return letter

    def skip_line(self) -> None:
        """Skip the rest of a comment. It ends with its line, also after a backslash."""
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end + 1

    def read_header(self) -> str:
        """Read the rest of `[section]`, `[section.name]` or `[section "name"]`. The name returned ends with a dot."""
        name = ""
        while (letter := self.next()) in _SECTION_LETTERS:
            name += letter.lower()
        if letter in _SPACES:
            while letter in _SPACES:
                if letter == "\n":
                    raise ValueError("a section's header does not end on its line")
                letter = self.next()
            if letter != '"':
                raise ValueError("a section's second name has no quotes")
            name += f".{self._read_quoted()}"
            letter = self.next()
        if letter != "]" or not name:
            raise ValueError("a section's header has no end")
        return f"{name}."

    def _read_quoted(self) -> str:
        found: list[str] = []
        while (letter := self.next()) != '"':
            if letter == "\\":
                letter = self.next()
            if letter == "\n":
                raise ValueError("a section's header does not end on its line")
            found.append(letter)
        return "".join(found)

    def read_setting(self, stem: str, letter: str) -> tuple[str, str | None]:
        """Read the rest of a line that starts with `letter`."""
        key = letter.lower()
        while (letter := self.next()) in _KEY_LETTERS:
            key += letter.lower()
        while letter in " \t":
            letter = self.next()
        if letter == "\n":
            return stem + key, None
        if letter != "=":
            raise ValueError(f"{letter!r} in the name of a setting")
        return stem + key, self._read_value()

    def _read_value(self) -> str:
        found: list[str] = []
        spaces, is_quoted = 0, False
        while (letter := self.next()) != "\n":
            if not is_quoted and letter in _SPACES:
                spaces += 1 if found else 0
                continue
            if not is_quoted and letter in "#;":
                self.skip_line()
                return "".join(found)
            found += [" "] * spaces
            spaces = 0
            if letter == '"':
                is_quoted = not is_quoted
            elif letter != "\\":
                found.append(letter)
            elif (escaped := self.next()) != "\n":
                if escaped not in _ESCAPES:
                    raise ValueError(f"{escaped!r} after a backslash")
                found.append(_ESCAPES[escaped])
        if is_quoted:
            raise ValueError("a value ends within quotes")
        return "".join(found)


def _split_name(full: str) -> tuple[str, str, str]:
    """Split a name into section, subsection and key: as in git, at its first and its last dot."""
    section, _, rest = full.partition(".")
    name, _, key = rest.rpartition(".")
    return section, name, key


def _is_harmless(section: str, name: str, key: str, *, value: str) -> bool:
    for known in (f"{section}.{name}.{key}" if name else f"{section}.{key}", f"{section}.*.{key}"):
        if known in _HARMLESS_VALUES:
            return _HARMLESS_VALUES[known].fullmatch(value) is not None
    if section == "remote" and key in ("url", "pushurl"):
        return not value.lower().startswith("ext::")
    return key in _HARMLESS_KEYS[section] if section in _HARMLESS_KEYS else True

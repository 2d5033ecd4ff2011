"""A git configuration in, the settings in it that run programs or lead git elsewhere out. Pure.

`git clone`, `git init` and `git submodule add` write settings that do neither, so a repository that a command has made
is left alone. In sections in which git looks for programs, all keys count but those that are known to be harmless;
other sections are harmless, since git knows no program there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_BYTES = 256 * 1024
"""A configuration that is larger is not read, and counts as one that runs programs."""
UNREADABLE = "?"
"""Stands for what cannot be read as git would."""

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
        interactive man mergetool pager scalar sendemail sequence ssh svn-remote tar trailer url web""".split(),
        "",
    ),
}
"""Sections in which git looks for programs, with the keys that name none."""
_HARMLESS_KEYS = {section: frozenset(keys.split()) for section, keys in _HARMLESS.items()}
_HARMLESS_VALUES = {
    "core.fsmonitor": re.compile(r"(?:true|false|yes|no|on|off|0|1)?", re.IGNORECASE),
    "filter.lfs.clean": re.compile(r"git-lfs clean -- %f"),
    "filter.lfs.smudge": re.compile(r"git-lfs smudge (?:--skip )?-- %f"),
    "filter.lfs.process": re.compile(r"git-lfs filter-process(?: --skip)?"),
    "filter.lfs.required": re.compile(r"true|false"),
    "submodule.*.update": re.compile(r"checkout|rebase|merge|none"),
}
_HEADER = re.compile(r'\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$", re.DOTALL)


def settings_that_run_programs(text: str) -> frozenset[str]:
    """Each as `section.name.key=value`; `UNREADABLE` for what git may read and this does not."""
    return frozenset(
        f"{section}{f'.{name}' if name else ''}.{key}={value}" if section else UNREADABLE
        for section, name, key, value in _settings(text)
        if not section or not _is_harmless(section, name, key, value)
    )


def _is_harmless(section: str, name: str, key: str, value: str) -> bool:
    for known in (f"{section}.{name}.{key}" if name else f"{section}.{key}", f"{section}.*.{key}"):
        if known in _HARMLESS_VALUES:
            return _HARMLESS_VALUES[known].fullmatch(value) is not None
    if section == "remote" and key in ("url", "pushurl"):
        return not value.lower().startswith("ext::")
    return key in _HARMLESS_KEYS[section] if section in _HARMLESS_KEYS else True


def _settings(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Section, its name, key and value; an empty section for a line that cannot be read."""
    section = name = ""
    joined = re.sub(r"\\\r?\n", " ", text.removeprefix("\ufeff"))
    for line in joined.split("\n"):
        rest = line.strip()
        while rest and rest[0] not in "#;":
            if rest[0] == "[":
                header = _HEADER.match(rest)
                if header is None:
                    yield "", "", "", ""
                    break
                section, _, old_name = header[1].lower().partition(".")
                name = header[2] if header[2] is not None else old_name
                rest = rest[header.end() :]
                continue
            setting = _SETTING.match(rest)
            if setting is None or not section:
                yield "", "", "", ""
            else:
                yield section, name, setting[1].lower(), (setting[2] or "").strip().strip('"')
            break

"""Rare ways to run code: substitutions of bash 5.3, bash's own tables, aliases by variables, declared texts that look
like arrays, the formats of `xargs` and `find`.

Scripts are only parsed, never run: the bash here may be too old for the first of them.
"""

from __future__ import annotations

import pytest

from nacre import Decision
from nacre.shell import read
from tests.policy.test_corpus import verdict

IN_BRACES = [
    'echo "${ rm -rf /; }"',
    ': "a${ rm -rf /; }b"',
    ": ${ rm -rf /; }b",
    'echo "${| rm -rf /; }"',
    'echo "${|rm -rf /; }"',
    'echo "${\nrm -rf /\n}"',
    'echo "${\trm -rf /; }"',
    'echo "${\\\n rm -rf /; }"',
    'echo "${ rm -rf /;\\\n}b"',
    'echo "${x:-${ rm -rf /; }}"',
    'echo "${x[${ rm -rf /; }]}"',
    'echo "${ echo "${ rm -rf /; }"; }"',
    'echo "$(echo "${ rm -rf /; }")"',
    'echo "${ { rm -rf /; } }"',
    'echo "$(( ${ rm -rf /; } ))"',
    "a='b[${ rm -rf /; }]'; (( a ))",
    'eval "${ echo rm -rf /; }"',
    "eval \"${| REPLY='rm -rf /'; }\"",
    "rm -rf ${| REPLY=/; }",
    '[[ "${ rm -rf /; }" ]]',
    'case "${ rm -rf /; }" in *) ;; esac',
    "cat <<E\n${ rm -rf /; }b\nE",
    ': "${ x=/; }"; rm -rf "$x"',
    'x=/; : "${y:-${ x=build; }}"; rm -rf "$x"',
    ': "${ cd /; }"; rm -rf *',
    ': "${y:-${ rm() { :; }; }}"; rm -rf /',
]
HASHED = [
    "hash -p /bin/rm x; x -rf /",
    "hash -p/bin/rm w x; x -rf /",
    "hash -p /bin/rm x; command x -rf /",
    "hash -p /bin/true rm; hash -r; rm -rf /",
    "BASH_CMDS[x]=/bin/rm; x -rf /",
    "BASH_CMDS=([x]=/bin/rm); x -rf /",
    "declare 'BASH_CMDS[x]=/bin/rm'; x -rf /",
    "printf -v 'BASH_CMDS[x]' /bin/rm; x -rf /",
]
ALIASED = [
    "BASH_ALIASES[x]='rm -rf /'; shopt -s expand_aliases\nx",
    "shopt -s expand_aliases; BASH_ALIASES=([x]='rm -rf')\nx /",
    "BASH_ALIASES[rm]=true; shopt -s expand_aliases; rm -rf /",
    "POSIXLY_CORRECT=1; alias x='rm -rf /'\nx",
    "POSIXLY_CORRECT=1 bash -c $'alias x=\"rm -rf /\"\\nx'",
    "POSIXLY_CORRECT=1; bash -c $'alias rm=true\\nrm -rf /'",
    "env POSIXLY_CORRECT= bash -c $'alias x=\"rm -rf /\"\\nx'",
    "env BASHOPTS=expand_aliases bash -c $'alias x=\"rm -rf /\"\\nx'",
    "env SHELLOPTS=posix bash -c $'alias x=\"rm -rf /\"\\nx'",
    "bash -o posix -c $'alias x=\"rm -rf /\"\\nx'",
]
DECLARED = [
    "export c='(rm -rf /)'; eval \"$c\"",
    "declare c='(rm -rf /)'; bash -c \"$c\"",
    "f() { local c='(rm -rf /)'; eval \"$c\"; }; f",
    "declare -A m='([k]=rm)'; \"${m[k]}\" -rf /",
    "declare -a a='(rm -rf /)'; \"${a[@]}\"",
]
GIVEN = [
    "xargs -d, rm -rf <<< '/,x'",
    "printf 'x:/:' | xargs -d: rm -rf",
    "printf 'x:/:' | xargs --delimiter=: rm -rf",
    "printf 'x\\t/\\t' | xargs -d '\\t' rm -rf",
    "find / -maxdepth 0 -printf 'rm -rf %p\\n' | sh",
]
UNKNOWN = {
    'hash -p "$q" y; y -rf /': ("$q", "…"),
    "[[ / =~ . ]]; rm -rf $BASH_REMATCH": ("$BASH_REMATCH",),
    "[[ / =~ . ]]; rm -rf ${BASH_REMATCH[0]}": ("$BASH_REMATCH",),
    "rm -rf ${| if a; then REPLY=b; fi; }": ("$(…)",),
}


@pytest.mark.parametrize("text", [*IN_BRACES, *HASHED, *ALIASED, *DECLARED, *GIVEN])
def test_destructive_command_in_a_rare_construct_is_refused(text: str) -> None:
    assert verdict(text).decision is Decision.REFUSE


@pytest.mark.parametrize(("text", "unknown"), UNKNOWN.items())
def test_verdict_lists_unknown_values(text: str, unknown: tuple[str, ...]) -> None:
    assert verdict(text).unknown == unknown


@pytest.mark.parametrize(
    "text",
    [
        'echo "${ date; }b" "${| REPLY=x; }"',
        "hash -p ls ls; ls",
        "hash -p /usr/bin/git git; hash -r; git status",
        "BASH_ALIASES[ll]='ls -l'; shopt -s expand_aliases\nll",
        "POSIXLY_CORRECT=1 df -h",
        "[[ $x =~ ^v(.*)$ ]] && echo ${BASH_REMATCH[1]}",
    ],
)
def test_harmless_use_of_rare_constructs_is_allowed(text: str) -> None:
    script = read(text, cwd="/home/dev/project", home="/home/dev")
    assert (script.gave_up, script.syntax_error) == ("", False)
    assert verdict(text).decision is Decision.ALLOW

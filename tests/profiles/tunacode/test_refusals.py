"""Refusals of commands by their effect (T-03), and of characters that are not allowed in a command (T-04).

No command is run: the checker is called, or the refusal comes before anything starts.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre import Bash, check
from nacre.compat.tunacode import ModelRetry, bash, make_bash
from nacre.policy.rule import CheckContext
from nacre.profiles.tunacode import DANGEROUS_PATTERNS, DESTRUCTIVE_PATTERNS, INJECTION_PATTERNS, tunacode
from nacre.shell.command import Script

DEEDS = tunacode(strict_characters=False).policy
STRICT = tunacode().policy
LITERAL = tunacode(strict_characters=False, literal=True).policy
WHERE = {"cwd": "/home/dev/project", "env": {"HOME": "/home/dev"}}


def verdict(command: str, policy: object = DEEDS) -> str:
    """Return the reason of a refusal; empty if the command may run."""
    said = check(command, policy=policy, **WHERE)  # type: ignore[arg-type]
    return said.reason if said.refused else ""


@pytest.mark.req("T-03")
@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("rm -rf build", "'rm -rf'"),
        ("rm -fr build", "'rm -rf'"),
        ("rm -r -f build", "'rm -rf'"),
        ("rm --recursive --force build", "'rm -rf'"),
        ("rm  -rf  build", "'rm -rf'"),
        ("rm -r build", "'rm -r'"),
        ("rm -R build", "'rm -r'"),
        ("rm --recursive build", "'rm -r'"),
        ("rm build -r", "'rm -r'"),
        ("r''m -r build", "'rm -r'"),
        ("/bin/rm -r build", "'rm -r'"),
        ("find . -name x -exec rm -r {} +", "'rm -r'"),
        ("ls | xargs rm -r", "'rm -r'"),
        ("bash -c 'rm -r build'", "'rm -r'"),
        ("rm -rf /", "'rm -rf /'"),
        ("rm -rf /*", "'rm -rf /'"),
        ("rm -rf /tmp/x", "'rm -rf'"),
        ("rm /", "'rm /'"),
        ("rm /etc/passwd", "'rm /'"),
        ("rm -f /usr/lib/x.so", "'rm /'"),
        ("rm /tmp/../etc/passwd", "'rm /'"),
        ("sudo rm x", "'sudo rm'"),
        ("sudo -u bob rm -f x", "'sudo rm'"),
        ("sudo bash -c 'rm x'", "'sudo rm'"),
        ("dd if=/dev/zero of=x", "'dd if='"),
        ("dd of=x if=y bs=1M", "'dd if='"),
        ("dd if=$X", "'dd if='"),
        ("dd of=/dev/sda", "'dd of=/dev/'"),
        ("cat x | sudo dd bs=4M of=/dev/nvme0n1", "'dd of=/dev/'"),
        ("mkfs x.img", "'mkfs'"),
        ("mkfs.ext4 /dev/sdb1", "'mkfs'"),
        ("sudo mkfs.xfs -f disk", "'mkfs'"),
        ("fdisk -l", "'fdisk'"),
        ("sudo fdisk /dev/sda", "'fdisk'"),
        ("cfdisk", "'fdisk'"),
        ("echo x > /dev/sda", "'> /dev/sd[a-z]'"),
        ("echo x >/dev/sdb1", "'> /dev/sd[a-z]'"),
        ("echo x 2>> /dev/sdc", "'> /dev/sd[a-z]'"),
        (":(){ :|:& };:", "':(){ :|:& };:'"),
        ("bomb() { bomb | bomb & }; bomb", "':(){ :|:& };:'"),
        ("ls; rm x", "'; rm'"),
        ("ls ;rm x", "'; rm'"),
        ("ls;\n  rm x", "'; rm'"),
        ("true && rm x", "'&& rm'"),
        ("true &&(rm x)", "'&& rm'"),
        ("ls\nrm x", "'; rm'"),
        ("ls & rm x", "'; rm'"),
        ("ls && \\\nrm x", "'&& rm'"),
        ("ls;\\\nrm x", "'; rm'"),
        ("ls; # c\nrm x", "'; rm'"),
        ("ls && # c\n\n rm x", "'&& rm'"),
        ("ls; time rm x", "'; rm'"),
        ("ls && ! time -p rm x", "'&& rm'"),
        ("ls; env A=1 rm x", "'; rm'"),
        ("ls; A=1 rm x", "'; rm'"),
        ("A=1; rm x", "'; rm'"),
        ("ls; if true; then rm x; fi", "'; rm'"),
        ("if ls; then rm x; fi", "'; rm'"),
        ("if ls\nthen rm x\nfi", "'; rm'"),
        ("if ls; then pwd; else rm x; fi", "'; rm'"),
        ("ls && if rm x; then pwd; fi", "'&& rm'"),
        ("while ls; do rm x; done", "'; rm'"),
        ("ls; for f in a b; do rm $f; done", "'; rm'"),
        ("ls; case x in x) rm x;; esac", "'; rm'"),
        ("ls && { rm x; }", "'&& rm'"),
        ("ls; (cd sub | rm x)", "'; rm'"),
        ("ls; find . | xargs rm", "'; rm'"),
        ("ls && bash -c 'rm x'", "'&& rm'"),
        ("bash -c 'ls; rm x'", "'; rm'"),
        ('sudo sh -c "ls && /bin/rm x"', "'sudo rm'"),
        ("X='ls; rm x'\neval \"$X\"", "'; rm'"),
        ("bash <<'E'\nls\nrm x\nE", "'; rm'"),
        ("f() { rm x; }; f", "'; rm'"),
        ("ls; pwd || rm x", "'; rm'"),
        ("{ ls\nrm x; } > log", "'; rm'"),
        ("true && r''m x", "'&& rm'"),
        ("echo $(rm x)", "'$(rm)'"),
        ("echo `rm x`", "'$(rm)'"),
        ('echo "$(ls | xargs rm)"', "'$(rm)'"),
        ("x=$(ls | xargs rm)", "'$(rm)'"),
        ("cat <(rm x)", "'$(rm)'"),
        ("for f in $(rm x); do ls; done", "'$(rm)'"),
    ],
)
def test_destructive_command_is_refused_in_any_form_with_its_pattern(command: str, pattern: str) -> None:
    assert pattern in verdict(command)
    assert "Instead: " in verdict(command)


@pytest.mark.req("T-03")
@pytest.mark.parametrize(
    "command",
    [
        "cp disk.img /dev/sda",
        "tee /dev/sda < x",
        "mke2fs /dev/sdb1",
        "parted -s /dev/sda mklabel gpt",
        "perl -e 'fork while fork'",
    ],
)
def test_destructive_effect_by_other_programs_is_refused(command: str) -> None:
    assert verdict(command)


@pytest.mark.req("T-03")
@pytest.mark.parametrize(
    "command",
    [
        'echo "rm -rf /"',
        "echo 'sudo rm x; rm y && rm z'",
        "grep -r fdisk docs",
        "grep -rn 'dd if=' scripts",
        "man mkfs.ext4",
        "git commit -m 'stop using rm -rf'",
        "git rm -r --cached build",
        "ls  # rm -rf /",
        "cat <<'EOF'\nrm -rf /\n:(){ :|:& };:\nEOF",
        "rm x",
        "rm -f x y",
        "rm /tmp/x",
        "rm /home/dev/project/x",
        "ls | xargs rm",
        "make; ls",
        "make && ls > /dev/null 2>&1",
        "echo x > /dev/stderr",
        "confirm -r x",
        "farm -rf",
        "# old ones\nrm x\n",
        "\nrm x",
        "rm x; ls",
        "rm x && ls",
        "ls || rm x",
        "for f in a b; do rm $f; done",
        "if rm x; then ls; fi",
        "case x in x) rm x;; esac",
        "bash -c 'rm x'",
        "A=1 rm x",
        "time rm x",
        "rm x \\\n y",
        "ls; echo 'x; rm y'",
        "ls; git rm x",
        "npm run fdisk-report",
        "git push -f",
    ],
)
def test_harmless_text_and_commands_are_not_refused(command: str) -> None:
    assert verdict(command) == ""


@pytest.mark.req("T-03")
@pytest.mark.parametrize("command", ["rm -rf build", 'rm "-r" build', "mkfs.ext4 /dev/sdb1", "sudo rm x"])
async def test_refusal_raises_model_retry_that_names_the_pattern(command: str) -> None:
    with pytest.raises(ModelRetry, match=r"^Not run, for security: (destructive|dangerous) pattern '.*'.*Instead: "):
        await bash(command)


@pytest.mark.req("T-03")
async def test_refusal_is_an_answer_and_not_an_error_of_the_call() -> None:
    answer = await Bash("tunacode").call({"command": "rm -r x"})
    assert answer.error == ""
    assert answer.data["outcome"] == "refused"
    assert answer.data["exit_code"] is None
    assert answer.text == (
        "Not run, for security: destructive pattern 'rm -r' (it deletes a directory with all that is in it). "
        "Instead: delete single files by name (`rm FILE`), or ask the user to do it.\nCommand: rm -r x"
    )


@pytest.mark.req("T-03")
async def test_refusal_message_of_a_long_command_is_short() -> None:
    with pytest.raises(ModelRetry) as caught:
        await bash("rm -rf " + "x" * 90_000)
    assert len(caught.value.message) < 500


@pytest.mark.req("T-03")
@pytest.mark.parametrize("command", ["rm -rf /", "rm -rf ~", "find / -delete"])
@pytest.mark.parametrize("policy", [DEEDS, LITERAL, STRICT], ids=["deeds", "literal", "strict"])
def test_floor_rules_apply_under_every_policy(command: str, policy: object) -> None:
    assert verdict(command, policy)


LITERAL_HITS = [
    ("echo 'rm -rf x'", "'rm -rf'"),
    ("confirm -r x", "'rm -r'"),
    ("rm /tmp/x", "'rm /'"),
    ("dd if=a", "'dd if='"),
    ("man mkfs", "'mkfs'"),
    ("grep -r fdisk docs", "'fdisk'"),
    ("rm  -rf  /x", r"'rm\s+-rf\s+/'"),
    ("sudo\trm x", r"'sudo\s+rm'"),
    ("echo '>   /dev/sda'", r"'>\s*/dev/sd[a-z]'"),
    ("dd bs=1 count=1 of=/dev/null", r"'dd\s+.*of=/dev/'"),
    (":(){ echo hi; };", r"':\(\)\{.*\}\;'"),
    ("ls;rm x", r"';\s*rm\b'"),
    ("ls && rm x", r"'&&\s*rm\b'"),
    ("echo $(ls | rm x)", r"'\$\(.*\brm\b'"),
    ("echo `ls | rm x`", r"'`.*\brm\b'"),
]


@pytest.mark.req("T-03")
@pytest.mark.parametrize(("command", "pattern"), LITERAL_HITS)
def test_literal_policy_decides_by_the_text_alone(command: str, pattern: str) -> None:
    assert pattern in verdict(command, LITERAL)


@pytest.mark.req("T-03")
def test_every_pattern_of_the_document_has_a_literal_example() -> None:
    named = {pattern[1:-1] for _, pattern in LITERAL_HITS}
    assert {*DESTRUCTIVE_PATTERNS, *DANGEROUS_PATTERNS} - named == {r"mkfs\."}
    assert r"dangerous pattern 'mkfs\.'" in [each.what for each in check("mkfs.ext4 x", policy=LITERAL).findings]


PIECES = [
    "rm",
    " ",
    "\n",
    "\r",
    "\u2028",
    "\x1c",
    "-r",
    "f",
    "/",
    "dd",
    "if=",
    "of=/dev/",
    "mkfs",
    ".",
    "fdis",
    "k",
    "sudo",
]
PIECES += [">", "/dev/sd", "a", ":(){", "}", ";", "&&", "$(", "`", "x", "_"]


@pytest.mark.req("T-03")
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@settings(deadline=None, max_examples=500)
def test_literal_policy_agrees_with_the_regexes_on_generated_text(text: str) -> None:
    found = [
        rule.exact_message
        for rule in LITERAL.custom_rules
        if rule.match_script and rule.match_script(Script(text), CheckContext("/", "/"))
    ]
    wanted = [f"destructive pattern '{each}'" for each in DESTRUCTIVE_PATTERNS if each in text]
    for said, patterns in (("dangerous", DANGEROUS_PATTERNS), ("command injection", INJECTION_PATTERNS)):
        wanted += [f"{said} pattern '{each}'" for each in patterns if re.search(each, text)]
    assert found == wanted


@pytest.mark.req("T-03")
@pytest.mark.parametrize("command", ["r''m -r build", "rm --recursive x", "rm x", "dd bs=1\necho of=/dev/x", "ls"])
def test_literal_policy_ignores_effects_not_visible_in_the_text(command: str) -> None:
    assert verdict(command, LITERAL) == ""


@pytest.mark.req("T-03")
@pytest.mark.parametrize(
    "text",
    [
        "dd " * 33_000,
        "dd if " * 16_000,
        ":(){" * 5_000,
        ("dd  x\n" * 16_000),
        "rm" + " " * 99_000 + "x",
        "rm -rf" + " " * 99_000 + "x",
        ";" + " " * 99_000,
        "; " * 50_000,
        "`" * 20_000,
        "$(" * 50_000,
        "sudo " * 20_000,
        "> " * 50_000,
    ],
    ids=lambda text: text[:8].strip(),
)
@pytest.mark.parametrize("policy", [LITERAL, DEEDS], ids=["literal", "deeds"])
def test_check_of_100_kb_of_text_finishes(text: str, policy: object) -> None:
    verdict(text, policy)  # anything quadratic would exceed the test's timeout


@pytest.mark.req("T-04")
@pytest.mark.parametrize(
    ("command", "character"),
    [
        ("ls; pwd", ";"),
        ("ls && pwd", "&"),
        ("sleep 1 &", "&"),
        ("ls 2>&1", "&"),
        ("echo `date`", "`"),
        ("echo 'a;b'", ";"),
        ("echo $(date)", "$"),
        ("echo $1", "$"),
        ("echo $$", "$"),
        ("echo a$", "$"),
        ("echo ${x:-y}", "$"),
        ("echo ${1}", "$"),
        ("echo {a,b}", "{"),
        ("echo }", "}"),
        ("awk '{print}' f", "{"),
    ],
)
async def test_restricted_character_is_refused_and_named(command: str, character: str) -> None:
    with pytest.raises(ModelRetry) as caught:
        await bash(command)
    assert f"`{character}` is a character that this policy forbids in commands" in caught.value.message
    assert "Instead: run one command at a time" in caught.value.message


@pytest.mark.req("T-04")
@pytest.mark.parametrize(
    "command", ["echo $HOME", "echo ${HOME}", 'echo "$HOME/x${USER}"', "ls | wc -l", "ls || true", "ls > out", "a\nb"]
)
def test_strict_policy_allows_variables_pipes_and_redirections(command: str) -> None:
    assert verdict(command, STRICT) == ""


@pytest.mark.req("T-04")
async def test_strict_characters_can_be_switched_off() -> None:
    text = await make_bash(strict_characters=False)("for i in {1..3}; do echo $((i * 2)); done && echo `echo end`")
    assert "STDOUT:\n2\n4\n6\nend\n" in text


@pytest.mark.req("T-03")
async def test_newline_counts_as_a_semicolon() -> None:
    with pytest.raises(ModelRetry, match=r"command injection pattern '; rm'"):
        await bash("ls\nrm x")


@pytest.mark.req("T-03", "T-04")
def test_refusal_names_a_pattern_before_a_character() -> None:
    assert "'fdisk'" in verdict("ls; fdisk -l", STRICT)
    assert "'; rm'" in verdict("ls; rm x", STRICT)


@pytest.mark.req("T-03")
def test_refusal_names_the_most_destructive_of_several_patterns() -> None:
    assert "'rm -rf'" in verdict("ls; rm -rf x")
    assert "'rm -rf /'" in verdict("true && sudo rm -rf /")


@pytest.mark.req("T-03")
@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        ("rm /etc/passwd", "/etc"),
        ("rm -f /usr/bin/python3", "/usr"),
        ("rm /dev/sda", "/dev"),
        ("cd /etc\nrm /etc/passwd", "/home/dev/project"),
        ("env -C /etc rm /etc/passwd", "/home/dev/project"),
        ("rm /home/dev/other/x", "/home/dev/project"),
    ],
)
def test_rm_of_a_full_path_outside_the_project_is_refused(command: str, cwd: str) -> None:
    assert check(command, cwd=cwd, env={"HOME": "/home/dev"}, policy=DEEDS).refused


@pytest.mark.parametrize("command", ["rm /home/dev/project/x", "rm /tmp/x", "rm x"])
def test_rm_of_a_full_path_in_the_project_or_tmp_is_allowed(command: str) -> None:
    assert verdict(command) == ""

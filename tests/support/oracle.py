"""bash as an oracle: whether a script is valid, and how bash prints the parsed script. No script is run.

A script becomes the body of a function that is defined and never called, and only after `bash -n` and our own parser
agree that it is one definition. The bash that defines it is restricted, has no PATH and no environment.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from nacre.shell.syntax.nodes import Block, Function
from nacre.shell.syntax.parser import TooDeep, parse
from tests.support.skeleton import skeleton
from tests.support.waiting import HANG_TIMEOUT_S

_BASH = ("bash", "--norc", "--noprofile")
_NOTHING = {"LC_ALL": "C.UTF-8", "PATH": "/nonexistent"}
_WHERE = subprocess.run(("bash", "-c", "echo $BASH"), capture_output=True, text=True, check=True).stdout.strip()
_DEFINE = r"""
mapfile -d '' -t texts
for text in "${texts[@]}"; do
    unset -f nacre_f
    eval "$text"
    declare -f nacre_f
    printf '\0'
done
"""


def disagreements(scripts: dict[str, str], *options: str) -> dict[str, str]:
    """Return the difference for each valid script that we parse differently from bash, by name."""
    ours, found, asked = {name: _read(text) for name, text in scripts.items()}, {}, {}
    for (name, text), fine in zip(scripts.items(), valid(scripts.values(), *options), strict=True):
        block, broken = ours[name]
        if fine and broken:
            found[name] = "we cannot read it"
        elif fine:
            asked[name] = (text, block)
    answers = print_texts([text for text, _ in asked.values()], *options)
    differing = {}
    for (name, (_, block)), answer in zip(asked.items(), answers, strict=True):
        if answer is not None:
            again, broken = _read(answer)
            if broken or skeleton(block) != skeleton(again):
                differing[name] = answer
    for (name, answer), fine in zip(differing.items(), valid(differing.values(), *options), strict=True):
        if fine:  # bash cannot parse all that it prints: here-documents before `&&`, for example
            found[name] = f"bash reads\n{answer}"
    return found


def _read(text: str) -> tuple[Block, bool]:
    try:
        return parse(text)
    except TooDeep:
        return Block(), True


def valid(texts: Iterable[str], *options: str) -> list[bool]:
    """Return for each script whether `bash -n` accepts it."""

    def one(text: str) -> bool:
        done = subprocess.run(
            (*_BASH, *options, "-n"),
            executable=_WHERE,
            input=_bytes(text),
            capture_output=True,
            env=_NOTHING,
            timeout=HANG_TIMEOUT_S,
        )
        return done.returncode == 0 and all(b"warning:" in line for line in done.stderr.splitlines())

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(one, texts))


def print_texts(texts: list[str], *options: str) -> list[str | None]:
    """Return each valid script as bash prints it; None if it is not safe to let bash define it."""
    wrapped = [_wrap_in_function(text) for text in texts]
    safe = [definition if _is_one_function(definition) else ":" for definition in wrapped]
    sure = valid(safe, *options)
    asked = [definition if fine else ":" for definition, fine in zip(safe, sure, strict=True)]
    done = subprocess.run(
        (*_BASH, "-r", *options, "-c", _DEFINE),
        executable=_WHERE,
        input=b"".join(_bytes(definition) + b"\0" for definition in asked),
        capture_output=True,
        env=_NOTHING,
        timeout=HANG_TIMEOUT_S,
    )
    answers = done.stdout.decode(errors="surrogateescape").split("\0")[:-1]
    assert len(answers) == len(texts), done.stderr
    return [_strip_function(answer) if answer else None for answer in answers]


def _wrap_in_function(text: str) -> str:
    return f"nacre_f() {{\n{text}\n}}\n"


def _strip_function(answer: str) -> str:
    """Return the function body: remove the lines `nacre_f () `, `{ ` and `}`."""
    body = answer.removeprefix("nacre_f () \n{ \n")
    assert body != answer, answer
    return body[: body.rindex("}")]


def _is_one_function(definition: str) -> bool:
    block, broken = _read(definition)
    return not broken and len(block.items) == 1 and isinstance(block.items[0].node, Function)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")

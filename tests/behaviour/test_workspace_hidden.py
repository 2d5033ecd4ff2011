"""Hidden files cannot be read from inside the sandbox, by any path or name."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.errors import AccessUnavailable
from nacre.result import Exited
from tests.support.confined import HERE, PYTHON, confined, run
from tests.support.quoting import quote

pytestmark = [pytest.mark.req("P-008"), *confined]


# hidden files


async def test_hidden_file_with_a_second_hard_link_cannot_be_read(place: Path) -> None:
    (place / "h" / "in").mkdir(parents=True)
    for name in ("secret", "in/secret"):
        (place / "h" / name).write_text("s3cret")
        (place / "h" / f"alias-{len(name)}").hardlink_to(place / "h" / name)
    for hidden in ("secret", "in"):
        path = "h/secret" if hidden == "secret" else "h/in/secret"
        result = await run(f"cat {quote(path)}", place, access="restricted", hidden=(f"h/{hidden}",))
        assert "hidden" in result.enforced
        assert "s3cret" not in result.output


@pytest.mark.parametrize("access", ["restricted", "workspace"])
async def test_hidden_files_cannot_be_read_by_any_path(place: Path, access: str) -> None:
    secrets = place.parent / "secrets"
    secrets.mkdir()
    (secrets / "key").write_text("KEY-IN-DIRECTORY")
    (place.parent / "token").write_text("KEY-IN-FILE")
    (place.parent / "beside").symlink_to("secrets")
    (place.parent / "above").symlink_to(place.parent)
    (place / "link").symlink_to(secrets)
    (place / "token-link").symlink_to(place.parent / "token")
    ways = [
        f"{prefix}{place.parent}/{name}"
        for prefix in ("", "/proc/self/root", "/proc/thread-self/root")
        for name in ("secrets/key", "token")
    ]
    ways += ["../secrets/key", "../token", "link/key", "token-link", "/proc/self/cwd/../token"]
    ways += [f"/proc/{pid}/root{place.parent}/token" for pid in ("1", "$PPID", "$$")]
    ways += ["../beside/key", "../above/token", "../above/secrets/key"]
    reads = "\n".join(
        f"""way="{way}"; cat "$way"; {PYTHON} -c 'import sys; print(open(sys.argv[1]).read())' "$way";"""
        """ cp "$way" "$TMPDIR/c" && cat "$TMPDIR/c\""""
        for way in ways
    )
    result = await run(f"({reads}) 2>/dev/null\ncat ../outside", place, access=access, hidden=(secrets, "../token"))
    assert result.stdout.strip() == "precious", "a path that is not hidden cannot be read"
    assert "hidden" in result.enforced
    assert (secrets / "key").read_text() == "KEY-IN-DIRECTORY"


async def test_hiding_a_symlink_hides_its_target(place: Path) -> None:
    (place.parent / "token").write_text("KEY")
    (place.parent / "pointer").symlink_to("token")
    result = await run("cat ../token ../pointer", place, access="restricted", hidden=("../pointer",))
    assert "KEY" not in result.output


async def test_hiding_inside_a_writable_directory_requires_mount_namespaces(place: Path) -> None:
    (place / "token").write_text("KEY")
    if HERE.mounts:
        result = await run("cat token; rm -f token; mv token t", place, hidden=("token",))
        assert "KEY" not in result.output
        assert (place / "token").read_text() == "KEY"
        return
    with pytest.raises(AccessUnavailable, match="hidden"):
        await run("cat token", place, hidden=("token",))
    partial = await run("cat token", place, hidden=("token",), allow_partial=True)
    assert (partial.output, "hidden" in partial.enforced) == ("KEY", False)


@pytest.mark.parametrize("access", ["restricted", "workspace"])
async def test_rest_of_the_system_works_with_a_hidden_file(place: Path, access: str) -> None:
    (place.parent / "token").write_text("KEY")
    result = await run(
        "seq 5 | sort -n | tail -1; cat <(echo sub); cat <<<here; ls / >/dev/null && echo listed",
        place,
        access=access,
        hidden=("../token",),
    )
    assert (result.outcome, result.output) == (Exited(0), "5\nsub\nhere\nlisted\n")

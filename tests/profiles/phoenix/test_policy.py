"""Three kinds of mistakes are refused wherever they would run, with an alternative; all else is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import check
from nacre.profiles.phoenix import PHOENIX
from tests.profiles.phoenix.conftest import Ask

ADDS = ["git add -A", "git add .", "git add --all", "git add *"]
PUSHES = ["git push --force", "git push -f", "git push -f origin main", "git push origin main --force"]
REMOVES = [f"rm -rf {target}" for target in ("/", "~", "$HOME", ".git", "*", ".*")]
REMOVES += ['rm -rf "$HOME"', "rm -rf ~/", "rm -r -f *", "rm -fr .git/", "rm --recursive --force ./*", "rm -rf .* *"]
REMOVES += [f"rm -rf {path}.git" for path in ("sub/", "../other/", "/srv/repo/", "~/x/", "/tmp/copy/", '"$R"/', "*/")]
REMOVES += ["rm -rf .g*", "rm -rf sub/.gi?", "rm -rf sub/.git/", "rm -rf sub/.git/*", "rm -rf a//.git// b"]
ADDS += [f"git add {flags} ." for flags in ("-N", "--intent-to-add", "-i", "-u", "--update", "-p", "-e", "--renorm")]
ADDS += ["git add -uA", "git add -N *", "git add -N --all", "git add ./ -u", "git -C sub add -N :/"]
LISTED = ADDS + PUSHES + REMOVES
AROUND = {
    "sudo": "sudo {}",
    "sudo-with-options": "sudo -n -u dev -- {}",
    "after": "make && {}",
    "or": "false || {}",
    "semicolon": "true; {}",
    "pipeline": "yes | {}",
    "first-of-a-pipeline": "{} | cat",
    "group": "{{ {}; }}",
    "subshell": "(cd sub && {})",
    "elsewhere": "cd /tmp/sub && {}",
    "condition": "if true; then {}; fi",
    "loop": "for x in 1 2; do {}; done",
    "negated": "! {}",
    "job": "{} &",
    "lines": "true\n{}",
    "substitution": "echo $({})",
    "environment": "env X=1 {}",
}


@pytest.mark.req("P-007")
@pytest.mark.parametrize("command", LISTED)
def test_listed_mistakes_are_refused_with_an_alternative(command: str) -> None:
    verdict = check(command, policy=PHOENIX.policy, cwd="/home/dev/project", env={"HOME": "/home/dev"})
    assert (verdict.refused, ". Instead: " in verdict.reason) == (True, True)


@pytest.mark.req("P-007")
@pytest.mark.parametrize("template", AROUND.values(), ids=AROUND)
def test_listed_mistakes_are_refused_in_every_part_of_a_command(template: str) -> None:
    texts = [template.format(command) for command in LISTED]
    verdicts = {
        text: check(text, policy=PHOENIX.policy, cwd="/home/dev/project", env={"HOME": "/home/dev"}) for text in texts
    }
    assert [text for text, verdict in verdicts.items() if not verdict.refused] == []


@pytest.mark.req("P-007")
@pytest.mark.parametrize(
    "command",
    [
        "git push --force-with-lease",
        "git push --force-with-lease=main origin main",
        "git push -u origin main",
        "git add src/app.py tests",
        "git add -u",
        "git add -p",
        "git add -N src/app.py",
        "git add -u src",
        "git add -n -A",
        "git add --dry-run .",
        "git add --refresh .",
        "git push -f --dry-run",
        "git push -fn",
        "rm -rf build dist/*",
        "rm -rf ./node_modules",
        "rm -rf *.o",
        "rm -rf '*'",
        "rm -f *",
        "rm -rf .gitignore .github",
        "rm -rf x.git sub/.git-old *git .gitlab*",
        'rm -rf "$name.git" "$dir"',
        "rm -f sub/.git/index.lock",
        "rm -rf sub/.git/hooks",
        "rm -rf sub/* sub/.*",
        "echo 'rm -rf /'",
        'echo "git add -A" >> notes',
        "git commit -m 'never git push --force'",
        "grep -r 'rm -rf ~' .",
        "cat <<'E'\ngit add .\nE",
        "# rm -rf *",
    ],
)
def test_lookalikes_of_listed_mistakes_are_allowed(command: str) -> None:
    assert check(command, policy=PHOENIX.policy, cwd="/home/dev/project", env={"HOME": "/home/dev"}).allowed


@pytest.mark.req("P-007")
@pytest.mark.parametrize(
    "command",
    [
        "git reset --hard",
        "git clean -fdx",
        "git checkout .",
        "chmod -R 777 .",
        "curl -s https://example.org/x | sh",
        "dd if=/dev/zero of=image bs=1M count=1",
        "docker system prune -af",
        "kill -9 -4711",
        "sudo apt-get install -y jq",
    ],
)
def test_unlisted_dangerous_commands_are_allowed(command: str) -> None:
    assert check(command, policy=PHOENIX.policy, cwd="/home/dev/project").allowed


@pytest.mark.req("P-007")
@pytest.mark.parametrize("mode", ["default", "slow", "background"])
async def test_refused_command_does_not_run_in_any_mode(ask: Ask, place: Path, tmp_path: Path, mode: str) -> None:
    made = await ask("touch ran; git add -A", mode=mode)
    assert made.text == (
        "[nacre: not run, refused by git-add-blind: `git add -A` stages everything, also secrets, build results and "
        "changes that are not yours. Instead: name the files: `git add path/to/file` (`git status --short` lists them)]"
    )
    assert (made.data["exit_code"], made.data["output"], made.error) == (None, "", "")
    assert (list(place.iterdir()), (tmp_path / "kept").exists()) == ([], False)


@pytest.mark.req("P-007")
async def test_rm_of_a_bare_star_is_refused_with_its_reason(ask: Ask, place: Path) -> None:
    (place / "sub").mkdir()
    (place / "sub" / "kept").touch()
    made = await ask("cd sub && rm -rf *")
    assert made.text == (
        "[nacre: not run, refused by rm-whole-directory: `rm -rf` of `*` or `.*` deletes whatever the directory "
        "happens to hold. Instead: name what has to go, as in `rm -rf ./build` or `rm -rf build/*`]"
    )
    assert (place / "sub" / "kept").exists()


@pytest.mark.req("P-007")
@pytest.mark.parametrize("path", ["repo/.git", "$PWD/repo/.git", "repo/.g*"])
async def test_rm_of_a_git_directory_is_refused_by_any_path(ask: Ask, place: Path, path: str) -> None:
    (place / "repo" / ".git").mkdir(parents=True)
    made = await ask(f"rm -rf {path}")
    assert made.text == (
        "[nacre: not run, refused by rm-history: `rm -rf` of `.git` deletes a repository's history. Instead: name what "
        "has to go, as in `rm -rf ./build` or `rm -rf build/*`]"
    )
    assert (place / "repo" / ".git").is_dir()


@pytest.mark.req("P-007")
async def test_git_add_of_everything_is_refused_with_a_flag_too(ask: Ask, place: Path) -> None:
    made = await ask("touch ran; git add -N .")
    assert made.text == (
        "[nacre: not run, refused by git-add-everything: `git add` of everything (`-A`, `.`, `*`) takes in what nobody "
        "has looked at, with `-N`, `-i` or `-u` too. Instead: name the files; `git add -u` alone is for what git "
        "already tracks]"
    )
    assert list(place.iterdir()) == []

"""The extent of a workspace: real repositories, and some with false pointers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre.sandbox.protected_names import AT_ROOTS
from nacre.sandbox.workspace import Workspace, discover, is_below, list_tops, readable_siblings
from tests.support.repositories import repository, submodule, worktree
from tests.support.users import free_uid

ROOT = os.geteuid() == 0
NAMES = tuple(each.name for each in AT_ROOTS)
OF_GIT = ("hooks", "config", "config.worktree", "commondir")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory whose path has no links."""
    return tmp_path.resolve()


def discover_workspace(path: Path, **given: list[str]) -> Workspace:
    return discover(str(path), **given)


def paths(below: Path, *names: str) -> set[str]:
    return {str(below / name) for name in names}


def protected_paths(workspace: Workspace) -> set[str]:
    assert not set(workspace.protected) & set(workspace.missing)
    return {*workspace.protected, *workspace.missing}


def test_plain_directory_is_a_workspace_with_reserved_names(place: Path) -> None:
    assert discover_workspace(place) == Workspace(
        roots=(str(place),),
        missing=tuple(str(place / name) for name in (*NAMES, "HEAD", *(f".git/{name}" for name in OF_GIT))),
        repositories=(str(place / ".git"),),
    )


def test_existing_names_are_protected_and_others_reserved(place: Path) -> None:
    (place / ".claude").mkdir()
    workspace = discover_workspace(place)
    assert str(place / ".claude") in workspace.protected
    assert str(place / ".mcp.json") in workspace.missing


def test_git_directory_of_a_clone_is_writable_except_hooks_and_config(place: Path) -> None:
    repo = repository(place / "repo")
    workspace = discover_workspace(repo)
    assert set(workspace.roots) == {str(repo), str(repo / ".git")}
    assert workspace.pinned == (str(repo / ".git"),)
    assert set(workspace.protected) == paths(repo / ".git", "hooks", "config")
    assert set(workspace.missing) == paths(repo, *NAMES, "HEAD", ".git/config.worktree", ".git/commondir")


def test_subdirectory_workspace_excludes_the_tree_above_but_not_its_git(place: Path) -> None:
    repo = repository(place / "repo")
    (repo / "src").mkdir()
    workspace = discover_workspace(repo / "src")
    assert set(workspace.roots) == {str(repo / "src"), str(repo / ".git")}
    assert paths(repo / ".git", "hooks", "config") <= set(workspace.protected)


def test_both_git_directories_of_a_linked_worktree_are_protected(place: Path) -> None:
    repo = repository(place / "repo")
    tree = worktree(repo, place / "tree")
    own = repo / ".git" / "worktrees" / "tree"
    workspace = discover_workspace(tree)
    assert set(workspace.roots) == {str(tree), str(repo / ".git"), str(own)}
    assert set(workspace.pinned) == {str(repo / ".git"), str(own)}
    assert protected_paths(workspace) >= paths(repo / ".git", *OF_GIT) | paths(own, *OF_GIT, "commondir", "gitdir")
    assert str(tree / ".git") in workspace.protected, "the pointer file is not protected"
    assert str(repo) not in workspace.roots


def test_git_directory_of_a_submodule_is_writable_and_protected(place: Path) -> None:
    repo = repository(place / "repo")
    inner = submodule(repo, repository(place / "other"), "inner")
    own = repo / ".git" / "modules" / "inner"
    workspace = discover_workspace(inner)
    assert set(workspace.roots) == {str(inner), str(own)}
    assert protected_paths(workspace) >= paths(own, *OF_GIT) | {str(inner / ".git")}


@pytest.mark.req("P-008")
def test_git_directories_of_nested_submodules_are_protected(place: Path) -> None:
    repo = repository(place / "repo")
    other = repository(place / "other")
    submodule(repo, other, "inner")
    submodule(repo, other, "libs/deep")
    modules = repo / ".git" / "modules"
    assert (modules / "libs" / "deep" / "config").exists()
    assert protected_paths(discover_workspace(repo)) >= paths(modules / "inner", *OF_GIT) | paths(
        modules / "libs" / "deep", *OF_GIT
    )


@pytest.mark.req("P-008")
def test_gitdir_pointer_of_a_submodule_is_protected_in_the_outer_tree(place: Path) -> None:
    repo = repository(place / "repo")
    inner = submodule(repo, repository(place / "other"), "libs/inner")
    workspace = discover_workspace(repo)
    assert str(inner / ".git") in workspace.protected
    assert paths(repo / ".git", "modules", "modules/libs", "modules/libs/inner") <= set(workspace.pinned)


@pytest.mark.req("P-008")
def test_pointers_of_a_linked_worktree_are_protected_in_the_main_tree(place: Path) -> None:
    repo = repository(place / "repo")
    worktree(repo, place / "tree")
    own = repo / ".git" / "worktrees" / "tree"
    workspace = discover_workspace(repo)
    assert paths(own, "commondir", "gitdir") <= set(workspace.protected)
    assert str(own / "config.worktree") in workspace.missing
    assert {str(own.parent), str(own)} <= set(workspace.pinned)
    assert set(workspace.roots) == {str(repo), str(repo / ".git")}


@pytest.mark.req("P-008")
def test_second_root_is_protected_like_the_first(place: Path) -> None:
    repo = repository(place / "repo")
    here = place / "here"
    here.mkdir()
    workspace = discover_workspace(here, writable=[str(repo)])
    assert protected_paths(workspace) >= paths(repo, ".claude", ".mcp.json", ".nacre") | paths(repo / ".git", *OF_GIT)
    assert str(repo / ".git") in workspace.pinned
    assert workspace.roots == (str(here), str(repo))


@pytest.mark.req("P-008")
def test_root_that_is_a_git_directory_is_protected(place: Path) -> None:
    repo = repository(place / "repo")
    here = place / "here"
    here.mkdir()
    assert protected_paths(discover_workspace(here, writable=[str(repo / ".git")])) >= paths(repo / ".git", *OF_GIT)


@pytest.mark.req("P-008")
def test_git_config_in_a_subdirectory_is_reserved(place: Path) -> None:
    repo = repository(place / "repo")
    (repo / "src").mkdir()
    assert paths(repo / "src" / ".git", *OF_GIT) <= set(discover_workspace(repo / "src").missing)


@pytest.mark.req("P-008")
def test_git_directory_elsewhere_in_the_workspace_is_protected(place: Path) -> None:
    """It does not point back, so it would not be made writable; here it is writable anyway."""
    tree = place / "tree"
    repository(tree)
    (tree / ".git").rename(tree / "elsewhere")
    (tree / ".git").write_text("gitdir: elsewhere\n")
    workspace = discover_workspace(tree)
    assert protected_paths(workspace) >= paths(tree / "elsewhere", *OF_GIT) | {str(tree / ".git")}
    assert str(tree / ".git") in workspace.protected
    assert workspace.roots == (str(tree),)


@pytest.mark.req("P-008")
def test_symlinked_modules_directory_pins_nothing_outside(place: Path) -> None:
    repo = repository(place / "repo")
    outside = repository(place / "outside")
    (repo / ".git" / "modules").symlink_to(place)
    workspace = discover_workspace(repo)
    assert workspace.pinned == (str(repo / ".git"),)
    assert not writable(workspace, outside)


# false pointers


def home(place: Path) -> Path:
    """Return a home directory with a file in it that looks like a repository's."""
    made = place / "home"
    made.mkdir()
    (made / "HEAD").write_text("ref: refs/heads/main\n")
    return made


def writable(workspace: Workspace, path: Path) -> bool:
    return any(is_below(str(path.resolve()), os.path.realpath(root)) for root in workspace.roots)


@pytest.mark.req("P-008")
@pytest.mark.parametrize(
    "text",
    ["gitdir: {home}\n", "gitdir: ../home\n", "gitdir: {home}/worktrees/x", "gitdir: /\n", "gitdir: \n", "", "\0\n"],
)
def test_git_file_that_points_elsewhere_makes_nothing_writable(place: Path, text: str) -> None:
    target = home(place)
    tree = place / "tree"
    tree.mkdir()
    (tree / ".git").write_text(text.format(home=target))
    workspace = discover_workspace(tree)
    assert not writable(workspace, target)
    assert {os.path.realpath(root) for root in workspace.roots} == {str(tree)}


@pytest.mark.req("P-008")
def test_git_file_that_points_to_another_repository_makes_nothing_writable(place: Path) -> None:
    """The target does not point back: neither a whole repository nor the worktree of another tree."""
    repo = repository(place / "repo")
    worktree(repo, place / "honest")
    tree = place / "tree"
    tree.mkdir()
    for target in (repo / ".git", repo / ".git" / "worktrees" / "honest"):
        (tree / ".git").write_text(f"gitdir: {target}\n")
        assert not writable(discover_workspace(tree), repo / ".git")
        assert not writable(discover_workspace(tree), target)


@pytest.mark.req("P-008")
def test_forged_worktree_cannot_make_an_outside_directory_writable(place: Path) -> None:
    target = home(place)
    tree = place / "tree"
    own = tree / "fake" / "worktrees" / "x"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "gitdir").write_text(f"{tree}/.git\n")
    (tree / ".git").write_text(f"gitdir: {own}\n")
    for common in (str(target), "../../../../home", "../.."):
        (own / "commondir").write_text(f"{common}\n")
        assert not writable(discover_workspace(tree), target)
    (tree / "fake" / "worktrees" / "x").rename(place / "moved")
    (tree / "fake" / "worktrees").rmdir()
    (tree / "fake").rmdir()
    (tree / "fake").symlink_to(target)
    assert not writable(discover_workspace(tree), target)


@pytest.mark.req("P-008")
def test_forged_submodule_cannot_make_an_outside_directory_writable(place: Path) -> None:
    tree = place / "tree"
    target = place / "modules" / "home"
    for each in (tree, target):
        each.mkdir(parents=True)
    (target / "HEAD").write_text("ref: refs/heads/main\n")
    (tree / ".git").write_text(f"gitdir: {target}\n")
    assert not writable(discover_workspace(tree), target)
    (target / "config").write_text("[core]\n\tworktree = /somewhere/else\n")
    assert not writable(discover_workspace(tree), target)


@pytest.mark.req("P-008")
@pytest.mark.parametrize("kind", ["home", "repository"])
def test_git_symlink_makes_nothing_writable(place: Path, kind: str) -> None:
    """A command could leave a link in its workspace for the next command."""
    target = home(place) if kind == "home" else repository(place / "repo") / ".git"
    tree = place / "tree"
    tree.mkdir()
    (tree / ".git").symlink_to(target)
    workspace = discover_workspace(tree)
    assert not writable(workspace, target)
    assert str(tree / ".git") in workspace.missing, "a mount cannot protect a link"


def test_symlink_target_in_the_workspace_is_protected(place: Path) -> None:
    (place / "orders").mkdir()
    (place / ".claude").symlink_to("orders")
    (place / ".nacre").symlink_to("/etc")
    workspace = discover_workspace(place)
    assert str(place / "orders") in workspace.protected
    assert paths(place, ".claude", ".nacre") <= set(workspace.missing)
    assert "/etc" not in protected_paths(workspace)


@pytest.mark.req("P-008")
def test_git_symlink_above_the_workspace_makes_nothing_writable(place: Path) -> None:
    target = home(place)
    tree = place / "outer" / "tree"
    tree.mkdir(parents=True)
    (place / "outer" / ".git").symlink_to(target)
    assert not writable(discover_workspace(tree), target)


@pytest.mark.skipif(not ROOT, reason="only root can change the owner of a file")
def test_repository_of_another_user_above_is_ignored(place: Path) -> None:
    repo = repository(place / "repo")
    (repo / "src").mkdir()
    os.chown(repo / ".git", *(free_uid(),) * 2)
    workspace = discover_workspace(repo / "src")
    assert workspace.roots == (str(repo / "src"),)


def test_workspace_reached_through_a_symlink_is_the_real_one(place: Path) -> None:
    repo = repository(place / "repo")
    (place / "link").symlink_to(repo)
    assert discover_workspace(place / "link") == discover_workspace(repo)


# paths that the caller names


def test_caller_can_add_roots_and_protected_paths(place: Path) -> None:
    for name in ("tree", "more", "elsewhere"):
        (place / name).mkdir()
    (place / "link").symlink_to(place / "more")
    (place / "tree" / "keep").write_text("")
    (place / "tree" / "pointer").symlink_to("keep")
    workspace = discover_workspace(
        place / "tree",
        writable=[str(place / "link")],
        protected=[f"{place}/{name}" for name in ("tree/keep", "link/later", "elsewhere/x", "tree/pointer/")],
    )
    assert workspace.roots == (str(place / "tree"), str(place / "more"))
    assert paths(place / "tree", "keep") <= set(workspace.protected)
    assert str(place / "tree" / "pointer") in workspace.missing
    assert str(place / "more" / "later") in workspace.missing
    assert not any("elsewhere" in path for path in protected_paths(workspace)), (
        "a path outside the workspace is not writable and needs no protection"
    )


@pytest.mark.parametrize(
    ("path", "root", "below"),
    [
        ("/a/b", "/a", True),
        ("/a", "/a", True),
        ("/ab", "/a", False),
        ("/a", "/a/b", False),
        ("/a", "/", True),
        ("/", "/", True),
        ("/a/b", "/a/", True),
    ],
)
def test_is_below_compares_whole_path_components(path: str, root: str, below: bool) -> None:
    assert is_below(path, root) is below


# the surroundings of hidden paths


def test_siblings_of_a_hidden_path_are_readable_up_to_the_root(place: Path) -> None:
    for name in ("a/hidden/in", "a/beside", "b"):
        (place / name).mkdir(parents=True)
    (place / "a" / "file").write_text("")
    (place / "a" / "link").symlink_to("hidden")
    (place / "c").symlink_to("a")
    hidden = str(place / "a" / "hidden")
    everything = set(readable_siblings([hidden]))
    assert paths(place, "a/beside", "a/file", "b") <= everything
    assert not any(is_below(hidden, path) or is_below(path, hidden) for path in everything)
    assert not any(os.path.islink(path) for path in everything), "Landlock would grant the target of the link"
    top = {entry.path for entry in os.scandir("/") if not entry.is_symlink()}
    assert top - everything == {"/" + place.parts[1], "/dev"}
    assert {"/dev"} == top - set(list_tops()), "/dev must not be granted as a whole"


def test_nested_hidden_paths_are_both_excluded_from_readable_siblings(place: Path) -> None:
    for name in ("a/hidden/in", "a/beside"):
        (place / name).mkdir(parents=True)
    outer = str(place / "a" / "hidden")
    everything = set(readable_siblings([outer, f"{outer}/in"]))
    assert str(place / "a" / "beside") in everything
    assert not any(is_below(path, outer) or is_below(outer, path) for path in everything)


def test_siblings_of_a_missing_hidden_path_are_readable(place: Path) -> None:
    (place / "a").mkdir()
    assert str(place / "a") in readable_siblings([str(place / "no" / "such")])


def test_hidden_root_leaves_no_readable_siblings() -> None:
    assert readable_siblings(["/"]) == ()


@pytest.mark.req("P-008")
@pytest.mark.parametrize("hidden", ["a/secret", "a/in"])
def test_hard_link_to_a_hidden_file_is_not_readable(place: Path, hidden: str) -> None:
    """A grant is for the file, whatever its name."""
    (place / "a" / "in").mkdir(parents=True)
    for name in ("secret", "in/secret", "plain", "one"):
        (place / "a" / name).write_text("")
    secret = "a/secret" if hidden == "a/secret" else "a/in/secret"
    (place / "a" / "alias").hardlink_to(place / secret)
    (place / "a" / "two").hardlink_to(place / "a" / "one")
    everything = set(readable_siblings([str(place / hidden)]))
    assert str(place / "a" / "alias") not in everything
    assert paths(place / "a", "plain", "one", "two") <= everything


def test_no_hard_linked_file_is_readable_beside_too_many_hidden_files(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.sandbox.workspace._MAX_HIDDEN_FILES", 3)
    (place / "hidden").mkdir()
    for number in range(5):
        (place / "hidden" / str(number)).touch()
    (place / "plain").touch()
    (place / "one").touch()
    (place / "two").hardlink_to(place / "one")
    everything = set(readable_siblings([str(place / "hidden")]))
    assert everything & paths(place, "plain", "one", "two") == paths(place, "plain")

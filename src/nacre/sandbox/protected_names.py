"""Names that are protected in a workspace, each with its reason. Data only.

A name is listed if a program of the user reads it unasked, and runs programs or follows instructions from it: an agent
at its next start, an editor that opens the folder, a shell or git at its next prompt. Files that have an effect only
when the user runs them (Makefile, package.json, conftest.py) are ordinary work and are not listed.
"""

from __future__ import annotations

from typing import NamedTuple

GIT = ".git"
"""Stands for all files in git directories that make git run programs; `workspace.py` finds them."""
BARE = "HEAD"
"""Stands for a bare repository at the root itself: without this file git does not take a directory for one."""
OWN_CODE = "nacre"
"""Stands for nacre's own code and the environment of the Python that runs it; `own_code.py` finds them."""


class ProtectedName(NamedTuple):
    """A path relative to a root or the home directory, and the reason to protect it."""

    name: str
    reason: str


_GIT = "git runs the hooks, and the programs that the configuration names"
_BARE = "next to objects and refs it makes the directory a repository, whose configuration lets git run programs"
_OWN_CODE = "nacre's own code, if it runs from inside the workspace: it is loaded outside the sandbox"
_CLAUDE = "Claude Code reads instructions, permissions, hooks and servers from it"
_CODEX = "Codex reads instructions, permissions, hooks and servers from it"
_GEMINI = "Gemini CLI reads instructions, hooks and servers from it"
_QWEN = "Qwen Code reads instructions, hooks and servers from it"
_CURSOR = "Cursor reads instructions, hooks and servers from it"
_AGENTS = "agents read instructions from it"
_AGENT_PROGRAMS = "agents read instructions and the names of programs to run from it"
_EDITOR = "the editor runs tasks and programs that it names"
_VIM = "vim and neovim run it when they start in the directory, where the user has set 'exrc'"
_EMACS = "emacs sets the variables that it names when it opens a file below"
_CONTAINER = "an editor runs its initializeCommand on the host when it opens the folder"
_PROMPT = "run or read at the prompt as soon as a shell enters the directory, once the user has trusted it"
_HOOKS = "git runs it on the next commit, where the user has installed it as hooks"
_MERCURIAL = "Mercurial runs the hooks and extensions that it names"
_MODULES = "tells git where to fetch submodules from, and to put them"
_SHELL = "a shell reads it at its start or end"
_SESSION = "started with the user's session"
_TOOL = "names programs that a tool of the user runs"
_COMMANDS = "on PATH: a file here takes the place of a command"

_MISE = """mise.toml .mise.toml mise.local.toml .mise.local.toml mise/config.toml .mise/config.toml .config/mise.toml
.config/mise/config.toml""".split()
_LEFTHOOK = [
    f"{name}.{kind}"
    for name in ("lefthook", ".lefthook", "lefthook-local", ".lefthook-local")
    for kind in ("yml", "yaml", "toml", "json")
]

AT_ROOTS = (
    ProtectedName(".nacre", "nacre reads its settings from it"),
    ProtectedName(".claude", _CLAUDE),
    ProtectedName(".mcp.json", "agents start the servers that it names"),
    ProtectedName("CLAUDE.md", _CLAUDE),
    ProtectedName("CLAUDE.local.md", _CLAUDE),
    ProtectedName("AGENTS.md", _AGENTS),
    ProtectedName("AGENTS.override.md", _AGENTS),
    ProtectedName(".agents", _AGENTS),
    ProtectedName(".codex", _CODEX),
    ProtectedName(".gemini", _GEMINI),
    ProtectedName("GEMINI.md", _GEMINI),
    ProtectedName(".cursor", _CURSOR),
    ProtectedName(".cursorrules", _CURSOR),
    ProtectedName(".windsurf", _AGENT_PROGRAMS),
    ProtectedName(".windsurfrules", _AGENTS),
    ProtectedName(".clinerules", _AGENTS),
    ProtectedName(".roo", _AGENT_PROGRAMS),
    ProtectedName(".roomodes", "Roo Code reads instructions and permissions from it"),
    ProtectedName(".kiro", _AGENT_PROGRAMS),
    ProtectedName(".junie", _AGENTS),
    ProtectedName(".goosehints", _AGENTS),
    ProtectedName(".amazonq", _AGENT_PROGRAMS),
    ProtectedName(".opencode", _AGENT_PROGRAMS),
    ProtectedName("opencode.json", _AGENT_PROGRAMS),
    ProtectedName("opencode.jsonc", _AGENT_PROGRAMS),
    ProtectedName(".opencode.json", _AGENT_PROGRAMS),
    ProtectedName(".qwen", _QWEN),
    ProtectedName("QWEN.md", _QWEN),
    ProtectedName(".crush.json", _AGENT_PROGRAMS),
    ProtectedName("crush.json", _AGENT_PROGRAMS),
    ProtectedName("CRUSH.md", _AGENTS),
    ProtectedName(".continue", _AGENT_PROGRAMS),
    ProtectedName(".trae", _AGENT_PROGRAMS),
    ProtectedName(".augment", _AGENTS),
    ProtectedName(".augment-guidelines", _AGENTS),
    ProtectedName("WARP.md", _AGENTS),
    ProtectedName(".aider.conf.yml", _AGENT_PROGRAMS),
    ProtectedName(".github/copilot-instructions.md", _AGENTS),
    ProtectedName(".github/instructions", _AGENTS),
    ProtectedName(".github/agents", _AGENT_PROGRAMS),
    ProtectedName(".github/hooks", "Copilot runs the hooks in it"),
    ProtectedName(".vscode", _EDITOR),
    ProtectedName(".idea", _EDITOR),
    ProtectedName(".zed", _EDITOR),
    ProtectedName(".fleet", _EDITOR),
    ProtectedName(".exrc", _VIM),
    ProtectedName(".nvimrc", _VIM),
    ProtectedName(".nvim.lua", _VIM),
    ProtectedName(".dir-locals.el", _EMACS),
    ProtectedName(".dir-locals-2.el", _EMACS),
    ProtectedName(".devcontainer", _CONTAINER),
    ProtectedName(".devcontainer.json", _CONTAINER),
    ProtectedName(".envrc", f"direnv's: {_PROMPT}"),
    *(ProtectedName(name, f"mise's: {_PROMPT}") for name in _MISE),
    ProtectedName(".gitmodules", _MODULES),
    ProtectedName(".husky", _HOOKS),
    ProtectedName(".githooks", _HOOKS),
    ProtectedName(".pre-commit-config.yaml", _HOOKS),
    *(ProtectedName(name, _HOOKS) for name in _LEFTHOOK),
    ProtectedName(".hg/hgrc", _MERCURIAL),
    ProtectedName(".hg/hgrc-not-shared", _MERCURIAL),
    ProtectedName(".jj/repo/config.toml", "jj runs the programs that it names"),
)
"""Names in the working directory, and in each directory of `writable`."""

_SHELLS = """.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .inputrc .zshrc .zshenv .zprofile
.zlogin .zlogout .kshrc .cshrc .tcshrc .login .config/fish""".split()
_SESSIONS = """.xprofile .xinitrc .xsession .xsessionrc .pam_environment .config/environment.d .config/autostart
.config/systemd/user .local/share/systemd/user""".split()
_TOOLS = """.ssh .gnupg .gitconfig .config/git .vimrc .vim .config/nvim .emacs .emacs.d .tmux.conf .config/tmux
.screenrc .npmrc .pip .config/pip .cargo/config.toml .cargo/env .docker/config.json .kube/config .aws/config .config/gh
.config/direnv .config/mise""".split()
_SETTINGS = """.claude.json .claude/settings.json .claude/CLAUDE.md .codex/config.toml .codex/hooks.json
.codex/AGENTS.md .gemini/settings.json .gemini/GEMINI.md .cursor/hooks.json .cursor/mcp.json""".split()

IN_HOME = (
    *(ProtectedName(name, _AGENT_PROGRAMS) for name in _SETTINGS),
    *(ProtectedName(name, _SHELL) for name in _SHELLS),
    *(ProtectedName(name, _SESSION) for name in _SESSIONS),
    *(ProtectedName(name, _TOOL) for name in _TOOLS),
    *(ProtectedName(name, _COMMANDS) for name in (".local/bin", ".cargo/bin", "bin")),
)
"""Names in the user's home directory, as far as that is in the workspace."""

OF_VARIABLES = (
    ("CLAUDE_CONFIG_DIR", ("settings.json", "CLAUDE.md")),
    ("CODEX_HOME", ("config.toml", "hooks.json", "AGENTS.md")),
)
"""Environment variables with which the user moves an agent's settings, and the names protected there."""

TABLE = (ProtectedName(GIT, _GIT), ProtectedName(BARE, _BARE), ProtectedName(OWN_CODE, _OWN_CODE), *AT_ROOTS, *IN_HOME)


def is_unprotected(name: str, unprotected: tuple[str, ...]) -> bool:
    """Return whether the caller unprotected this name, or a directory above it."""
    return any(name == each or name.startswith(f"{each}/") for each in unprotected)


def known_names() -> tuple[str, ...]:
    """Return every name that can be unprotected: the names of the table, and the first part of each."""
    return tuple(dict.fromkeys(part for each in TABLE for part in (each.name, each.name.partition("/")[0])))

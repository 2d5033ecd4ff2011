"""Variables whose values are code to some program: bash itself, the dynamic linker, git, pagers."""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex

_EXPANDED = frozenset(("BASH_ENV", "ENV", "PS4"))
"""bash expands these values, and so runs the substitutions in them."""
_COMMANDS = lazy_regex(
    r"GIT_(?:CONFIG_VALUE_\d+|SSH_COMMAND|SSH|EXTERNAL_DIFF|PAGER|EDITOR|SEQUENCE_EDITOR|ASKPASS|PROXY_COMMAND)|SSH_ASKPASS|SUDO_ASKPASS|"
    r"PAGER|EDITOR|VISUAL|MANPAGER|BROWSER|LESSOPEN|LESSCLOSE|RSYNC_RSH|CVS_RSH|FZF_DEFAULT_COMMAND|PROMPT_COMMAND"
)
"""Variables whose values are command lines."""
_FOREIGN = lazy_regex(
    r"BASH_FUNC_.*|LD_.*|DYLD_.*|PATH|GIT_.*|PYTHON(?:PATH|STARTUP|HOME)|PERL5?(?:LIB|OPT)|RUBY(?:LIB|OPT)|NODE_(?:OPTIONS|PATH)|"
    r"GCONV_PATH|IFS|SHELLOPTS|BASHOPTS|TAR_OPTIONS|GREP_OPTIONS|RIPGREP_CONFIG_PATH|LESS"
)
"""Variables that decide what code a program loads."""


def is_expanded(name: str) -> bool:
    """Tell whether bash expands the value of this variable by itself."""
    return name in _EXPANDED


def is_command(name: str) -> bool:
    """Tell whether the value of this variable is a command line."""
    return _COMMANDS.fullmatch(name) is not None


def function_name(name: str) -> str | None:
    """Return the name of the function that a variable `BASH_FUNC_name%%` defines; None for other variables."""
    return name[10:-2] if name.startswith("BASH_FUNC_") and name.endswith("%%") else None


def runs_code(name: str) -> bool:
    """Tell whether the value of this variable is code, or decides what code a program loads."""
    return is_expanded(name) or is_command(name) or _FOREIGN.fullmatch(name) is not None

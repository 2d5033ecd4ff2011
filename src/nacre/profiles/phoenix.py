"""phoenix: a mode instead of a timeout, one stream, long output without its middle, three kinds of mistakes refused.

Restricted mode is `ToolContext(access="restricted")`.
"""

from nacre.policy.compat_rules.actions import action_rule, adds_everything_after_all
from nacre.policy.compat_rules.removals import removes_here, removes_history
from nacre.policy.policy import Policy
from nacre.profiles.answer_format import Combined
from nacre.profiles.profile import Profile
from nacre.profiles.tool import Parameter, Tool
from nacre.types import KIB
from nacre.verdict import Decision

_DESCRIPTION = """\
Run a shell command with `bash -c` and get stdout and stderr back as one text. Each call is a fresh shell. There is no \
terminal and stdin is empty, so pass answers by flags. A command that takes longer than its mode allows is ended, with \
everything it started, and what it printed until then is returned. Of output over 128 KB the first and the last 4 KB \
are returned.

Not run: `git add` of everything (`-A`, `--all`, `.`, `*`), `git push --force` (`--force-with-lease` is fine), \
`rm -rf` of `/`, `~`, `$HOME`, `.git`, `*` and `.*`."""

_NAMED = "name what has to go, as in `rm -rf ./build` or `rm -rf build/*`"
_SLIPS = (  # mistakes that nacre's own rules allow
    action_rule(
        "git-add-everything",
        "`git add` of everything (`-A`, `.`, `*`) takes in what nobody has looked at, with `-N`, `-i` or `-u` too",
        adds_everything_after_all,
        instead="name the files; `git add -u` alone is for what git already tracks",
    ),
    action_rule("rm-history", "`rm -rf` of `.git` deletes a repository's history", removes_history, instead=_NAMED),
    action_rule(
        "rm-whole-directory",
        "`rm -rf` of `*` or `.*` deletes whatever the directory happens to hold",
        removes_here("*", ".*"),
        instead=_NAMED,
    ),
)

PHOENIX = Profile(
    name="phoenix",
    timeout=30,
    slow_timeout=900,
    max_timeout=900,
    merge=True,
    output=128 * KIB,  # longer output is cut, and then a file has all of it
    policy=Policy(
        decisions={
            "*": Decision.ALLOW,
            "git-add-blind": Decision.REFUSE,
            "git-push-force": Decision.REFUSE,
            "rm-root-or-home": Decision.REFUSE,
            "rm-precious": Decision.REFUSE,
        },
        custom_rules=_SLIPS,
    ),
    tool=Tool(
        name="bash",
        description=_DESCRIPTION,
        parameters=(
            Parameter(
                name="command",
                kind="string",
                to="command",
                required=True,
                description="The shell command to execute",
            ),
            Parameter(
                name="mode",
                kind="string",
                to="mode",
                choices=("default", "slow", "background"),
                default="default",
                description=(
                    "Execution mode. default: up to {timeout spoken}. slow: up to {slow_timeout spoken}, for builds "
                    "and tests. background: do not wait, for servers; the answer names the process, its group for "
                    "`kill -9 -<pgid>`, and the file that its output goes to."
                ),
            ),
        ),
        names_directory=True,
    ),
    view=Combined(truncate_above=128 * KIB, ends=4 * KIB),
)

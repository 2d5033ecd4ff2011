"""nacre's own profile: timeouts in seconds, long runs become tasks, the checker's policy, one short text as answer."""

from nacre.profiles.profile import Profile
from nacre.profiles.tool import Parameter, Tool

DEFAULT = Profile(
    name="default",
    tool=Tool(
        name="Bash",
        description=(
            "Run a shell command with bash, in a fresh shell: `cd` and variables do not carry over to the next call. "
            "stdin is empty and there is no terminal, so pass answers by flags. A command that has not ended after "
            "`timeout_seconds` keeps running as a task, and so do processes it leaves running; the answer then names "
            "the task's id and its output file. Long output is cut in the middle and kept in a file that the answer "
            "names. Commands are checked first: one that would destroy data for good is not run, and the answer says "
            "what to do instead."
        ),
        parameters=(
            Parameter(
                name="command",
                kind="string",
                to="command",
                required=True,
                description="Shell text. Quote paths that contain spaces.",
            ),
            Parameter(
                name="description",
                kind="string",
                to="description",
                description="Its purpose in a few words, for the user.",
            ),
            Parameter(
                name="mode",
                kind="string",
                to="mode",
                choices=("default", "slow", "background"),
                description=(
                    "slow: wait up to {slow_timeout spoken}, for builds and tests. background: do not wait, for "
                    "servers; the answer names the task."
                ),
            ),
            Parameter(
                name="timeout_seconds",
                kind="number",
                to="timeout",
                minimum=0,
                zero_is_default=True,
                description="How long to wait for it, at most {max_timeout}; without it {timeout}.",
            ),
            Parameter(
                name="cwd",
                kind="string",
                to="cwd",
                description="Where to run it; relative to the working directory, which is the default.",
            ),
            Parameter(name="env", kind="strings", to="env", description="Variables to set."),
        ),
        deadline="yield_after",
        untimed_tasks=True,
        names_directory=True,
        lenient=True,
        strict=True,
    ),
)

"""Build the environment of a command from that of this process or of the login shell.

`build` decides, using three sets of rules: `secret_names` and `credential_patterns` (variables that look like secrets),
`unsafe_variables` (variables that give access to sockets or change the meaning of the script) and `noninteractive`
(variables that keep programs from waiting for a person). `host` and `login` take snapshots of the environment to
inherit. `deferred` names the variables that bash may get only after its limits are set.
"""

from nacre.environment.build import Environment, build_env
from nacre.environment.deferred import deferred_names
from nacre.environment.host import host_environment
from nacre.environment.login import login_environment
from nacre.environment.secret_names import looks_secret

__all__ = ["Environment", "build_env", "deferred_names", "host_environment", "login_environment", "looks_secret"]

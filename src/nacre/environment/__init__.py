"""What a command inherits: this process's (or the login shell's) environment in, what a command may see out.

`build` decides, from three tables: `secrets` and `tokens` (what looks like a secret), `pointers` (what opens a door or
changes what the text means) and `quiet` (what keeps programs from waiting for a person). `host` and `login` take the
snapshots to decide about. `deferred` names what bash may only get once its limits are set.
"""

from nacre.environment.build import Environment, build_env
from nacre.environment.deferred import deferred_names
from nacre.environment.host import host_environment
from nacre.environment.login import login_environment
from nacre.environment.secret_names import looks_secret

__all__ = ["Environment", "build_env", "deferred_names", "host_environment", "login_environment", "looks_secret"]

"""Started as a program: prints what can be had in a user namespace here, `mounts` and `terminals`."""

import os
import signal
import sys

_PROBE_TIMEOUT_S = 5

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))


def main() -> None:
    signal.alarm(_PROBE_TIMEOUT_S)
    from nacre.sandbox.kernel.apply import mount_private_terminals, new_mount_namespace
    from nacre.sandbox.kernel.user_namespace import enter_user_namespace

    try:
        enter_user_namespace()
        new_mount_namespace()
        print("mounts", flush=True)
        mount_private_terminals()
        print("terminals", flush=True)
    except OSError:
        pass  # as far as it went


if __name__ == "__main__":
    main()

"""Started as a program: prints what can be had in a user namespace here, `mounts` and `terminals`."""

import os
import signal
import sys

_PATIENCE_S = 5

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))


def main() -> None:
    signal.alarm(_PATIENCE_S)
    from nacre.sandbox.kernel.apply import own_mounts, own_terminals
    from nacre.sandbox.kernel.user_namespace import enter_user_namespace

    try:
        enter_user_namespace()
        own_mounts()
        print("mounts", flush=True)
        own_terminals()
        print("terminals", flush=True)
    except OSError:
        pass  # as far as it went


if __name__ == "__main__":
    main()

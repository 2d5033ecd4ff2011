"""Token authentication of a Ray cluster, and the errors when it fails."""

from __future__ import annotations

import os
from typing import Any

from nacre.errors import EngineUnavailable

MODE = "RAY_AUTH_MODE"
_TOKEN = "RAY_AUTH_TOKEN"
_PATH = "RAY_AUTH_TOKEN_PATH"
_FILE = "~/.ray/auth_token"


def authenticates() -> bool:
    """Return whether this process presents a token. If it presents none and was let in, the cluster requires none."""
    return os.environ.get(MODE, "").lower() == "token"  # Ray sets it if it has found a token itself


def token_from() -> str | None:
    """Return where Ray would find a token, a variable or a file; None if there is none."""
    if os.environ.get(_TOKEN):
        return _TOKEN
    path = os.environ.get(_PATH) or os.path.expanduser(_FILE)
    return path if os.path.isfile(path) else None


def show_token(ray: Any, address: str | None) -> None:
    """Present the token once, before Ray connects: Ray would present a wrong one for twenty seconds, and then report
    that there is no cluster.

    Ray's AuthenticationError: the token is refused. Other errors are left for Ray to report.
    """
    try:
        from ray._private.authentication.authentication_token_setup import ensure_token_if_auth_enabled
        from ray._private.services import canonicalize_bootstrap_address_or_die

        ensure_token_if_auth_enabled({}, create_token_if_missing=False)  # or the next call would exit the process
        ray._raylet.GcsClient(address=canonicalize_bootstrap_address_or_die(address or "auto"))
    except Exception as error:
        if is_refusal(ray, error):
            raise


def is_refusal(ray: Any, error: Exception) -> bool:
    """Return whether an error is Ray's refusal of a token."""
    return isinstance(error, getattr(ray.exceptions, "AuthenticationError", ()))


def access_denied(address: str | None) -> EngineUnavailable:
    """Return the error for a cluster that requires another token, with the remedy."""
    cluster = f"The Ray cluster{f' at {address}' if address else ''}"
    remedy = f"Give this process the cluster's token, in {_TOKEN}, in a file that {_PATH} names, or in {_FILE}"
    found = token_from()
    if found is None:
        words = f"{cluster} requires a token, and this process has none."
        return EngineUnavailable(words, f"{remedy}, and {MODE}=token.")
    if not authenticates():
        words = f"{cluster} requires a token. There is one in {found}, but {MODE} is not set to send it."
        return EngineUnavailable(words, f"Set {MODE}=token.")
    return EngineUnavailable(f"{cluster} rejected the token of this process, from {found}.", f"{remedy}.")

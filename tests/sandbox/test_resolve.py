"""The promises of each mode that each kernel can keep: every ABI, with and without seccomp and namespaces."""

from __future__ import annotations

import itertools
import resource
from typing import Any, get_args

import pytest

from nacre.base.frozen import replace
from nacre.errors import AccessUnavailable
from nacre.sandbox.kernel import landlock
from nacre.sandbox.kernel.ruleset import HIDDEN, PTS, READ_ONLY, SHM, WRITABLE, Ruleset
from nacre.sandbox.kernel.seccomp import Sockets, program
from nacre.sandbox.probe import Kernel
from nacre.sandbox.resolve import (
    CACHES,
    ConfinedAccess,
    SandboxPlan,
    SandboxRequest,
    caches_to_move,
    limits_only,
    resolve,
)
from nacre.sandbox.workspace import Workspace
from nacre.types import GIB, MIB, Limits, Network

pytestmark = pytest.mark.req("P-008")

ABIS = range(landlock.MAX_ABI + 1)
MODES: tuple[ConfinedAccess, ...] = get_args(ConfinedAccess)
NETWORKS: tuple[Network, ...] = (False, True, "loopback", (443,), (80, 443))
PLACE = Workspace(
    roots=("/ws",), pinned=("/ws/.git",), protected=("/ws/.git/hooks", "/ws/.git/config"), missing=("/ws/.claude",)
)
TIDY = Workspace(roots=("/ws",), protected=("/ws/.git/hooks",))


def decode_ruleset(got: SandboxPlan) -> Ruleset:
    assert got.ruleset is not None
    return Ruleset.decode(got.ruleset.encode())


def machine(abi: int = 8, *, seccomp: bool = True, mounts: bool = True, networks: bool | None = None) -> Kernel:
    return Kernel(
        machine="x86_64",
        landlock=abi,
        seccomp=seccomp,
        mounts=mounts,
        terminals=mounts,
        networks=mounts if networks is None else networks,
        missing="" if abi else "What is needed.",
    )


def make_request(access: ConfinedAccess = "restricted", **given: Any) -> SandboxRequest:
    return SandboxRequest(access=access, **{"workspace": PLACE if access == "workspace" else None, **given})


def resolve_or_none(want: SandboxRequest, kernel: Kernel) -> SandboxPlan | None:
    try:
        return resolve(want, kernel, Limits())
    except AccessUnavailable:
        return None


KERNELS = [
    pytest.param(abi, seccomp, mounts, id=f"abi{abi}{'-seccomp' * seccomp}{'-mounts' * mounts}")
    for abi, seccomp, mounts in itertools.product(ABIS, (False, True), (False, True))
]


@pytest.mark.req("P-009")
@pytest.mark.parametrize(("abi", "seccomp", "mounts"), KERNELS)
@pytest.mark.parametrize(
    ("access", "network"), [("restricted", False), *(("workspace", network) for network in NETWORKS)], ids=str
)
def test_mode_is_available_exactly_when_every_promise_can_be_kept(
    access: ConfinedAccess, network: Network, abi: int, seccomp: bool, mounts: bool
) -> None:
    kernel = machine(abi, seccomp=seccomp, mounts=mounts)
    keeps_writes = abi >= 3 or (abi >= 1 and seccomp)
    keeps_network = {
        "False": seccomp,
        "True": True,
        "loopback": mounts,
    }.get(str(network), seccomp and abi >= 4)
    got = resolve_or_none(make_request(access, network=network), kernel)
    assert (got is not None) == (keeps_writes and keeps_network)
    partial = resolve_or_none(make_request(access, network=network, partial=True), kernel)
    assert (partial is not None) == (abi >= 1), "a partial sandbox needs Landlock"
    if got is not None and partial is not None:
        assert got.enforced == partial.enforced
        assert got.ruleset == partial.ruleset


@pytest.mark.req("P-009")
@pytest.mark.parametrize(("abi", "seccomp", "mounts"), KERNELS)
def test_restricted_reports_what_each_kernel_enforces(abi: int, seccomp: bool, mounts: bool) -> None:
    got = resolve_or_none(make_request(partial=True), machine(abi, seccomp=seccomp, mounts=mounts))
    if abi == 0:
        assert got is None
        return
    assert got is not None
    expected = {
        "writes": abi >= 3 or seccomp,
        "network": seccomp,
        "tcp": abi >= 4 and not seccomp,
        "unix-sockets": seccomp,
        "abstract-sockets": abi >= 6 or seccomp,
        "signals": abi >= 6,
        "devices": abi >= 5,
        "metadata": seccomp,
        "shared-memory": seccomp,
        "tracing": True,
        "privileges": True,
        "kernel": seccomp,
        "limits": True,
    }
    assert got.enforced == tuple(name for name, has in expected.items() if has)
    assert got.protected.compared == ()


@pytest.mark.req("P-009")
@pytest.mark.parametrize(("abi", "seccomp", "mounts"), KERNELS)
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_workspace_reports_what_each_kernel_enforces(network: Network, abi: int, seccomp: bool, mounts: bool) -> None:
    got = resolve_or_none(
        make_request("workspace", network=network, partial=True, workspace=TIDY),
        machine(abi, seccomp=seccomp, mounts=mounts),
    )
    if abi == 0:
        assert got is None
        return
    assert got is not None
    expected = {
        "writes": abi >= 3 or seccomp,
        "network-loopback": network == "loopback" and mounts,
        "network": (network is False or (network == "loopback" and not mounts)) and seccomp,
        "network-ports:443": network == (443,) and seccomp and abi >= 4,
        "network-ports:80,443": network == (80, 443) and seccomp and abi >= 4,
        "tcp": network is False and abi >= 4 and not seccomp,
        "unix-sockets": seccomp,
        "abstract-sockets": abi >= 6 or seccomp,
        "signals": abi >= 6,
        "devices": abi >= 5,
        "metadata": mounts,
        "shared-memory": seccomp,
        "protected": mounts,
        "tracing": True,
        "privileges": True,
        "kernel": seccomp,
        "limits": True,
    }
    assert got.enforced == tuple(name for name, has in expected.items() if has)
    assert got.protected.compared == (() if mounts else TIDY.protected)


@pytest.mark.parametrize("mounts", [True, False])
def test_missing_protected_path_is_compared_and_not_called_enforced(mounts: bool) -> None:
    got = resolve(make_request("workspace"), machine(mounts=mounts), Limits())
    assert "protected" not in got.enforced
    assert ("protected-existing" in got.enforced) == mounts
    assert got.protected.compared == (PLACE.missing if mounts else PLACE.protected + PLACE.missing)


# messages of refusals


@pytest.mark.req("P-009")
@pytest.mark.parametrize("access", MODES)
@pytest.mark.parametrize("partial", [True, False])
def test_refusal_without_landlock_says_what_is_needed(access: ConfinedAccess, partial: bool) -> None:
    with pytest.raises(AccessUnavailable) as caught:
        resolve(make_request(access, partial=partial), machine(0), Limits())
    error = caught.value
    assert (error.code, error.field) == ("access_unavailable", "access")
    assert error.message == f"Access {access!r} cannot be enforced here, so the command was not run. What is needed."
    assert "unrestricted" in error.hint


@pytest.mark.req("P-009")
@pytest.mark.parametrize(
    ("want", "kernel", "names"),
    [
        (
            make_request(),
            machine(2, seccomp=False, mounts=False),
            "Landlock ABI 2, no seccomp, no namespaces) * writes, network",
        ),
        (make_request(), machine(8, seccomp=False), "Landlock ABI 8, no seccomp) * network"),
        (make_request("workspace", network=(443,)), machine(3), "Landlock ABI 3) * network-ports:443"),
        (make_request("workspace", network="loopback"), machine(mounts=False), "no namespaces) * network-loopback"),
        (
            make_request("workspace", hidden=("/ws/secret",)),
            machine(mounts=False),
            "Landlock ABI 8, no namespaces) * hidden",
        ),
    ],
)
def test_refusal_names_the_promises_that_cannot_be_kept(want: SandboxRequest, kernel: Kernel, names: str) -> None:
    with pytest.raises(AccessUnavailable) as caught:
        resolve(want, kernel, Limits())
    machine_, missing = names.split(" * ")
    assert machine_ in caught.value.message
    assert caught.value.message.endswith(f" cannot enforce everything promised: {missing}.")
    assert "allow_partial" in caught.value.hint
    assert "doctor" in caught.value.hint


# hidden paths


@pytest.mark.parametrize("abi", range(1, landlock.MAX_ABI + 1))
@pytest.mark.parametrize("mounts", [True, False])
def test_hidden_path_is_covered_by_a_mount_and_excluded_from_grants(abi: int, mounts: bool) -> None:
    want = make_request(hidden=("/home/me/.ssh",), readable_siblings=("/etc", "/home/me/work"))
    got = resolve(want, machine(abi, mounts=mounts), Limits())
    assert "hidden" in got.enforced
    assert got.protected.covered == (), "Landlock alone hides it, so a mount is not the only protection"
    assert decode_ruleset(got).mounts == ([(HIDDEN, b"/home/me/.ssh")] if mounts else [])
    assert decode_ruleset(got).landlock is not None
    assert (decode_ruleset(got).landlock or (0, 0, 0))[0] & landlock.READING == landlock.READING
    grants = [(rights, path) for rights, path in decode_ruleset(got).grants if rights & landlock.READ_FILE]
    assert {path for _, path in grants} >= {b"/etc", b"/home/me/work"}
    assert not any(b"/home/me/.ssh".startswith(path + b"/") or path == b"/" for _, path in grants)


def test_hidden_path_in_the_workspace_is_covered_by_a_mount_only() -> None:
    got = resolve(make_request("workspace", hidden=("/ws/secret",)), machine(), Limits())
    assert got.protected.covered == ("/ws/secret",)
    assert (decode_ruleset(got).landlock or (0, 0, 0))[0] & landlock.READING == landlock.READ_FILE, (
        "only devices need the right to read"
    )


def test_hidden_path_in_the_workspace_needs_mounts() -> None:
    want = make_request("workspace", hidden=("/ws/secret",))
    assert resolve_or_none(want, machine(mounts=False)) is None
    got = resolve_or_none(make_request("workspace", hidden=("/ws/secret",), partial=True), machine(mounts=False))
    assert got is not None
    assert "hidden" not in got.enforced
    assert resolve_or_none(want, machine()) is not None
    beside = resolve_or_none(make_request("workspace", hidden=("/wsx",)), machine(mounts=False))
    assert beside is not None
    assert "hidden" in beside.enforced, "/wsx is not inside /ws"


# messages to the keeper


@pytest.mark.parametrize("access", MODES)
def test_every_sandboxed_run_drops_privileges_and_may_use_safe_devices(access: ConfinedAccess) -> None:
    told = decode_ruleset(resolve(make_request(access), machine(), Limits()))
    assert told.drop_privileges
    assert {b"/dev/null", b"/dev/zero", b"/dev/tty"} <= {path for _, path in told.grants}


def test_restricted_grants_no_writes_except_to_devices() -> None:
    told = decode_ruleset(resolve(make_request(top_directories=("/etc", "/usr")), machine(), Limits()))
    assert all(path.startswith(b"/dev/") or rights == landlock.READ_FILE for rights, path in told.grants)
    assert (told.read_only_root, told.mounts, told.loopback, told.ports, told.redirects) == (False, [], False, [], [])
    assert told.filter == program("x86_64", sockets="none", unix=False, metadata=True, shared=True, truncation=False)
    assert told.landlock == (
        landlock.handled_rights(8)[0] & ~(landlock.EXECUTE | landlock.READ_DIR),
        0b11,
        0b11,
    )


@pytest.mark.parametrize("access", MODES)
def test_all_top_directories_except_dev_are_readable(access: ConfinedAccess) -> None:
    told = decode_ruleset(
        resolve(make_request(access, top_directories=("/etc", "/usr")), machine(mounts=False), Limits())
    )
    readable = {path for rights, path in told.grants if rights & landlock.READ_FILE}
    assert {b"/etc", b"/usr", b"/dev/null", b"/dev/shm"} <= readable
    assert not {b"/", b"/dev", b"/dev/pts", b"/dev/ptmx"} & readable


def test_terminals_are_granted_only_when_private() -> None:
    for terminals in (True, False):
        here = replace(machine(), terminals=terminals)
        told = decode_ruleset(resolve(make_request("workspace"), here, Limits()))
        assert ((PTS, b"/dev/pts") in told.mounts) == terminals
        assert ({b"/dev/pts", b"/dev/ptmx"} <= {path for _, path in told.grants}) == terminals
    told = decode_ruleset(resolve(make_request(), machine(), Limits()))
    assert not {b"/dev/pts", b"/dev/ptmx"} & {path for _, path in told.grants}


def test_workspace_is_mounted_writable_before_its_protected_paths() -> None:
    told = decode_ruleset(
        resolve(make_request("workspace", caches=(("npm_config_cache", "npm"),)), machine(), Limits())
    )
    assert told.read_only_root
    assert told.mounts == [
        (WRITABLE, b"/ws"),
        (WRITABLE, b"/ws/.git"),
        (SHM, b"/dev/shm"),
        (PTS, b"/dev/pts"),
        (READ_ONLY, b"/ws/.git/hooks"),
        (READ_ONLY, b"/ws/.git/config"),
    ]
    assert (landlock.EVERYTHING, b"/ws") in told.grants
    assert told.redirects == [(b"npm_config_cache", b"npm")]


@pytest.mark.parametrize("abi", range(1, landlock.MAX_ABI + 1))
@pytest.mark.parametrize(
    ("network", "tcp", "sockets"),
    [(False, 0b11, "none"), (True, 0, "internet"), ("loopback", 0, "internet"), ((443,), 0b11, "tcp")],
    ids=str,
)
def test_network_is_closed_by_landlock_seccomp_or_namespace(
    network: Network, tcp: int, sockets: Sockets, abi: int
) -> None:
    told = decode_ruleset(resolve(make_request("workspace", network=network, partial=True), machine(abi), Limits()))
    assert told.landlock is not None
    assert told.landlock[1] == (tcp if abi >= 4 else 0)
    assert told.filter == program(
        "x86_64", sockets=sockets, unix=False, metadata=False, shared=True, truncation=abi < 3
    )
    assert told.loopback == (network == "loopback")
    assert told.ports == ([443] if network == (443,) else [])


def test_unix_sockets_are_allowed_on_request() -> None:
    got = resolve(make_request("workspace", unix_sockets=True), machine(6), Limits())
    assert "unix-sockets" not in got.enforced
    assert "abstract-sockets" in got.enforced
    assert decode_ruleset(got).filter == program(
        "x86_64", sockets="none", unix=True, metadata=False, shared=False, truncation=False
    )


# limits


@pytest.mark.req("M-11")
def test_limits_are_watched_for_the_run_and_set_per_process() -> None:
    told = limits_only(Limits(memory=GIB, cpu=1.5, processes=7, file_size=MIB, open_files=99))
    assert told.enforced == ("limits",)
    assert decode_ruleset(told).watched_limits == [
        (b"memory", GIB),
        (b"cpu", 1.5),
        (b"processes", 7),
        (b"threads", 256),
    ]
    assert dict(decode_ruleset(told).limits) == {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: 2 * GIB,
        resource.RLIMIT_CPU: 3,
        resource.RLIMIT_FSIZE: MIB,
        resource.RLIMIT_NOFILE: 99,
    }
    assert not decode_ruleset(told).drop_privileges
    assert decode_ruleset(told).landlock is None


@pytest.mark.req("M-11")
@pytest.mark.parametrize("access", MODES)
def test_limits_are_added_to_a_sandbox(access: ConfinedAccess) -> None:
    told = decode_ruleset(resolve(make_request(access), machine(), Limits(memory=GIB)))
    assert (told.watched_limits, dict(told.limits)[resource.RLIMIT_CORE]) == ([(b"memory", GIB)], 0)


# caches


def test_caches_move_unless_writable_or_moved_by_the_caller() -> None:
    at_home = {"HOME": "/home/me"}
    assert {name for name, _ in caches_to_move(at_home, PLACE)} == set(CACHES)
    own = {**at_home, "npm_config_cache": "/elsewhere"}
    assert "npm_config_cache" not in dict(caches_to_move(own, PLACE))
    npm = Workspace(roots=("/ws", "/home/me/.npm"))
    assert set(CACHES) - set(dict(caches_to_move(at_home, npm))) == {"npm_config_cache"}
    assert caches_to_move(at_home, Workspace(roots=("/home/me",))) == ()

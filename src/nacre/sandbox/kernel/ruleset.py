"""The restrictions that the kernel enforces for one run, in the encoding that host and keeper exchange. Pure.

Each part is one field, `name=value`. Two runs are sandboxed alike exactly if their encoded bytes are equal. The private
TMPDIR, which differs between runs that are planned alike, is the last part: the others are encoded once.
"""

from __future__ import annotations

TYPE_CHECKING = False  # loaded by the keeper: importing `typing` would add 5 ms to its start
if TYPE_CHECKING:
    from collections.abc import Iterable

WRITABLE, READ_ONLY, HIDDEN, SHM, PTS = b"open", b"close", b"hide", b"memory", b"terminals"
"""Kinds of mounts: leave a path writable, make it read-only, hide it, mount private shared memory on it, or private
pseudo-terminals."""

MIN_THREADS = 256
"""Lower bound of a run's thread limit, however low its process limit: one Java program has dozens of threads."""


class Ruleset:
    """The restrictions of one run. Every attribute is off or empty by default. Immutable once it is encoded."""

    __slots__ = (
        "_encoded_parts",
        "drop_privileges",
        "filter",
        "grants",
        "landlock",
        "limits",
        "loopback",
        "mounts",
        "ports",
        "private_tmpdir",
        "read_only_root",
        "redirects",
        "user_namespace",
        "watched_limits",
    )

    def __init__(
        self,
        *,
        drop_privileges: bool = False,
        landlock: tuple[int, int, int] | None = None,
        grants: Iterable[tuple[int, bytes]] = (),
        ports: Iterable[int] = (),
        filter: bytes = b"",
        read_only_root: bool = False,
        mounts: Iterable[tuple[bytes, bytes]] = (),
        user_namespace: bool = False,
        loopback: bool = False,
        private_tmpdir: bytes = b"",
        redirects: Iterable[tuple[bytes, bytes]] = (),
        limits: Iterable[tuple[int, int]] = (),
        watched_limits: Iterable[tuple[bytes, float]] = (),
    ) -> None:
        self._encoded_parts: bytes | None = None
        """All but `private_tmpdir`, once it was encoded."""
        self.drop_privileges = drop_privileges
        """Set no_new_privs and drop all capabilities."""
        self.landlock = landlock
        """Landlock rights to forbid: on files, on TCP, scopes."""
        self.grants = [*grants]
        """Landlock file rights to grant below a path. A path that does not exist is skipped."""
        self.ports = [*ports]
        """TCP ports that may be connected to."""
        self.filter = filter
        """The seccomp program; empty for none."""
        self.read_only_root = read_only_root
        """Make everything read-only except the `WRITABLE` paths in `mounts`, in a private mount namespace."""
        self.mounts = [*mounts]
        """Kind and path of each mount."""
        self.user_namespace = user_namespace
        """Make the mounts in a private user namespace, because nacre has no privileges."""
        self.loopback = loopback
        """Use a private network namespace with only a loopback interface."""
        self.private_tmpdir = private_tmpdir
        """Directory to create the private TMPDIR in; empty for none."""
        self.redirects = [*redirects]
        """Environment variables that point into the private TMPDIR, each with its path there."""
        self.limits = [*limits]
        """Resource limits (setrlimit): number and value."""
        self.watched_limits = [*watched_limits]
        """Limits that the keeper checks over all processes of the run: `memory` (bytes), `cpu` (seconds), `processes`,
        `threads`."""

    def with_private_tmpdir(self, path: bytes) -> Ruleset:
        """Return these restrictions with a private TMPDIR in this directory."""
        self._encode_parts()
        copy = Ruleset.__new__(Ruleset)
        for name in Ruleset.__slots__:
            setattr(copy, name, getattr(self, name))
        copy.private_tmpdir = path
        return copy

    def encode(self) -> bytes:
        """Return the bytes that `decode` reads."""
        parts = self._encode_parts()
        if not self.private_tmpdir:
            return parts
        tmpdir = b"scratch=" + self.private_tmpdir
        return parts + b"\0" + tmpdir if parts else tmpdir

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ruleset) and self.encode() == other.encode()

    def __hash__(self) -> int:
        return hash(self.encode())

    def _encode_parts(self) -> bytes:
        if self._encoded_parts is not None:
            return self._encoded_parts
        fields: list[bytes] = []
        if self.drop_privileges:
            fields.append(b"powerless=")
        if self.landlock is not None:
            fields.append(b"landlock=%d %d %d" % self.landlock)
        fields += [b"grant=%d %b" % grant for grant in self.grants]
        fields += [b"port=%d" % port for port in self.ports]
        if self.filter:
            fields.append(b"filter=" + self.filter.hex().encode())
        if self.read_only_root:
            fields.append(b"closed=")
        fields += [b"mount=%b %b" % mount for mount in self.mounts]
        if self.user_namespace:
            fields.append(b"user=")
        if self.loopback:
            fields.append(b"loopback=")
        fields += [b"redirect=%b %b" % redirect for redirect in self.redirects]
        fields += [b"limit=%d %d" % limit for limit in self.limits]
        fields += [b"watch=%b %r" % watch for watch in self.watched_limits]
        self._encoded_parts = b"\0".join(fields)
        return self._encoded_parts

    @classmethod
    def decode(cls, data: bytes) -> Ruleset:
        """Parse the output of `encode`. Raises ValueError for anything else."""
        made = cls()
        for field in data.split(b"\0") if data else []:
            name, _, value = field.partition(b"=")
            first, _, rest = value.partition(b" ")
            match name:
                case b"powerless":
                    made.drop_privileges = True
                case b"landlock":
                    files, network, scopes = map(int, value.split())
                    made.landlock = files, network, scopes
                case b"grant":
                    made.grants.append((int(first), rest))
                case b"port":
                    made.ports.append(int(value))
                case b"filter":
                    made.filter = bytes.fromhex(value.decode())
                case b"closed":
                    made.read_only_root = True
                case b"mount":
                    made.mounts.append((first, rest))
                case b"user":
                    made.user_namespace = True
                case b"loopback":
                    made.loopback = True
                case b"scratch":
                    made.private_tmpdir = value
                case b"redirect":
                    made.redirects.append((first, rest))
                case b"limit":
                    made.limits.append((int(first), int(rest)))
                case b"watch":
                    made.watched_limits.append((first, int(rest) if rest.isdigit() else float(rest)))
                case _:
                    raise ValueError(f"a confinement with {name!r}")
        return made

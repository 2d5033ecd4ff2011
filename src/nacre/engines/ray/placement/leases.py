"""Leases: the resources of a run, reserved on a node that Ray has chosen.

A lease is a placement group of one bundle: it costs no process, and Ray's own scheduler chooses the node. Ray retries
placement in a full cluster only once a second, so a free lease is passed to the next waiting run, and returned to Ray
only after it was idle for a while. For any thread and event loop.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
import time
import weakref
from concurrent.futures import wait
from typing import Any, Literal

from nacre.cancel import Cancel, call_on_cancel
from nacre.engines.ray.cluster.connect import is_forked, nodes
from nacre.engines.ray.cluster.connection import ClusterConnection, LeftCluster
from nacre.engines.ray.placement.background_jobs import BackgroundJobs
from nacre.engines.ray.placement.queue import LeaseQueue
from nacre.engines.ray.placement.resources import Lease, ResourceRequest, engine_closed, no_matching_node, node_gone
from nacre.errors import EngineUnavailable

_MAX_PENDING_REQUESTS = 8
"""Concurrent requests to Ray, however long the queue."""
_IDLE_TIMEOUT_S = 1.0
"""Seconds for which a free lease is kept."""
_POLL_INTERVAL_S = 1.0
_WATCH_INTERVAL_S = 2.0
_CLOSE_TIMEOUT_S = 30.0
"""Seconds for Ray to take back the leases on close."""
_QUARANTINE_S = 60.0
"""Seconds after which Ray itself has noticed that a node is gone."""


class Leases:
    """The leases of one engine."""

    def __init__(self, demand: ResourceRequest, patience: float, connection: ClusterConnection) -> None:
        self._demand = demand
        self._patience = patience
        self._connection = connection
        self._lock = threading.RLock()  # a signal handler may cancel while this thread holds it
        self._queue = LeaseQueue()
        self.jobs = BackgroundJobs("nacre-errands")
        """Calls that return leases to Ray: each takes a while, and a lost node may cause a thousand."""
        self._free: list[tuple[Lease, float]] = []
        self._request_threads: set[threading.Thread] = set()
        self._quarantined_until: dict[str, float] = {}
        """Nodes that did not answer, with the time.monotonic() until which they are avoided."""
        self._sweeping = False
        self._watching = False
        self._closed = False
        _open.add(self)
        atexit.unregister(_close_all)
        atexit.register(_close_all)  # again: it must run before Ray's own handler, registered by now

    async def acquire(self, cancel: Cancel) -> Lease | None:
        """Return a lease; None if cancelled first. Pair every lease with a `release`. EngineUnavailable: there is no
        place, and why."""
        with self._lock:
            if self._closed:
                raise engine_closed()
            self._connection.check()
            if self._free:
                return self._free.pop()[0]  # the last one used: its agent has replied recently
            waiter = self._queue.join()
            self._ask_for_more()
            self._watch()
        try:
            with call_on_cancel(cancel, lambda: self._queue.give_up(waiter)):
                await waiter.notified
        except asyncio.CancelledError:
            given = self._queue.leave(waiter)
            if given is not None:
                self.release(given)
            raise
        if isinstance(waiter.lease, EngineUnavailable):
            raise waiter.lease
        return waiter.lease

    def release(self, lease: Lease) -> None:
        """Pass a lease to the next waiting run, keep it for a while, or return it to Ray. Never blocks."""
        with self._lock:
            if lease.node not in self._quarantined_nodes() and not self._closed:
                self._give(lease)
                return
        self.give_back(lease)

    def give_back(self, lease: Lease) -> None:
        """Return a lease to Ray instead of reusing it: the state of its node is unknown."""
        self.jobs.add(lambda: self._remove([lease]))

    def quarantine(self, node: str) -> None:
        """Place nothing on a node if another one will do: Ray itself may take a while to notice that it is gone."""
        with self._lock:
            if not self._demand.pinned:
                self._quarantined_until[node] = time.monotonic() + _QUARANTINE_S
            there = [lease for lease, _ in self._free if lease.node == node]
            self._free = [row for row in self._free if row[0].node != node]
        if there:
            self.jobs.add(lambda: self._remove(there))

    def end_quarantine(self, node: str) -> None:
        """Use a node again, because it answers."""
        with self._lock:
            self._quarantined_until.pop(node, None)

    def close(self) -> None:
        """Refuse all waiting runs, and return the free leases to Ray."""
        with self._lock:
            self._closed = True
            free, self._free = [lease for lease, _ in self._free], []
            askers = list(self._request_threads)
        self._queue.refuse(engine_closed())
        if free:
            self.jobs.add(lambda: self._remove(free))
        until = time.monotonic() + _CLOSE_TIMEOUT_S
        while (
            not self.jobs.wait_until_done(_POLL_INTERVAL_S)
            and time.monotonic() < until
            and self._connection.head.answers
        ):
            continue
        until = time.monotonic() + 2 * _POLL_INTERVAL_S
        for asker in askers:  # Ray crashes if it is shut down while a thread waits in it
            asker.join(max(until - time.monotonic(), 0.0))

    # with the lock held

    def _quarantined_nodes(self) -> set[str]:
        now = time.monotonic()
        return {node for node, until in self._quarantined_until.items() if until > now}

    def _give(self, lease: Lease) -> None:
        if self._queue.give(lease):
            return
        self._free.append((lease, time.monotonic()))
        if not self._sweeping:
            self._sweeping = True
            _call_later(_IDLE_TIMEOUT_S, self._sweep)

    def _ask_for_more(self) -> None:
        if len(self._request_threads) < min(len(self._queue), _MAX_PENDING_REQUESTS):
            asker = threading.Thread(target=self._ask, name="nacre-lease", daemon=True)
            self._request_threads.add(asker)
            asker.start()

    def _watch(self) -> None:
        """Start polling: threads that request leases may be stuck in a lost connection, or behind a head that does not
        answer, and waiting runs must still get an error."""
        if self._queue and not self._watching:
            self._watching = True
            _call_later(_WATCH_INTERVAL_S, self._poll)

    # without the lock

    def _poll(self) -> None:
        try:
            self._connection.check()
            self._connection.head.check()
        except EngineUnavailable as error:
            self._queue.refuse(error)
        with self._lock:
            self._watching = False
            self._watch()

    def _ask(self) -> None:
        """Request leases in a separate thread, since Ray has no other way to wait that works with every event loop."""
        try:
            with self._lock:
                without = self._quarantined_nodes()
            while True:
                found = self._request_lease(without)
                if isinstance(found, Lease):
                    with self._lock:
                        wanted = not self._closed
                        if wanted:
                            self._give(found)  # even if in quarantine: there was no other node
                    if not wanted:
                        self._remove([found])
                    return
                if found == "not wanted":
                    return
                with self._lock:  # only quarantined nodes are left, or one may be used again
                    without = set() if found == "nowhere else" else self._quarantined_nodes()
        except Exception as error:  # any error from Ray: waiting runs must get it
            left = not self._connection.alive
            refused = EngineUnavailable(f"Ray cannot place the run: {error}", "See `ray status`.")
            self._queue.refuse(LeftCluster() if left else refused)
        finally:
            with self._lock:
                self._request_threads.discard(threading.current_thread())
                if not self._closed:
                    self._ask_for_more()

    def _request_lease(self, without: set[str]) -> Lease | Literal["not wanted", "nowhere else", "ask again"]:
        """Request a lease on a node that is not in `without`."""
        from ray.util.placement_group import placement_group, placement_group_table

        self._connection.check()
        where = self._demand.node_labels(without)
        group = placement_group([dict(self._demand.bundle)], strategy="SPREAD", bundle_label_selector=[where])
        found = None
        try:
            self._connection.check()
            ready = group.ready().future()  # `group.wait` never returns if the connection is closed
            impossible_since = None
            while not wait([ready], _POLL_INTERVAL_S).done:
                self._connection.check()  # otherwise Ray would connect again for the next call
                now = time.monotonic()
                if placement_group_table(group)["stats"]["scheduling_state"] != "INFEASIBLE":
                    impossible_since = None  # everything is in use: keep waiting
                elif self._demand.node is not None and self._demand.node not in nodes(self._connection.ray):
                    self._queue.refuse(node_gone(self._demand.node))
                elif without:
                    return "nowhere else"
                elif now - (impossible_since := impossible_since or now) >= self._patience:
                    self._queue.refuse(no_matching_node(self._demand))
                with self._lock:
                    if not self._queue:
                        return "not wanted"
                    if without - self._quarantined_nodes():
                        return "ask again"
            ready.result()
            self._connection.check()
            found = Lease(placement_group_table(group)["bundles_to_node_id"][0], group)
            return found
        finally:
            if found is None:
                self._remove([Lease("", group)])

    def _sweep(self) -> None:
        until = time.monotonic() - _IDLE_TIMEOUT_S
        with self._lock:
            old = [lease for lease, since in self._free if since <= until]
            self._free = [row for row in self._free if row[1] > until]
            self._sweeping = bool(self._free)
            if self._sweeping:
                _call_later(_IDLE_TIMEOUT_S, self._sweep)
        self._remove(old)

    def _remove(self, leases: list[Lease]) -> None:
        """Return leases to Ray. Never raises."""
        if not leases:
            return
        from ray.util.placement_group import remove_placement_group

        for lease in leases:
            with contextlib.suppress(Exception):  # they are gone with the connection
                if self._connection.alive:
                    remove_placement_group(lease.group)


def _call_later(seconds: float, do: Any) -> None:
    timer = threading.Timer(seconds, do)
    timer.daemon = True
    timer.start()


_open: weakref.WeakSet[Leases] = weakref.WeakSet()


def _close_all() -> None:
    if is_forked():
        return
    for leases in list(_open):
        leases.close()

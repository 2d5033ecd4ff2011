"""Leases: what a run needs, reserved on a node that Ray has chosen.

A lease is a placement group of one bundle: it costs no process, and Ray's own scheduler says where. A full cluster is
looked at again only once a second, so a lease that is free goes to the next run that waits, and back to Ray when
nobody has wanted it for a while. Any thread, any event loop.
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

from nacre.cancel import Cancel
from nacre.engines.ray.cluster.connect import is_forked, nodes
from nacre.engines.ray.cluster.connection import ClusterConnection, LeftCluster
from nacre.engines.ray.placement.background_jobs import BackgroundJobs
from nacre.engines.ray.placement.queue import LeaseQueue
from nacre.engines.ray.placement.resources import Lease, ResourceRequest, engine_closed, no_matching_node, node_gone
from nacre.errors import EngineUnavailable

_MAX_PENDING_REQUESTS = 8
"""How many more are asked for at once, however long the queue."""
_IDLE_TIMEOUT_S = 1.0
"""Seconds that a free one is kept."""
_POLL_INTERVAL_S = 1.0
_WATCH_INTERVAL_S = 2.0
_CLOSE_TIMEOUT_S = 30.0
"""Seconds for Ray to take back what it is given at last."""
_QUARANTINE_S = 60.0
"""Seconds for Ray to notice by itself that a node is gone."""


class Leases:
    def __init__(self, demand: ResourceRequest, patience: float, connection: ClusterConnection) -> None:
        self._demand = demand
        self._patience = patience
        self._connection = connection
        self._lock = threading.RLock()  # a signal handler may cancel what this thread just asks for
        self._queue = LeaseQueue()
        self.jobs = BackgroundJobs("nacre-errands")
        """What is told to Ray: each takes a while, and one node may take a thousand leases with it."""
        self._free: list[tuple[Lease, float]] = []
        self._request_threads: set[threading.Thread] = set()
        self._quarantined_until: dict[str, float] = {}
        """Nodes that did not answer, and until when they are left alone."""
        self._sweeping = False
        self._watching = False
        self._closed = False
        _open.add(self)
        atexit.unregister(_close_all)
        atexit.register(_close_all)  # anew: it has to come before Ray's own end, which is registered by now

    async def acquire(self, cancel: Cancel) -> Lease | None:
        """None: cancelled first. EngineUnavailable: there is no place, and why. Pair every lease with a `release`."""
        with self._lock:
            if self._closed:
                raise engine_closed()
            self._connection.check()
            if self._free:
                return self._free.pop()[0]  # the one that was used last: its agent is warm
            waiter = self._queue.join()
            self._ask_for_more()
            self._watch()
        forget = cancel.on_cancel(lambda: self._queue.give_up(waiter))
        try:
            await waiter.notified
        except asyncio.CancelledError:
            given = self._queue.leave(waiter)
            if given is not None:
                self.release(given)
            raise
        finally:
            forget()
        if isinstance(waiter.lease, EngineUnavailable):
            raise waiter.lease
        return waiter.lease

    def release(self, lease: Lease) -> None:
        """Never blocks."""
        with self._lock:
            if lease.node not in self._quarantined_nodes() and not self._closed:
                self._give(lease)
                return
        self.give_back(lease)

    def give_back(self, lease: Lease) -> None:
        """To Ray, not to the next: who knows what has become of its node."""
        self.jobs.add(lambda: self._remove([lease]))

    def quarantine(self, node: str) -> None:
        """Nothing more is to be placed there, if it can be elsewhere: Ray itself may take a while to notice."""
        with self._lock:
            if not self._demand.pinned:
                self._quarantined_until[node] = time.monotonic() + _QUARANTINE_S
            there = [lease for lease, _ in self._free if lease.node == node]
            self._free = [row for row in self._free if row[0].node != node]
        if there:
            self.jobs.add(lambda: self._remove(there))

    def end_quarantine(self, node: str) -> None:
        """It does, so there is nothing to be said against it."""
        with self._lock:
            self._quarantined_until.pop(node, None)

    def close(self) -> None:
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
        for asker in askers:  # Ray does not survive that it is shut down while somebody waits in it
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
        """Whoever asks may be stuck in a connection that is no more, or behind a head that does not answer: those who
        wait are told all the same."""
        if self._queue and not self._watching:
            self._watching = True
            _call_later(_WATCH_INTERVAL_S, self._poll)

    # without

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
        """In a thread of its own, since Ray has no other way to wait that every event loop could use."""
        try:
            with self._lock:
                without = self._quarantined_nodes()
            while True:
                found = self._request_lease(without)
                if isinstance(found, Lease):
                    with self._lock:
                        wanted = not self._closed
                        if wanted:
                            self._give(found)  # shunned or not: there was no other
                    if not wanted:
                        self._remove([found])
                    return
                if found == "not wanted":
                    return
                with self._lock:  # nowhere but where nobody answered, or one of those may be asked again
                    without = set() if found == "nowhere else" else self._quarantined_nodes()
        except Exception as error:  # whatever Ray has against it: those who wait have to know
            left = not self._connection.alive
            refused = EngineUnavailable(f"Ray gives no place: {error}", "Look at `ray status`.")
            self._queue.refuse(LeftCluster() if left else refused)
        finally:
            with self._lock:
                self._request_threads.discard(threading.current_thread())
                if not self._closed:
                    self._ask_for_more()

    def _request_lease(self, without: set[str]) -> Lease | Literal["not wanted", "nowhere else", "ask again"]:
        """A place on another node than these."""
        from ray.util.placement_group import placement_group, placement_group_table

        self._connection.check()
        where = self._demand.node_labels(without)
        group = placement_group([dict(self._demand.bundle)], strategy="SPREAD", bundle_label_selector=[where])
        found = None
        try:
            self._connection.check()
            ready = group.ready().future()  # `group.wait` would never come back from a connection that is closed
            impossible_since = None
            while not wait([ready], _POLL_INTERVAL_S).done:
                self._connection.check()  # or Ray would connect again, to answer
                now = time.monotonic()
                if placement_group_table(group)["stats"]["scheduling_state"] != "INFEASIBLE":
                    impossible_since = None  # all of it is in use: whoever asked waits, as in any queue
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
        """Never raises."""
        if not leases:
            return
        from ray.util.placement_group import remove_placement_group

        for lease in leases:
            with contextlib.suppress(Exception):  # then they have gone with the connection
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

"""What a server may do by its own clock, given its heartbeats."""

from __future__ import annotations

from headrace.server.storage.lease import Lease


def test_a_server_without_a_heartbeat_begins_nothing() -> None:
    lease = Lease(15.0)
    assert not lease.is_current(0.0)
    assert not lease.can_take_over(100.0)


def test_a_server_stops_beginning_things_before_others_may_take_over() -> None:
    lease = Lease(15.0)
    lease.renew(100.0)
    assert lease.is_current(109.9)
    assert not lease.is_current(110.1)
    assert lease.current_s < lease.lease_s


def test_runs_are_taken_over_only_after_a_whole_lease_of_heartbeats() -> None:
    lease = Lease(15.0)
    for second in range(0, 16, 3):
        lease.renew(float(second))
        assert lease.can_take_over(float(second)) == (second >= 15)


def test_a_gap_in_the_heartbeats_starts_the_wait_again() -> None:
    """The database was away: the other servers could not renew their leases either."""
    lease = Lease(15.0)
    for second in range(0, 31, 3):
        lease.renew(float(second))
    assert lease.can_take_over(31.0)
    lease.renew(45.0)
    assert lease.is_current(45.0)
    assert not lease.can_take_over(45.0)
    for second in range(48, 61, 3):
        lease.renew(float(second))
    assert lease.can_take_over(60.0)


def test_a_slow_heartbeat_counts_from_when_it_was_sent() -> None:
    lease = Lease(15.0)
    lease.renew(100.0)
    # It was accepted at 109, but the database may have noted it at once.
    assert not lease.is_current(110.5)

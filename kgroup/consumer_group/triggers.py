"""The closed sets the rows are written in: triggers, guards, actions.

Decides: the vocabulary of the table, and which triggers come from outside, or with a heartbeat.
Never: what a trigger does; the rows say that.
"""

from kgroup.words import Word


class Trigger(Word):
    """What can happen to a member."""

    # the application and the cluster
    SUBSCRIBED = "subscribed"
    UNSUBSCRIBED = "unsubscribed"
    CLOSE_REQUESTED = "close requested"
    TOPICS_NAMED = "a topic's name became known"
    POLL_RESUMED = "polled again"
    # this member's own bookkeeping
    HANDED_BACK = "everything handed back"
    RECONCILED = "nothing is left to revoke"
    COORDINATOR_READY = "coordinator known"
    COORDINATOR_LOST = "coordinator lost"
    # answers
    JOINED = "joined"
    RETRY_LATER = "retry later"
    INSTANCE_UNRELEASED = "the instance id is in use"
    LEAVE_ENDED = "leave ended"
    # what heartbeats and commits tell
    ASSIGNED = "assignment given"
    CONFIRMED = "heartbeat answered"
    EPOCH_STALE = "epoch stale"
    EPOCH_LOST = "epoch refused, or expelled"
    NOT_PERMITTED = "not permitted"
    FENCED = "fenced"
    REFUSED = "refused for good"
    # timers
    HEARTBEAT_DUE = "heartbeat due"
    LEASE_EXPIRED = "lease expired"
    POLL_EXPIRED = "poll interval over"
    BACKOFF_OVER = "backoff over"
    DRAIN_LIMIT = "drain limit"
    RELEASE_LIMIT = "release limit"
    CLOSE_LIMIT = "close limit"


LOCAL = frozenset({Trigger.SUBSCRIBED, Trigger.UNSUBSCRIBED, Trigger.CLOSE_REQUESTED})
"""Possible in every state: they come from outside the protocol."""

SEARCHED = frozenset({Trigger.NOT_PERMITTED, Trigger.REFUSED})
"""Possible wherever the coordinator may be looked for."""

SIGNALS = SEARCHED | {
    Trigger.ASSIGNED,
    Trigger.CONFIRMED,
    Trigger.EPOCH_STALE,
    Trigger.EPOCH_LOST,
    Trigger.FENCED,
}
"""Possible wherever heartbeats or commits may be in flight."""


class Guard(Word):
    """Conditions on a member; of each family exactly one holds."""

    STILL_REVOKING = "on_revoked still runs for what was lost, and is waited for"
    JOINS_NOW = "no listener is waited for, and joins are not too close together"
    JOINS_LATER = "no listener is waited for, but too many joins in a short time"
    KNOWN = "joined under an epoch"
    UNKNOWN = "joined with epoch 0"
    SETTLED = "all that is assigned is owned, and acknowledged"
    UNSETTLED = "something is to be revoked, taken or acknowledged"
    CLOSING = "the consumer closes"
    NOT_CLOSING = "the consumer stays open"
    WANTS_JOIN = "subscribed again meanwhile"
    WANTS_NOTHING = "not subscribed"


class Action(Word):
    """What a row does, carried out in the order of the row."""

    SEEK_COORDINATOR = "make sure the coordinator is known"
    SEND_JOIN = "send a heartbeat that says everything"
    RECONCILE = "release what is not assigned"
    DROP_TOPICS = "release what is not asked for any more, and say everything anew"
    TAKE = "take what is new, and acknowledge"
    BEAT_SOON = "send a heartbeat as soon as the pace allows"
    SEND_HEARTBEAT = "send a heartbeat"
    RELEASE_ALL = "drain everything"
    CUT_DRAINS = "call on_revoked although batches are in hand"
    AWAIT_LISTENER = "wait for on_revoked, and say so"
    STOP_WAITING = "wait for on_revoked no longer"
    LOSE_ALL = "call on_lost for everything held"
    FORGET_EPOCH = "forget the epoch"
    FORGET_PLACE = "forget the epoch, and that the coordinator may know the member"
    AWAIT_INSTANCE = "say that another member has the instance id"
    BACK_OFF = "wait, longer each time"
    BACK_OFF_LONGEST = "wait as long as it ever waits"
    KEEP_PACE = "wait for the next join's turn"
    COMPLAIN = "have every read raise the error until the coordinator permits again"
    SEND_FAREWELL = "say that the member goes, if it may be known; do not wait for the answer"
    SEND_LEAVE = "say that the member goes, unless it stays, or is not known"
    RAISE = "raise the error to the reader"
    FINISH = "end the membership"

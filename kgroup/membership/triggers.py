"""The closed sets the rows are written in: triggers, guards, actions.

Decides: the vocabulary of the table, and which triggers are timers, signals or replies.
Never: what a trigger does; the rows say that.
"""

from kgroup.words import Word


class Trigger(Word):
    """What can happen to a member."""

    # the application and the cluster
    SUBSCRIBED = "subscribed"
    UNSUBSCRIBED = "unsubscribed"
    CLOSE_REQUESTED = "close requested"
    REBALANCE_ENFORCED = "rebalance enforced"
    TOPICS_CHANGED = "partition counts changed"
    POLL_RESUMED = "polled again"
    # this member's own bookkeeping
    HANDED_BACK = "everything handed back"
    ROUND_OWED = "the group must be told"
    COORDINATOR_READY = "coordinator known"
    COORDINATOR_LOST = "coordinator lost"
    SUBSCRIPTION_FAILED = "own subscription cannot be written"
    # replies
    MEMBER_ID_GIVEN = "member id given"
    ELECTED = "joined as leader"
    ELECTED_UNASKED = "joined as leader, nothing to assign"
    JOINED = "joined as follower"
    ASSIGNOR_DONE = "assignor done"
    ASSIGNOR_FAILED = "assignor failed"
    SYNCED = "synced"
    ASSIGNMENT_UNREADABLE = "assignment unreadable"
    REJOIN_ASKED = "rejoin asked"
    RETRY_LATER = "retry later"
    GENERATION_LOST_IN_ROUND = "generation refused"
    MEMBER_LOST_IN_ROUND = "member refused"
    LEAVE_ENDED = "leave ended"
    ROUND_NOT_PERMITTED = "the round is not permitted"
    REFUSED = "refused for good"
    FENCED = "fenced"
    # what heartbeats and commits tell beside the round
    REBALANCE_SIGNALLED = "rebalance signalled"
    GENERATION_LOST = "generation stale"
    MEMBER_LOST = "expelled"
    NOT_PERMITTED = "not permitted"
    # timers
    HEARTBEAT_DUE = "heartbeat due"
    LEASE_EXPIRED = "lease expired"
    POLL_EXPIRED = "poll interval over"
    BACKOFF_OVER = "backoff over"
    DRAIN_LIMIT = "drain limit"
    CLOSE_LIMIT = "close limit"
    RELEASE_LIMIT = "release limit"
    HAND_OVER_LIMIT = "hand-over limit"
    REJOIN_DUE = "another round is due"


LOCAL = frozenset(
    {
        Trigger.SUBSCRIBED,
        Trigger.UNSUBSCRIBED,
        Trigger.CLOSE_REQUESTED,
        Trigger.REBALANCE_ENFORCED,
    }
)
"""Possible in every state: they come from outside the protocol."""

SIGNALS = frozenset(
    {
        Trigger.REBALANCE_SIGNALLED,
        Trigger.GENERATION_LOST,
        Trigger.MEMBER_LOST,
        Trigger.NOT_PERMITTED,
        Trigger.FENCED,
        Trigger.REFUSED,
    }
)
"""Possible wherever heartbeats or commits may be in flight."""


class Guard(Word):
    """Conditions on a member; of each family exactly one holds."""

    HANDS_BACK = "something must be handed back first"
    HANDS_NOTHING = "nothing must be handed back first"
    HANDING_OVER = "nothing must be handed back first, but what the last round took goes right now"
    REJOINS = "nothing is to be handed back, or not soon"
    DYNAMIC = "no group instance id"
    STATIC = "has a group instance id"
    CLOSING = "the consumer closes"
    NOT_CLOSING = "the consumer stays open"
    WANTS_JOIN = "subscribed again meanwhile"
    WANTS_NOTHING = "not subscribed"
    IN_PACE = "rounds are not too close together"
    OUT_OF_PACE = "too many rounds in a short time"
    STILL_REVOKING = "on_revoked still runs for what was lost, and is waited for"
    JOINS_NOW = "no listener is waited for, and rounds are not too close together"
    JOINS_LATER = "no listener is waited for, but too many rounds in a short time"
    LAPSES = "what is owned outlives the lease"
    ENDS = "what is owned ends with the lease"
    RESUMES = "the lease is over, and what is owned has outlived it"


class Action(Word):
    """What a row does, carried out in the order of a round."""

    SEEK_COORDINATOR = "make sure the coordinator is known"
    BEGIN_RELEASE = "drain what must be handed back before joining"
    RELEASE_ALL = "drain everything"
    CUT_DRAINS = "call on_revoked although batches are in hand"
    AWAIT_LISTENER = "wait for on_revoked, and say so"
    STOP_WAITING = "wait for on_revoked no longer"
    GO_ON_HANDING_OVER = "tell the group what was handed over, once all is or the limit is there"
    SEND_JOIN = "send JoinGroup"
    STORE_MEMBER_ID = "keep the member id"
    ENTER_GENERATION = "enter the new generation"
    RUN_ASSIGNOR = "run the assignor"
    SEND_SYNC = "send SyncGroup"
    WATCH_TOPICS = "look what the group's topics were when they were assigned"
    LOOK_AGAIN = "if the round that was on had no such member, look whether this is that one"
    ADOPT = "adopt the assignment"
    SEND_HEARTBEAT = "send Heartbeat"
    BEAT_UNLESS_OUT = "send Heartbeat unless one is out"
    LAPSE = "keep what is held, hand out nothing"
    LOSE_ALL = "call on_lost for everything held"
    FORGET_GENERATION = "forget the generation"
    FORGET_MEMBER = "forget the generation and the member id"
    GO = "forget them, but not what a group may remember that a static member has gone from"
    BACK_OFF = "wait, longer each time"
    BACK_OFF_LONGEST = "wait as long as it ever waits"
    BACK_OFF_ROUND = "wait, longer each time, up to a heartbeat interval"
    NOTE_FAILURE = "show why the round failed; have every read raise it when that lasts"
    COMPLAIN = "have every read raise the error until the coordinator permits again"
    KEEP_PACE = "wait for the next JoinGroup's turn"
    SEND_FAREWELL = "send LeaveGroup, if there is a member id; do not wait for the answer"
    SEND_LEAVE = "send LeaveGroup unless the member stays, or has no member id"
    RAISE = "raise the error to the reader"
    FINISH = "end the membership"

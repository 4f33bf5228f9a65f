"""The tables of the coordination logs and their columns, declared once.

Decides: names, types and meanings; what Spark, Arrow and the documentation are told is made of
these. Times are milliseconds since the epoch, ids of topics are written as Kafka prints them.
Never: holds a row.
"""

from typing import Final

from kgroup.spark.coordination.schema import Column, Kind, Layer, Table

_GROUP: Final = Column("group", Kind.TEXT, "name of the group")
_TOPIC: Final = Column("topic", Kind.TEXT, "name of the topic")
_PARTITION: Final = Column("partition", Kind.INT, "number of the partition")
_LOG_PARTITION: Final = Column("log_partition", Kind.INT, "partition of the coordination log")
_PLACE: Final = (
    _LOG_PARTITION,
    Column("log_offset", Kind.LONG, "offset in the coordination log"),
    Column("append_ts", Kind.LONG, "timestamp of the record"),
)
_SRC: Final = Column("src", Kind.TEXT, "topic of the coordination log")
_KEY_VALUE: Final = (
    Column("key", Kind.BYTES, "as it lies in the log"),
    Column("value", Kind.BYTES, "as it lies in the log; null removes what was said of the key"),
)
_TOMBSTONE: Final = Column("tombstone", Kind.FLAG, "whether the record removes what was said")
_GENERATION: Final = Column("generation", Kind.INT, "generation, or epoch of KIP-848")
_TOPIC_ID: Final = Column("topic_id", Kind.TEXT, "id of the topic, null when not written")
_MEMBER_ID: Final = Column("member_id", Kind.TEXT, "id of the member")
_KEY: Final = (_GROUP, _TOPIC, _PARTITION)
_MODE: Final = Column("mode", Kind.TEXT, "classic, 848 or marshal")

# -- bronze and silver -----------------------------------------------------------------------------

RAW: Final = Table(
    "raw",
    Layer.BRONZE,
    "a record of a coordination log, as read_committed sees it",
    (
        _SRC,
        *_PLACE,
        Column("append_time", Kind.FLAG, "whether the broker set the timestamp"),
        *_KEY_VALUE,
        Column("headers", Kind.HEADERS, "headers of the record"),
    ),
)
BAD: Final = Table(
    "bad",
    Layer.BRONZE,
    "a record that cannot be read",
    (_SRC, *_PLACE, Column("reason", Kind.TEXT, "what is wrong with it"), *_KEY_VALUE),
)
OTHER: Final = Table(
    "other",
    Layer.SILVER,
    "a record of a type that is not read: share groups and streams groups, and what is newer",
    (Column("type", Kind.INT, "number of the type"), _TOMBSTONE, *_PLACE),
)
COMMIT_LOG: Final = Table(
    "commit_log",
    Layer.SILVER,
    "a committed offset, or its removal",
    (
        *_KEY,
        *_PLACE,
        Column("commit_ts", Kind.LONG, "when the coordinator took it"),
        Column("offset", Kind.LONG, "next to read"),
        Column("leader_epoch", Kind.INT, "of the record before it, null when not known"),
        _TOPIC_ID,
        Column("metadata", Kind.TEXT, "as it was committed; librdkafka ends it with a NUL"),
        Column("expire_ts", Kind.LONG, "when it may go, null for the broker's retention"),
        _TOMBSTONE,
        Column("md_query", Kind.TEXT, "Spark query that committed it, null for others"),
        Column("md_batch", Kind.LONG, "batch of that query"),
        Column("gen_by_order", Kind.INT, "generation or epoch that stands before it in the log"),
    ),
)
GENERATION: Final = Table(
    "generation",
    Layer.SILVER,
    "a generation of a group that is complete",
    (
        _GROUP,
        _GENERATION,
        Column("kind", Kind.TEXT, "classic, 848, or 848 target: the epoch of new targets"),
        Column("protocol_type", Kind.TEXT, "consumer for consumers"),
        Column("protocol", Kind.TEXT, "assignor, null without members"),
        Column("leader", Kind.TEXT, "member id, null without members"),
        Column("state_ts", Kind.LONG, "last change of state, null when not written"),
        Column("n_members", Kind.INT, "members, null for 848"),
        _TOMBSTONE,
        *_PLACE,
    ),
)
MEMBER: Final = Table(
    "member",
    Layer.SILVER,
    "a member as one record has it",
    (
        _GROUP,
        _GENERATION,
        Column("kind", Kind.TEXT, "classic; of 848: member, target or current"),
        _MEMBER_ID,
        Column("instance_id", Kind.TEXT, "static identity, null for a dynamic member"),
        Column("client_id", Kind.TEXT, "name of its client"),
        Column("host", Kind.TEXT, "where it is"),
        Column("rack", Kind.TEXT, "its rack"),
        Column("session_ms", Kind.INT, "session timeout"),
        Column("rebalance_ms", Kind.INT, "rebalance timeout"),
        Column("topics", Kind.TEXTS, "topics it subscribes to"),
        Column("pattern", Kind.TEXT, "pattern it subscribes to, of 848"),
        Column("server_assignor", Kind.TEXT, "assignor it asks for, of 848"),
        Column("owned", Kind.PLACES, "partitions it claimed when it joined"),
        Column("sub_generation", Kind.INT, "generation in which it had been given them"),
        Column("state", Kind.INT, "of 848: 0 stable, 1 handing back, 2 waiting"),
        Column("unread", Kind.TEXT, "why its subscription or assignment could not be read"),
        Column("subscription", Kind.BYTES, "its bytes, if they could not be read"),
        Column("assignment", Kind.BYTES, "its bytes, if they could not be read"),
        _TOMBSTONE,
        *_PLACE,
    ),
)
ASSIGNMENT: Final = Table(
    "assignment",
    Layer.SILVER,
    "a partition of a member as one record has it",
    (
        _GROUP,
        _GENERATION,
        Column("kind", Kind.TEXT, "classic; of 848: target, current or revoking"),
        _MEMBER_ID,
        Column("topic", Kind.TEXT, "name of the topic, null where only its id is written"),
        _PARTITION,
        _TOPIC_ID,
        *_PLACE,
    ),
)
MARSHAL_MSG: Final = Table(
    "marshal_msg",
    Layer.SILVER,
    "a message in the log of Marshal's claims",
    (
        *_PLACE,
        Column("type", Kind.TEXT, "the word that opens it"),
        Column("msg_ts", Kind.LONG, "by the sender's clock"),
        Column("instance", Kind.TEXT, "process of the sender"),
        Column("client", Kind.TEXT, "client id of the sender"),
        *_KEY,
        Column("offset", Kind.LONG, "next to read; of a pause its end, seconds"),
        Column("is_kgroup", Kind.FLAG, "whether the sender keeps kgroup's rules"),
        Column("epoch", Kind.LONG, "offset of the claim it stands under"),
        Column("started", Kind.LONG, "start of the sender's process"),
        Column("interval_s", Kind.INT, "seconds between its heartbeats"),
        Column("most", Kind.LONG, "partitions it takes at most"),
    ),
)
LOG_END: Final = Table(
    "log_end",
    Layer.SILVER,
    "where a log began and ended when it was asked; once a trigger",
    (
        _TOPIC,
        _PARTITION,
        Column("ts", Kind.LONG, "when it was asked"),
        Column("low", Kind.LONG, "first offset"),
        Column("high", Kind.LONG, "offset behind the last"),
    ),
)
HISTORY: Final = Table(
    "history",
    Layer.SILVER,
    "from where on all records of a log partition were read; compaction may have dropped some",
    (
        _SRC,
        _LOG_PARTITION,
        Column("whole_from", Kind.LONG, "first offset from which on all that was there was read"),
        Column("lost_from", Kind.LONG, "first offset that was gone; null when reading began"),
        Column("ts", Kind.LONG, "when that was found"),
    ),
)

# -- gold ------------------------------------------------------------------------------------------

_SPAN: Final = (
    Column("from_ts", Kind.LONG, "since when"),
    Column("to_ts", Kind.LONG, "until when, null while it lasts"),
    Column("from_offset", Kind.LONG, "offset in the coordination log where it begins"),
    Column("to_offset", Kind.LONG, "offset in the coordination log where it ends"),
)
OWNERSHIP: Final = Table(
    "ownership",
    Layer.GOLD,
    "a partition in the hands of one owner without a break",
    (
        _MODE,
        *_KEY,
        _LOG_PARTITION,
        Column("owner", Kind.TEXT, "member id; of Marshal the client id"),
        Column("instance", Kind.TEXT, "static identity; of Marshal the process"),
        Column("client", Kind.TEXT, "client id"),
        Column("epoch", Kind.LONG, "generation or epoch in which it begins"),
        *_SPAN,
        Column("end_reason", Kind.TEXT, "why it ended, null while it lasts"),
    ),
)
UNOWNED: Final = Table(
    "unowned",
    Layer.GOLD,
    "a partition that had an owner and has none",
    (_MODE, *_KEY, _LOG_PARTITION, *_SPAN),
)
REBALANCE: Final = Table(
    "rebalance",
    Layer.GOLD,
    "a new generation of a group, beside the one before",
    (
        _MODE,
        _GROUP,
        _GENERATION,
        Column("ts", Kind.LONG, "when it was complete"),
        Column("gap_ms", Kind.LONG, "from the end of joining; what came before is not in the log"),
        Column("members", Kind.INT, "members of it"),
        Column("joined", Kind.INT, "members that were not there"),
        Column("left", Kind.INT, "members that are gone"),
        Column("moved", Kind.INT, "partitions with another owner"),
        Column("kept", Kind.INT, "partitions with the same owner"),
        Column("given", Kind.INT, "partitions that had no owner"),
        Column("taken", Kind.INT, "partitions that have none now"),
        Column("spread", Kind.INT, "most partitions of a member minus fewest"),
        Column("leader_changed", Kind.FLAG, "whether another member leads, null for 848"),
        Column("skipped_generations", Kind.INT, "rebalances in between that were overtaken"),
        _LOG_PARTITION,
        Column("log_offset", Kind.LONG, "offset in the coordination log"),
    ),
)
LAG: Final = Table(
    "lag",
    Layer.GOLD,
    "how far a group was behind when the log was asked where it ends; once a minute at most",
    (
        *_KEY,
        _LOG_PARTITION,
        Column("ts", Kind.LONG, "when the log was asked"),
        Column("position", Kind.LONG, "committed by then"),
        Column("end", Kind.LONG, "end of the log"),
        Column("lag", Kind.LONG, "records behind"),
        Column("lag_s", Kind.REAL, "seconds behind, null when no earlier end is low enough"),
        Column("error_s", Kind.REAL, "lag_s may be wrong by so much: it lies between two ends"),
    ),
)
REWIND: Final = Table(
    "rewind",
    Layer.GOLD,
    "a commit below the one before it",
    (
        *_KEY,
        *_PLACE,
        Column("from_position", Kind.LONG, "committed before"),
        Column("to_position", Kind.LONG, "committed now"),
        Column("highest", Kind.LONG, "highest that was ever committed"),
        Column("gen_by_order", Kind.INT, "generation that stands before it"),
    ),
)
STATUS: Final = Table(
    "status",
    Layer.GOLD,
    "how a group does with a partition, by Burrow's rules over its last ten commits",
    (
        *_KEY,
        _LOG_PARTITION,
        Column("status", Kind.TEXT, "ok, warning, stalled, stopped, rewind, removed, or unknown"),
        Column("ts", Kind.LONG, "of which moment"),
        Column("position", Kind.LONG, "committed last"),
        Column("end", Kind.LONG, "end of the log, null when not known"),
        Column("lag", Kind.LONG, "records behind, null when not known"),
        Column("commit_ts", Kind.LONG, "last commit"),
        Column("commits", Kind.INT, "commits that were looked at"),
    ),
)
HB_GAP: Final = Table(
    "hb_gap",
    Layer.GOLD,
    "an owner in a Marshal group that did not beat for longer than it announced",
    (
        *_KEY,
        *_PLACE,
        Column("client", Kind.TEXT, "client id of the owner"),
        Column("instance", Kind.TEXT, "process of the owner"),
        Column("epoch", Kind.LONG, "offset of its claim"),
        Column("gap_ms", Kind.LONG, "between two heartbeats, by log time"),
        Column("ttl_ms", Kind.LONG, "after which its claim is over"),
        Column("expired", Kind.FLAG, "whether the claim was over meanwhile"),
    ),
)
ZOMBIE: Final = Table(
    "zombie",
    Layer.GOLD,
    "a message of somebody who is not the owner; refused commits and heartbeats of groups of "
    "Kafka's coordinator are in no log",
    (
        *_KEY,
        *_PLACE,
        Column("type", Kind.TEXT, "the word that opens it"),
        Column("client", Kind.TEXT, "client id of the sender"),
        Column("instance", Kind.TEXT, "process of the sender"),
        Column("epoch", Kind.LONG, "claim it stands under, null when it names none"),
        Column("owner_client", Kind.TEXT, "client id of the owner"),
        Column("owner_instance", Kind.TEXT, "process of the owner"),
        Column("owner_epoch", Kind.LONG, "claim of the owner"),
        Column("took_over", Kind.FLAG, "whether it counted, for the original library obeys it"),
    ),
)
MARSHAL_END: Final = Table(
    "marshal_end",
    Layer.GOLD,
    "a partition of the log of claims, read to its end",
    (
        _LOG_PARTITION,
        Column("next_offset", Kind.LONG, "behind the last record"),
        Column("time", Kind.LONG, "log time"),
        Column("rejected", Kind.LONG, "records that were no messages, or not believed"),
        Column("digest", Kind.TEXT, "as `kgroup marshal state --digest` shows it"),
    ),
)

# -- live ------------------------------------------------------------------------------------------

ALARM: Final = Table(
    "alarm",
    Layer.LIVE,
    "something that a person should look at now, told once",
    (
        Column("kind", Kind.TEXT, "heartbeats missing, zombie, or lag does not move"),
        Column("ts", Kind.LONG, "since when it is one"),
        *_KEY,
        Column("client", Kind.TEXT, "of Marshal: client id of the owner, or of the zombie"),
        Column("instance", Kind.TEXT, "of Marshal: process of the same"),
        Column("epoch", Kind.LONG, "of Marshal: offset of the claim, null when none is named"),
        Column("last_ts", Kind.LONG, "last heartbeat, or the last commit that went on"),
        Column("position", Kind.LONG, "committed position that stands"),
        Column("lag", Kind.LONG, "records behind when it became an alarm"),
        _LOG_PARTITION,
        Column("log_offset", Kind.LONG, "message of a zombie, or that commit"),
    ),
)

LOOKS: Final = LOG_END._replace(name="looks", layer=Layer.LIVE)
"""What alarms are told by: where all logs end, each time they look. No table for people."""

SILVER: Final = (BAD, OTHER, COMMIT_LOG, GENERATION, MEMBER, ASSIGNMENT, MARSHAL_MSG)
"""What is made of records."""
SAMPLED: Final = (LOG_END, HISTORY)
"""What is asked."""
GOLD: Final = (
    OWNERSHIP, UNOWNED, REBALANCE, LAG, REWIND, STATUS, HB_GAP, ZOMBIE, MARSHAL_END,
)  # fmt: skip
TABLES: Final = {table.name: table for table in (RAW, *SILVER, *SAMPLED, *GOLD, ALARM)}

"""Questions that the tables of coordination logs answer: three for each, on their page.

Decides: the queries. A test has Spark read each against the declared columns.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

QUERIES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
    {
        "raw": (
            ("How much lies in each log?", "select src, log_partition, count(*), sum(length(value)) from raw group by 1, 2"),
            ("Which keys are written most often?", "select hex(key), count(*) as n from raw group by 1 order by n desc limit 20"),
            ("What was removed?", "select log_partition, log_offset, hex(key) from raw where value is null"),
        ),
        "bad": (
            ("What cannot be read, and why?", "select reason, count(*) from bad group by reason"),
            ("Where does it lie?", "select src, log_partition, log_offset, reason from bad order by 1, 2, 3"),
            ("Since when?", "select reason, min(timestamp_millis(append_ts)) from bad group by reason"),
        ),
        "other": (
            ("Which types are not read?", "select type, count(*) from other group by type"),
            ("When were they written?", "select type, date_trunc('hour', timestamp_millis(append_ts)) as hour, count(*) from other group by 1, 2"),
            ("Where are the bytes?", "select o.type, r.key, r.value from other o join raw r on r.src = '__consumer_offsets' and r.log_partition = o.log_partition and r.log_offset = o.log_offset"),
        ),
        "commit_log": (
            ("How often does each group commit?", "select `group`, count(*) / (max(append_ts) - min(append_ts)) * 1000 as per_second from commit_log group by 1"),
            ("Who commits, by metadata?", "select `group`, metadata, count(*) from commit_log group by 1, 2"),
            ("Which batches of a Spark query were committed?", "select md_query, md_batch, topic, `partition`, `offset` from commit_log where md_query is not null order by 1, 2"),
        ),
        "generation": (
            ("How many generations has each group had?", "select `group`, count(*) from generation where not tombstone group by 1"),
            ("Which assignor, and when did it change?", "select `group`, protocol, min(timestamp_millis(append_ts)) from generation group by 1, 2"),
            ("Which groups were deleted?", "select `group`, timestamp_millis(append_ts) from generation where tombstone"),
        ),
        "member": (
            ("From which hosts does a group read?", "select distinct `group`, host, client_id from member"),
            ("Which members are static?", "select distinct `group`, instance_id from member where instance_id is not null"),
            ("Whose subscription could not be read?", "select `group`, member_id, unread from member where unread is not null"),
        ),
        "assignment": (
            ("Who had how many partitions in each generation?", "select `group`, generation, member_id, count(*) from assignment group by 1, 2, 3"),
            ("Who had one partition, generation by generation?", "select generation, member_id from assignment where `group` = 'g' and topic = 't' and `partition` = 0 order by log_offset"),
            ("What is being handed back (KIP-848)?", "select `group`, member_id, topic_id, `partition` from assignment where kind = 'revoking'"),
        ),
        "marshal_msg": (
            ("Which messages does each client send?", "select client, type, count(*) from marshal_msg group by 1, 2"),
            ("Whose clock is wrong?", "select client, avg(msg_ts - append_ts) as ahead_ms from marshal_msg group by 1 order by abs(ahead_ms) desc"),
            ("Who was told to let go?", "select topic, `partition`, client, timestamp_millis(append_ts) from marshal_msg where type like 'Releas%' order by append_ts"),
        ),
        "log_end": (
            ("How fast does each topic grow?", "select topic, `partition`, (max(high) - min(high)) / (max(ts) - min(ts)) * 1000 as per_second from log_end group by 1, 2"),
            ("How much does retention leave?", "select topic, `partition`, max_by(high - low, ts) from log_end group by 1, 2"),
            ("When did a log begin later?", "select topic, `partition`, low, min(timestamp_millis(ts)) from log_end group by 1, 2, 3"),
        ),
        "history": (
            ("From where on is all known?", "select src, log_partition, max(whole_from) from history group by 1, 2"),
            ("What was lost to compaction or retention?", "select * from history where lost_from is not null"),
            ("Since when is a log read?", "select src, log_partition, timestamp_millis(min(ts)) from history group by 1, 2"),
        ),
        "ownership": (
            ("Who has what now?", "select `group`, topic, `partition`, owner, client from ownership where to_ts is null"),
            ("Why do periods end?", "select `group`, end_reason, count(*) from ownership group by 1, 2"),
            ("Who held a partition when it happened?", "select owner, client from ownership where topic = 't' and `partition` = 3 and from_ts <= 1764280800000 and coalesce(to_ts, 9e18) > 1764280800000"),
        ),
        "unowned": (
            ("How long was nobody there?", "select `group`, sum(to_ts - from_ts) / 1000 as seconds from unowned group by 1 order by seconds desc"),
            ("What has no owner now?", "select `group`, topic, `partition` from unowned where to_ts is null"),
            ("Which gaps were the longest?", "select *, to_ts - from_ts as ms from unowned order by ms desc limit 20"),
        ),
        "rebalance": (
            ("Which groups rebalance most?", "select `group`, count(*) as n, sum(moved) from rebalance group by 1 order by n desc"),
            ("Which rebalances moved something though nobody came or went?", "select * from rebalance where joined = 0 and left = 0 and moved > 0"),
            ("In which hours?", "select `group`, date_trunc('hour', timestamp_millis(ts)) as hour, count(*) from rebalance group by 1, 2"),
        ),
        "lag": (
            ("How far behind was each group at worst?", "select `group`, topic, max(lag), max(lag_s) from lag group by 1, 2"),
            ("Since when is a partition behind?", "select topic, `partition`, min(timestamp_millis(ts)) from lag where `group` = 'g' and lag > 1000 group by 1, 2"),
            ("What does a group look like over the day?", "select date_trunc('hour', timestamp_millis(ts)) as hour, sum(lag) from lag where `group` = 'g' group by 1 order by 1"),
        ),
        "rewind": (
            ("Which commits went back?", "select * from rewind order by append_ts"),
            ("How many records were read again at most?", "select `group`, topic, sum(from_position - to_position) from rewind group by 1, 2"),
            ("Did it come with a new owner?", "select r.*, o.owner from rewind r join ownership o using (`group`, topic, `partition`) where r.append_ts between o.from_ts and o.from_ts + 60000"),
        ),
        "status": (
            ("Which groups are in trouble?", "select * from status where status not in ('ok', 'removed')"),
            ("How many partitions in which state?", "select `group`, status, count(*) from status group by 1, 2"),
            ("Who has not committed for an hour?", "select `group`, topic, `partition` from status where ts - commit_ts > 3600000"),
        ),
        "hb_gap": (
            ("Who misses heartbeats?", "select client, count(*), max(gap_ms) from hb_gap group by 1"),
            ("Whose claim ran out meanwhile?", "select * from hb_gap where expired"),
            ("How near was it?", "select client, max(gap_ms / ttl_ms) from hb_gap group by 1"),
        ),
        "zombie": (
            ("Who spoke for what it did not own?", "select client, type, count(*) from zombie group by 1, 2"),
            ("Which of it counted?", "select * from zombie where took_over"),
            ("Whom did it disturb?", "select owner_client, client, count(*) from zombie group by 1, 2"),
        ),
        "marshal_end": (
            ("How far was each log read?", "select log_partition, next_offset, timestamp_millis(time) from marshal_end"),
            ("What was not believed?", "select log_partition, rejected from marshal_end where rejected > 0"),
            ("Do two readers agree?", "select log_partition, next_offset, digest from marshal_end order by 1"),
        ),
        "alarm": (
            ("What was told in the last hour?", "select timestamp_millis(ts), kind, `group`, topic, `partition`, client from alarm where ts > unix_millis(now()) - 3600000 order by ts"),
            ("Which groups cause most alarms?", "select `group`, kind, count(*) as n from alarm group by 1, 2 order by n desc"),
            ("How long had it been so?", "select kind, `group`, topic, `partition`, (ts - last_ts) / 1000 as seconds from alarm"),
        ),
    }
)  # fmt: skip
"""Table -> question and query, three for each; each table is a view of its name."""

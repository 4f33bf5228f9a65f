"""Every option of a consumer, its default, and which room reads it.

Decides: names and defaults (Kafka's own, times in seconds), which combinations are doubtful, and
the slice each room is handed.
Never: is handed down whole; a room reads its own slice. Holds no mutable state.
KIPs: 62 (max_poll_interval and rebalance timeout), 345 (group_instance_id), 735 (45 s session),
848 (group_protocol).
"""

import os
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from kgroup.assignors import Assignor, AssignorChoice, resolve
from kgroup.config.fetch_settings import FetchSettings
from kgroup.config.instance_ids import doubts_about_instance_id
from kgroup.config.options import Duration
from kgroup.config.plugins import plug_ins
from kgroup.config.rules import (
    PAUSE,
    POSITIVE,
    Rule,
    assignor_choices,
    choice,
    flag,
    journal_sink,
    option,
    or_none,
    ports_or_none,
    reset_rule,
    servers,
    text,
    whole,
)
from kgroup.config.security import (
    SECURITY_PROTOCOL,
    check_security,
    context,
    doubts_about_security,
    pem_file,
    sasl_mechanism,
    sasl_name,
    secret,
    security_of,
    token_extensions,
    token_source,
)
from kgroup.consumer_group.settings import ConsumerGroupSettings
from kgroup.errors import ConfigError
from kgroup.journal import Sink
from kgroup.marshal.rules import MARSHAL_TOPIC, ClaimPolicy, Compat, Guarantee, MarshalSettings
from kgroup.membership.settings import MembershipSettings
from kgroup.net.ports import Ports
from kgroup.net.security import (
    ExtensionSource,
    SaslMechanism,
    Secret,
    SecurityProtocol,
    TokenSource,
)
from kgroup.net.settings import NetSettings
from kgroup.net.versions import MAX_THROTTLE
from kgroup.offsets.reset import ResetPolicy, ResetRule
from kgroup.types import (
    Backend,
    DeserializeErrorPolicy,
    DoneAt,
    GroupProtocol,
    IsolationLevel,
    PatternOn,
)
from kgroup.values import dataclass

_MOST_BYTES: Final = 249
_UNSOUND: Final = re.compile(r"[/\x00-\x1f\x7f]")
_LONGEST_INTERVAL: Final = 60


def check_marshal(config: "ConsumerConfig") -> None:
    """Refuse what Marshal mode cannot do, and its options without it.

    Raises:
        ConfigError: it names the option, the value, and what would do.
    """
    if config.backend is not Backend.MARSHAL:
        if config.guarantee is not Guarantee.AT_LEAST_ONCE:
            expected = "backend='marshal' beside it: a classic group is at least once"
            raise ConfigError("guarantee", "at_most_once", expected)
        if config.max_uncommitted is not None:
            expected = "None, or backend='marshal' beside it"
            raise ConfigError("max_uncommitted", config.max_uncommitted, expected)
        return
    if config.max_uncommitted is not None and config.guarantee is Guarantee.AT_MOST_ONCE:
        expected = "None: at most once, nothing comes again, and at_most_once_records is the bound"
        raise ConfigError("max_uncommitted", config.max_uncommitted, expected)
    if config.group_id is None:
        # Without one, partitions assigned by hand would be read past the log, and past `guarantee`.
        raise ConfigError("group_id", None, "the name of a group, beside backend='marshal'")
    if config.rebalance_timeout is not None:
        expected = "None: there are no rounds to wait for with backend='marshal'"
        raise ConfigError("rebalance_timeout", config.rebalance_timeout, expected)
    for name in ("group_id", "group_instance_id", "client_id"):
        _check_id(name, getattr(config, name))
    interval = config.marshal_heartbeat_interval
    if interval not in range(1, _LONGEST_INTERVAL + 1):
        expected = f"whole seconds from 1 to {_LONGEST_INTERVAL}"
        raise ConfigError("marshal_heartbeat_interval", interval, expected)
    if config.compat is Compat.GO:
        _check_go(config)


_TO_THE_BROKER: Final = {
    "heartbeat_interval": "the broker's: group.consumer.heartbeat.interval.ms, or the group's own "
    "consumer.heartbeat.interval.ms",
    "assignors": "the broker's: see server_assignor, and group.consumer.assignors",
}
"""Options that the protocol of KIP-848 moves to the broker -> where they went."""


def check_group_protocol(config: "ConsumerConfig") -> None:
    """Refuse what the protocol of KIP-848 moves to the broker, and its options without it.

    Raises:
        ConfigError: it names the option, and where it went.
    """
    protocol = config.group_protocol
    if protocol is GroupProtocol.CLASSIC and config.server_assignor is not None:
        expected = "None, or group_protocol='consumer' beside it"
        raise ConfigError("server_assignor", config.server_assignor, expected)
    if protocol is not GroupProtocol.CONSUMER and config.pattern_on is PatternOn.BROKER:
        expected = "'client', or group_protocol='consumer' beside it"
        raise ConfigError("pattern_on", config.pattern_on.value, expected)
    if protocol is GroupProtocol.CLASSIC:
        return
    if config.backend is Backend.MARSHAL:
        expected = "'classic' with backend='marshal', which has no group coordinator"
        raise ConfigError("group_protocol", protocol, expected)
    moved = _moved(config)
    if protocol is GroupProtocol.CONSUMER and moved is not None:
        expected = f"nothing with group_protocol='consumer'; it is {_TO_THE_BROKER[moved]}"
        raise ConfigError(moved, getattr(config, moved), expected)


def _moved(config: "ConsumerConfig") -> str | None:
    """Return an option that is set, and that KIP-848 moves to the broker; None without one."""
    defaults = {each.name: each.default for each in fields(config)}
    given = (
        name for name in _TO_THE_BROKER if getattr(config, name) != normal(name, defaults[name])
    )
    return next(given, None)


def _consumer_settings(config: "ConsumerConfig", member_id: str) -> ConsumerGroupSettings:
    given = _seconds(config.session_timeout)
    return ConsumerGroupSettings(
        group_id=config.group(),
        member_id=member_id,
        group_instance_id=config.group_instance_id,
        server_assignor=config.server_assignor,
        client_rack=config.client_rack,
        session_timeout=None if given == _SESSION else given,
        rebalance_timeout=_seconds(config.rebalance_timeout or config.max_poll_interval),
        max_poll_interval=config.poll_interval if config.rebalance_timeout else None,
        request_timeout=_seconds(config.request_timeout),
        retry_backoff=_seconds(config.retry_backoff),
        retry_backoff_max=_seconds(config.retry_backoff_max),
        lease_margin=_seconds(config.lease_margin),
    )


def check_isolated(config: "ConsumerConfig") -> None:
    """Refuse heartbeats of a thread where a thread cannot send them.

    Raises:
        ConfigError: it names the option and the way out.
    """
    if not config.isolated_heartbeats:
        return
    way_out = "compute in a thread instead: await anyio.to_thread.run_sync(handle, batch)"
    why = None
    if config.backend is Backend.MARSHAL:
        why = "backend='marshal', whose heartbeats are records that only the event loop writes"
    elif config.group_protocol is GroupProtocol.CONSUMER:
        why = "group_protocol='consumer', whose heartbeats carry what only the event loop knows"
    elif config.sasl_mechanism is SaslMechanism.OAUTHBEARER:
        why = "sasl_mechanism='OAUTHBEARER', whose tokens come from the event loop that is blocked"
    elif config.ports is not None:
        why = "ports of your own, which belong to the event loop"
    if why is not None:
        expected = f"False with {why}; {way_out}"
        raise ConfigError("isolated_heartbeats", value=True, expected=expected)


def _check_id(name: str, value: str | None) -> None:
    """Refuse an id that would make every message of this member unreadable."""
    if value is None:
        return
    if _UNSOUND.search(value) or len(value.encode()) > _MOST_BYTES:
        expected = f"an id of at most {_MOST_BYTES} bytes without '/' and control characters"
        raise ConfigError(name, value, expected)


def _check_go(config: "ConsumerConfig") -> None:
    if config.marshal_heartbeat_interval != _LONGEST_INTERVAL:
        expected = f"{_LONGEST_INTERVAL}, which the original library has for all"
        raise ConfigError("marshal_heartbeat_interval", config.marshal_heartbeat_interval, expected)
    if config.guarantee is Guarantee.AT_MOST_ONCE:
        expected = "compat='auto' or 'strict': at most once needs kgroup's rules"
        raise ConfigError("guarantee", "at_most_once", expected)


def marshal_settings(
    config: "ConsumerConfig", group_id: str, instance_id: str, started: int
) -> MarshalSettings:
    """Return what a member of a Marshal group reads.

    Args:
        config: all options.
        group_id: name of the group.
        instance_id: of this process and consumer, new for each.
        started: of the process, milliseconds since the epoch.
    """
    static = config.group_instance_id
    interval, poll = config.marshal_heartbeat_interval, config.max_poll_interval
    policy, guarantee = config.claim_policy, config.guarantee
    assert isinstance(interval, float)
    assert isinstance(poll, float)
    assert isinstance(policy, ClaimPolicy)
    assert isinstance(guarantee, Guarantee)
    return MarshalSettings(
        group_id=group_id,
        # Others tell members apart by it, and one that is started twice is fenced.
        client_id=static or f"{config.client_id}-{instance_id}",
        instance_id=instance_id,
        started=started,
        is_static=static is not None,
        interval=int(interval),
        guarantee=guarantee,
        policy=policy,
        max_claims=config.max_claims,
        whole_topics=config.claim_entire_topic,
        fast_reclaim=config.fast_reclaim,
        rebalance_timeout=poll,
        # 1. A heartbeat is lost; 2. nothing is written of its key before this is over; 3. the next
        # one has to be read back while the lease of four such times lasts.
        write_timeout=interval / 2,
        shows_itself=policy is ClaimPolicy.FAIR and config.compat is not Compat.GO,
    )


# -- consumer config -------------------------------------------------------------------------------


_HEARTBEATS_PER_SESSION: Final = 3
_SESSION: Final = 45.0
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """All options of a consumer. Times are float seconds or `timedelta`.

    Args:
        bootstrap_servers: `host:port`, several with commas between, or a list of them; they are
            only needed to find the cluster.
        bootstrap_timeout: how long entering the consumer waits for a first broker; 0 tries each
            address once, within `request_timeout`; None for 30 s, or 5 s when every address is
            refused or its name unknown.
        group_id: name of the group, None for a consumer that only assigns by hand and commits
            nothing.
        group_instance_id: static identity within the group (KIP-345), None for a dynamic member.
        client_id: name of this client in the brokers' logs and quotas.
        client_rack: rack of this client; rack-aware assignors read it (KIP-881).
        session_timeout: the coordinator expels a member that is silent for longer; the broker
            bounds it (6 s to 30 min by default). With `group_protocol="consumer"` the broker sets
            it, and is asked; another value than the default is what it is taken for.
        heartbeat_interval: between two heartbeats; less than `session_timeout`, best a third of it.
        max_poll_interval: longest time between two reads by the application, and the longest a
            listener may take.
        rebalance_timeout: the longest a round waits for this member, None for `max_poll_interval`
            as in Java (KIP-62).
        lease_margin: how long before the session can end the consumer stops handing out records.
        isolated_heartbeats: whether a thread sends heartbeats while the event loop is blocked by a
            handler that computes; `max_poll_interval` still holds. Classic groups only, and not
            with OAUTHBEARER.
        assignors: names, instances, or assignors of aiokafka or kafka-python, in order of
            preference.
        group_protocol: what the group coordinator is spoken to in: "classic"; "consumer", the
            protocol of KIP-848: the coordinator divides the partitions, from Kafka 4.0 on; or
            "auto": "consumer" where the brokers offer it and no option is against it.
        server_assignor: with KIP-848, the coordinator's assignor that is asked for: "uniform",
            "range", or one that the brokers have been given; None for their choice.
        pattern_on: who matches a pattern: the "client", or with KIP-848 the "broker": its
            coordinator, with RE2J and whole names, which hears of a new topic first.
        auto_offset_reset: where to begin when nothing is committed or the log no longer holds the
            position: "earliest", "latest", or "none" for an error; or a timedelta: the first
            record that is no older (KIP-1106), which a text like "by_duration:PT1H30M" says too.
            An error never resets.
        enable_auto_commit: whether what is done is committed without being asked.
        auto_commit_interval: time between two automatic commits.
        isolation_level: "read_uncommitted" or "read_committed" (KIP-98).
        on_deserialize_error: what becomes of a record whose key or value a deserialiser refuses:
            "raise" (it stays in front until a seek), "skip" (logged and skipped), or "raw"
            (it comes with its bytes, and `record.error` says why).
        fetch_min_bytes: a broker waits until it has this much, or `fetch_max_wait` is over.
        fetch_max_bytes: most bytes of one answer; a first batch that is larger comes all the same.
        fetch_max_wait: longest wait of a broker that has too little.
        max_partition_fetch_bytes: the same for one partition; again a first batch may be larger.
        prefetch_max_bytes: most bytes held ready, shared equally by the owned partitions.
        max_poll_records: most records of one batch, and of one `getmany`; None for no bound.
        stay_with_partition: whether `getone` and `getmany` go on with a partition until all that
            one fetch brought of it is handed out, as other clients do; else partitions take turns.
        done_at: when a record of `getone`, or of a loop over records, counts as done: at the
            "next_read" of its partition; or at its "delivery", as with aiokafka: a crash may then
            lose the record in hand, and a rebalance does not wait for it.
        request_timeout: for requests that do not wait for anything by themselves.
        retry_backoff: first pause before something that failed is tried again.
        retry_backoff_max: longest such pause.
        reconnect_backoff: first pause before a broker is dialled again.
        reconnect_backoff_max: longest such pause.
        connections_max_idle: an unused connection is closed after this.
        metadata_max_age: metadata is asked again when it is older.
        allow_auto_create_topics: whether asking for a topic may create it.
        check_crcs: whether checksums of record batches are verified.
        max_decompressed_bytes: most bytes one record batch may inflate to; one that would be
            larger is damage.
        exclude_internal_topics: whether a pattern leaves out topics of the brokers.
        backend: what coordinates the group: "classic", the brokers' group coordinator; or
            "marshal", a log of claims. The options below are for the latter.
        guarantee: "at_least_once"; or "at_most_once": a batch is committed before it is handed
            out, and `enable_auto_commit` has no say.
        coordination_topic: the log of claims.
        marshal_heartbeat_interval: whole seconds from 1 to 60; after twice as long without a
            heartbeat others may take what this member has. Beside the original library only 60.
        compat: how members of the original library are treated: "auto", as equals; "strict",
            their heartbeats take nothing; "go", their rules hold for all.
        claim_policy: "fair" shares; "greedy": all that is free; "gradual": one after the other.
        max_claims: partitions this member has at most, None for any number.
        claim_entire_topic: whether the member claims all partitions of a topic, or none.
        fast_reclaim: whether a member with a `group_instance_id` takes back what it had when it
            restarts.
        at_most_once_records: most records that are committed, and can be lost, at a time.
        max_uncommitted: at least once, most records of a partition that are handed out beyond its
            last commit: no more than that come again after a crash. At this number the partition
            waits for a commit (see `held_back`). None for any number.
        security_protocol: what the brokers' listeners speak: "PLAINTEXT", "SSL" (TLS),
            "SASL_PLAINTEXT" or "SASL_SSL" (SASL within TLS).
        ssl_context: your own context for TLS; None to have one made of the files below.
        ssl_cafile: PEM file of the authorities that are trusted, None for those of the system.
        ssl_certfile: PEM file of our own certificate and its chain, None without one.
        ssl_keyfile: PEM file of its key, None when that is in `ssl_certfile`.
        ssl_password: password of the key, None when it is not encrypted.
        ssl_check_hostname: whether a broker's certificate must name the host that was dialled.
        sasl_mechanism: "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512" or "OAUTHBEARER".
        sasl_username: for PLAIN and SCRAM.
        sasl_password: for PLAIN and SCRAM; never shown.
        sasl_oauth_token: for OAUTHBEARER: called for each authentication, on the event loop;
            returns a token that is valid now, or awaits one.
        sasl_oauth_extensions: sent beside the token (KIP-342), name -> value; or a function, called
            after the one for the token, that returns them.
        journal: where events are written: a path for lines of JSON, a sink, None for nowhere.
        ports: network, clocks and dice, None for the real ones; for tests in virtual time.

    Raises:
        ConfigError: a value cannot be used.
    """

    bootstrap_servers: str | Sequence[str] = option("localhost:9092", servers, "bootstrap.servers")
    bootstrap_timeout: Duration | None = option(None, or_none(PAUSE))
    group_id: str | None = option(None, text(optional=True), "group.id")
    group_instance_id: str | None = option(None, text(optional=True), "group.instance.id")
    client_id: str = option("kgroup", text(optional=False), "client.id")
    client_rack: str | None = option(None, text(optional=True), "client.rack")
    session_timeout: Duration = option(_SESSION, POSITIVE, "session.timeout.ms")
    heartbeat_interval: Duration = option(3.0, POSITIVE, "heartbeat.interval.ms")
    max_poll_interval: Duration = option(300.0, POSITIVE, "max.poll.interval.ms")
    rebalance_timeout: Duration | None = option(None, or_none(POSITIVE))
    lease_margin: Duration = option(0.5, PAUSE)
    isolated_heartbeats: bool = option(False, flag)
    assignors: Sequence[AssignorChoice] = option(
        ("range", "cooperative-sticky"), assignor_choices, "partition.assignment.strategy"
    )
    group_protocol: str | GroupProtocol = option(
        GroupProtocol.CLASSIC, choice(GroupProtocol), "group.protocol"
    )
    server_assignor: str | None = option(None, text(optional=True), "group.remote.assignor")
    pattern_on: str | PatternOn = option(PatternOn.CLIENT, choice(PatternOn))
    auto_offset_reset: str | timedelta | ResetRule = option(
        ResetPolicy.LATEST, reset_rule, "auto.offset.reset"
    )
    enable_auto_commit: bool = option(True, flag, "enable.auto.commit")
    auto_commit_interval: Duration = option(5.0, POSITIVE, "auto.commit.interval.ms")
    isolation_level: str | IsolationLevel = option(
        IsolationLevel.READ_UNCOMMITTED, choice(IsolationLevel), "isolation.level"
    )
    on_deserialize_error: str | DeserializeErrorPolicy = option(
        DeserializeErrorPolicy.RAISE, choice(DeserializeErrorPolicy)
    )
    fetch_min_bytes: int = option(1, whole(0), "fetch.min.bytes")
    fetch_max_bytes: int = option(50 * _MIB, whole(1), "fetch.max.bytes")
    fetch_max_wait: Duration = option(0.5, PAUSE, "fetch.max.wait.ms")
    max_partition_fetch_bytes: int = option(_MIB, whole(1), "max.partition.fetch.bytes")
    prefetch_max_bytes: int = option(64 * _MIB, whole(1, 2**40))
    max_poll_records: int | None = option(500, whole(1, optional=True), "max.poll.records")
    stay_with_partition: bool = option(False, flag)
    done_at: str | DoneAt = option(DoneAt.NEXT_READ, choice(DoneAt))
    request_timeout: Duration = option(30.0, POSITIVE, "request.timeout.ms")
    retry_backoff: Duration = option(0.1, PAUSE, "retry.backoff.ms")
    retry_backoff_max: Duration = option(1.0, PAUSE, "retry.backoff.max.ms")
    reconnect_backoff: Duration = option(0.05, PAUSE, "reconnect.backoff.ms")
    reconnect_backoff_max: Duration = option(1.0, PAUSE, "reconnect.backoff.max.ms")
    connections_max_idle: Duration = option(540.0, POSITIVE, "connections.max.idle.ms")
    metadata_max_age: Duration = option(300.0, POSITIVE, "metadata.max.age.ms")
    allow_auto_create_topics: bool = option(False, flag, "allow.auto.create.topics")
    check_crcs: bool = option(True, flag, "check.crcs")
    max_decompressed_bytes: int = option(64 * _MIB, whole(2**20))
    exclude_internal_topics: bool = option(True, flag, "exclude.internal.topics")
    backend: str | Backend = option(Backend.CLASSIC, choice(Backend))
    guarantee: str | Guarantee = option(Guarantee.AT_LEAST_ONCE, choice(Guarantee))
    coordination_topic: str = option(MARSHAL_TOPIC, text(optional=False))
    marshal_heartbeat_interval: Duration = option(60.0, POSITIVE)
    compat: str | Compat = option(Compat.AUTO, choice(Compat))
    claim_policy: str | ClaimPolicy = option(ClaimPolicy.FAIR, choice(ClaimPolicy))
    max_claims: int | None = option(None, whole(1, optional=True))
    claim_entire_topic: bool = option(False, flag)
    fast_reclaim: bool = option(True, flag)
    at_most_once_records: int = option(500, whole(1))
    max_uncommitted: int | None = option(None, whole(1, optional=True))
    security_protocol: str | SecurityProtocol = option(
        SecurityProtocol.PLAINTEXT, SECURITY_PROTOCOL, "security.protocol"
    )
    ssl_context: ssl.SSLContext | None = option(None, context, shown=False)
    ssl_cafile: str | Path | None = option(None, pem_file, "ssl.truststore.location")
    ssl_certfile: str | Path | None = option(None, pem_file, "ssl.keystore.location")
    ssl_keyfile: str | Path | None = option(None, pem_file, "ssl.keystore.location")
    ssl_password: str | Secret | None = option(None, secret, "ssl.key.password", shown=False)
    ssl_check_hostname: bool = option(True, flag, "ssl.endpoint.identification.algorithm")
    sasl_mechanism: str | SaslMechanism | None = option(None, sasl_mechanism, "sasl.mechanism")
    sasl_username: str | None = option(None, sasl_name, "sasl.jaas.config")
    sasl_password: str | Secret | None = option(None, secret, "sasl.jaas.config", shown=False)
    sasl_oauth_token: TokenSource | None = option(
        None, token_source, "sasl.login.callback.handler.class", shown=False
    )
    sasl_oauth_extensions: Mapping[str, str] | ExtensionSource | None = option(
        None, token_extensions, "sasl.jaas.config", shown=False
    )
    journal: Sink | str | Path | None = option(None, journal_sink, shown=False)
    ports: Ports | None = option(None, ports_or_none, shown=False)

    def __post_init__(self) -> None:
        for each in fields(self):
            # Frozen for everybody else: this is where a value as typed becomes the normal one.
            value = normal(each.name, getattr(self, each.name))
            object.__setattr__(self, each.name, value)
        if self.group_instance_id is not None and self.group_id is None:
            raise ConfigError("group_instance_id", self.group_instance_id, "a group_id beside it")
        session, beat = _seconds(self.session_timeout), _seconds(self.heartbeat_interval)
        told = self.group_protocol is GroupProtocol.CONSUMER  # by the broker
        if beat >= session and not told:
            expected = f"less than session_timeout ({session:g} s); a third of it is usual"
            raise ConfigError("heartbeat_interval", beat, expected)
        check_marshal(self)
        check_group_protocol(self)
        check_security(self)
        check_isolated(self)
        _resolved(self.assignors)

    @staticmethod
    def of(options: Mapping[str, object], base: "ConsumerConfig | None" = None) -> "ConsumerConfig":
        """Return a config with some options set.

        Args:
            options: name -> value.
            base: what the other options are taken from, None for the defaults.

        Raises:
            ConfigError: an option is not known, or its value cannot be used.
        """
        check_names(options)
        if base is not None and not isinstance(base, ConsumerConfig):
            raise ConfigError("config", base, "a ConsumerConfig, or None")
        # `normal` checks each value; the names have just been checked. A default that is not asked
        # for is not looked at: a plug-in may have taken its name.
        if base is None:
            return ConsumerConfig(**options)  # type: ignore[arg-type]
        return replace(base, **options)  # type: ignore[arg-type]

    def doubts(self) -> tuple[str, ...]:
        """Return what is allowed and probably not meant; the consumer logs it when entered."""
        session, beat = _seconds(self.session_timeout), _seconds(self.heartbeat_interval)
        if self.group_protocol is GroupProtocol.CONSUMER:
            beat = 0.0  # the broker's
        poll, margin = _seconds(self.max_poll_interval), _seconds(self.lease_margin)
        found: list[str] = []
        if session < _HEARTBEATS_PER_SESSION * beat:
            found.append(
                f"session_timeout ({session:g} s) is below three heartbeat_interval ({beat:g} s): "
                "one lost heartbeat may cost the membership"
            )
        if poll < session:
            found.append(
                f"max_poll_interval ({poll:g} s) is below session_timeout ({session:g} s): "
                "a slow batch costs the membership before a dead process would"
            )
        name, proof = self._shortest_proof()
        if margin + beat >= proof:
            found.append(
                f"lease_margin ({margin:g} s) leaves less than one heartbeat_interval "
                f"({beat:g} s) of {name} ({proof:g} s): hardly a record can be handed out"
            )
        about_id = doubts_about_instance_id(self.group_instance_id, os.getpid())
        return (*found, *about_id, *doubts_about_security(self))

    def _shortest_proof(self) -> tuple[str, float]:
        """Return what bounds how long one answered heartbeat proves ownership: name, seconds."""
        round_ends = "max_poll_interval" if self.rebalance_timeout is None else "rebalance_timeout"
        bounds = {name: _seconds(getattr(self, name)) for name in ("session_timeout", round_ends)}
        return min(bounds.items(), key=lambda each: each[1])

    @property
    def poll_interval(self) -> float:
        """`max_poll_interval` in seconds."""
        return _seconds(self.max_poll_interval)

    @property
    def commit_interval(self) -> float:
        """`auto_commit_interval` in seconds."""
        return _seconds(self.auto_commit_interval)

    @property
    def patience(self) -> float | None:
        """`bootstrap_timeout` in seconds."""
        return None if self.bootstrap_timeout is None else _seconds(self.bootstrap_timeout)

    @property
    def deserialize_errors(self) -> DeserializeErrorPolicy:
        """`on_deserialize_error` as the policy it names."""
        return cast("DeserializeErrorPolicy", self.on_deserialize_error)  # `normal` saw to it

    # -- the slices ------------------------------------------------------------------------

    def net(self) -> NetSettings:
        """Return what connections and the cluster read; the files of TLS are read for it.

        Raises:
            ConfigError: a file cannot be used.
        """
        return NetSettings(
            bootstrap=tuple(_host_and_port(each) for each in self.bootstrap_servers),
            client_id=self.client_id,
            client_rack=self.client_rack,
            request_timeout=_seconds(self.request_timeout),
            reconnect_backoff=_seconds(self.reconnect_backoff),
            reconnect_backoff_max=_seconds(self.reconnect_backoff_max),
            retry_backoff=_seconds(self.retry_backoff),
            retry_backoff_max=_seconds(self.retry_backoff_max),
            metadata_max_age=_seconds(self.metadata_max_age),
            connections_max_idle=_seconds(self.connections_max_idle),
            allow_auto_create_topics=self.allow_auto_create_topics,
            group_silence=min(_seconds(self.session_timeout) / 3, MAX_THROTTLE),
            security=security_of(self),
        )

    def group(self) -> str:
        """Return the group id.

        Raises:
            ConfigError: there is none.
        """
        if self.group_id is None:
            raise ConfigError("group_id", None, "the name of a group, to subscribe with")
        return self.group_id

    def membership(self) -> MembershipSettings:
        """Return what the membership machine reads.

        Raises:
            ConfigError: there is no group id; or an assignor cannot be used.
        """
        return MembershipSettings(
            group_id=self.group(),
            group_instance_id=self.group_instance_id,
            assignors=_resolved(self.assignors),
            session_timeout=_seconds(self.session_timeout),
            heartbeat_interval=_seconds(self.heartbeat_interval),
            rebalance_timeout=_seconds(self.rebalance_timeout or self.max_poll_interval),
            max_poll_interval=self.poll_interval if self.rebalance_timeout else None,
            request_timeout=_seconds(self.request_timeout),
            retry_backoff=_seconds(self.retry_backoff),
            retry_backoff_max=_seconds(self.retry_backoff_max),
            lease_margin=_seconds(self.lease_margin),
            client_rack=self.client_rack,
        )

    @property
    def against_consumer_protocol(self) -> str | None:
        """Name of an option that a group of KIP-848 has no use for, None without one."""
        return "isolated_heartbeats" if self.isolated_heartbeats else _moved(self)

    def consumer_group(self, member_id: str) -> ConsumerGroupSettings:
        """Return what a member of a KIP-848 group reads.

        Args:
            member_id: new for each member.

        Raises:
            ConfigError: there is no group id.
        """
        return _consumer_settings(self, member_id)

    def marshal(self, instance_id: str, started: int) -> MarshalSettings:
        """Return what a member of a Marshal group reads; see `marshal_settings`."""
        return marshal_settings(self, self.group(), instance_id, started)

    def fetching(self) -> FetchSettings:
        """Return what fetching reads."""
        return FetchSettings(
            min_bytes=self.fetch_min_bytes,
            max_bytes=self.fetch_max_bytes,
            max_wait=_seconds(self.fetch_max_wait),
            partition_max_bytes=self.max_partition_fetch_bytes,
            prefetch_max_bytes=self.prefetch_max_bytes,
            isolation_level=cast("IsolationLevel", self.isolation_level),  # `normal` saw to it
            reset_policy=cast("ResetRule", self.auto_offset_reset),  # `normal` saw to it
            check_crcs=self.check_crcs,
            max_decompressed_bytes=self.max_decompressed_bytes,
            request_timeout=_seconds(self.request_timeout),
            retry_backoff=_seconds(self.retry_backoff),
            retry_backoff_max=_seconds(self.retry_backoff_max),
            metadata_max_age=_seconds(self.metadata_max_age),
            client_rack=self.client_rack,
            forward_only=self.guarantee is Guarantee.AT_MOST_ONCE,
        )


def _seconds(duration: Duration) -> float:
    assert isinstance(duration, float)  # `normal` has turned timedeltas and ints into floats
    return duration


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _resolved(chosen: Sequence[AssignorChoice]) -> tuple[Assignor, ...]:
    names = [each for each in chosen if isinstance(each, str)]
    # What is installed is read from disk each time: only if it may matter.
    return resolve(chosen, plug_ins(names) if names or not chosen else ())


# -- names -----------------------------------------------------------------------------------------

_RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {each.name: each.metadata["rule"] for each in fields(ConsumerConfig)}
)
_SECONDS: Final = " (times are in seconds)"
_ELSEWHERE: Final[Mapping[str, str | None]] = MappingProxyType(
    {
        "api_version": None,
        "consumer_timeout_ms": None,
        "key_deserializer": "key",
        "loop": None,
        "partition_assignment_strategy": "assignors",
        "sasl_jaas_config": "sasl_username",
        "sasl_kerberos_domain_name": None,
        "sasl_kerberos_service_name": None,
        "ssl_ca_location": "ssl_cafile",
        "ssl_certificate_location": "ssl_certfile",
        "ssl_endpoint_identification_algorithm": "ssl_check_hostname",
        "ssl_key_location": "ssl_keyfile",
        "ssl_key_password": "ssl_password",
        "ssl_keystore_location": "ssl_certfile",
        "ssl_truststore_location": "ssl_cafile",
        "value_deserializer": "value",
    }
)
"""Names other clients have -> ours, None for nothing like it, where likeness would mislead."""


def check_names(names: Mapping[str, object]) -> None:
    """Refuse names that are no options.

    Raises:
        ConfigError: with the known name that is most like it.
    """
    for name, value in names.items():
        if name not in _RULES:
            # Never the value: it may be a password, behind a name with a slip of the pen.
            kind = f"<{type(value).__name__}>"
            expected = "a known option name" + _SECONDS * name.endswith("_ms")
            raise ConfigError(name, kind, expected, nearest=_nearest(name))


def _nearest(name: str) -> str | None:
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    stem = name.removesuffix("_ms")
    return next(iter([stem] if stem in _RULES else get_close_matches(name, _RULES, n=1)), None)


def normal(name: str, value: object) -> object:
    """Return the value of an option in the form kgroup works with.

    Raises:
        ConfigError: the value cannot be used.
    """
    return _RULES[name](name, value)

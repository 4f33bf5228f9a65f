"""The options of Marshal mode: what they allow together, and the slice its member is handed.

Decides: which ids can be written into the log of claims, and which combinations make no sense.
Never: looks at a broker; what depends on one is refused when the consumer is entered.
"""

import re
from typing import TYPE_CHECKING, Final

from kgroup.errors import ConfigError
from kgroup.marshal.rules import Compat
from kgroup.marshal.settings import ClaimPolicy, Guarantee, MarshalSettings
from kgroup.types import Backend

if TYPE_CHECKING:
    from kgroup.config.consumer_config import ConsumerConfig

__all__ = ["check_marshal", "marshal_settings"]

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

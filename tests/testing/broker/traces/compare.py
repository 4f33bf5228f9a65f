"""Two answers to one request, field by field.

Decides: which fields say nothing about the rules (`NOT_COMPARED`), and which lists have no order.
Member lists of classic groups keep theirs: ids are those of the real broker, so hash order must
come out the same. Those of KIP-848 come in the order of another hash table, which is not imitated.
"""

from collections.abc import Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final

from kgroup.wire.messages import ConsumerGroupDescribeDescribedGroup
from kgroup.wire.schema import Message, decode, encode, replace

NOT_COMPARED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "throttle_time_ms": "quotas are not part of the in-process broker",
        "host": "addresses belong to the machine",
        "port": "the same",
        "rack": "the recorded brokers had none",
        "client_host": "the same",
        "cluster_id": "made anew for each cluster",
        "topic_id": "the same",
        "controller_id": "the recorded clusters had a controller of their own",
        "error_message": "prose",
        "api_keys": "only what is served is advertised",
        "producer_id": "drawn by the broker; requests are rewritten",
        "supported_features": "features of KRaft, which is not simulated",
        "finalized_features": "the same",
        "finalized_features_epoch": "the same",
        "authorized_operations": "there are no ACLs",
        "cluster_authorized_operations": "there are no ACLs",
        "topic_authorized_operations": "there are no ACLs",
    }
)
"""Field -> why it is not compared."""

_UNORDERED: Final = frozenset({"topics", "partitions", "groups", "brokers", "coordinators"})


def differences(recorded: Message, ours: Message, version: int) -> list[str]:
    """Return one line per field that differs; ours is read back from its bytes first."""
    read = decode(type(recorded), version, encode(ours, version))
    return _differ("", _tree(recorded), _tree(read))


_member_id = attrgetter("member_id")


def _tree(value: Any) -> Any:
    if isinstance(value, ConsumerGroupDescribeDescribedGroup):
        value = replace(value, members=tuple(sorted(value.members, key=_member_id)))
    if isinstance(value, Message):
        return {
            name: _list(name, getattr(value, name))
            for name in value.FIELDS
            if name not in NOT_COMPARED
        }
    if isinstance(value, tuple):
        return [_tree(each) for each in value]
    return bytes(value) if isinstance(value, memoryview) else value


def _list(name: str, value: Any) -> Any:
    tree = _tree(value)
    return sorted(tree, key=repr) if name in _UNORDERED and isinstance(tree, list) else tree


def _differ(path: str, recorded: Any, ours: Any) -> list[str]:
    if isinstance(recorded, dict) and isinstance(ours, dict):
        return [
            line
            for name in recorded
            for line in _differ(f"{path}.{name}", recorded[name], ours[name])
        ]
    same_length = isinstance(recorded, list) and len(recorded) == len(ours)
    if same_length and all(isinstance(each, dict) for each in recorded):
        pairs = enumerate(zip(recorded, ours, strict=True))
        return [line for at, (one, two) in pairs for line in _differ(f"{path}[{at}]", one, two)]
    if recorded == ours:
        return []
    return [f"{path}: recorded {recorded!r}, ours {ours!r}"]

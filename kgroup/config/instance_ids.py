"""Whether a group instance id is one that a restart would change.

Decides: which ids look made up anew for each process: UUIDs, hashes, times, process ids.
Never: refuses one; a doubt is logged when the consumer is entered.
KIPs: 345. An id that changes makes each restart a newcomer beside a dead member: two rebalances
where there should be none, and nobody reads the dead one's partitions until its session ends.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

_SAFE: Final = "[bcdfghjklmnpqrstvwxz2456789]"
"""The letters and digits Kubernetes makes names of: without vowels, 0, 1 and 3."""

_UUID: Final = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}(?![0-9a-f])",
    re.IGNORECASE,
)
_DEPLOYMENT: Final = re.compile(rf"-{_SAFE}{{6,10}}-{_SAFE}{{5}}$")
_POD: Final = re.compile(rf"-({_SAFE}{{5}})$")
_HEX: Final = re.compile(r"(?:^|[-_.:@])([0-9a-f]{8,})$", re.IGNORECASE)
_DATE: Final = re.compile(r"(?<!\d)20\d\d-?[01]\d-?[0-3]\d[T_. -]?[0-2]\d[-:]?[0-5]\d")
_EPOCH: Final = re.compile(r"(?<!\d)1[5-9]\d{8}(?:\.?\d{3}|\.?\d{6}|\.?\d{9})?(?!\d)")
_PID_WORD: Final = re.compile(r"(?:^|[-_.:@])pid[-_.:=]?\d+", re.IGNORECASE)
_LOW_PID: Final = 1000
"""In a container the process ids are low and the same at each start, like an ordinal."""


def _pod(text: str) -> bool:
    """Tell whether it ends like a pod of a DaemonSet or a Job, and unlike `-rack2` or `-plant`."""
    found = _POD.search(text)
    return found is not None and re.search(r"\d[a-z]", found[1]) is not None


def _hex(text: str) -> bool:
    """Tell whether it ends in a hash: letters and digits mixed, so no word and no number."""
    found = _HEX.search(text)
    return found is not None and re.search(r"\d", found[1]) is not None and not found[1].isdigit()


_KINDS: Final[Mapping[str, Callable[[str], object]]] = MappingProxyType(
    {
        "a UUID": _UUID.search,
        "the hash of a Kubernetes Deployment's pod": _DEPLOYMENT.search,
        "the suffix of a Kubernetes pod": _pod,
        "a hash": _hex,
        "a time": lambda text: _DATE.search(text) or _EPOCH.search(text),
        "a process id": _PID_WORD.search,
    }
)


def doubts_about_instance_id(instance_id: str | None, pid: int) -> tuple[str, ...]:
    """Return why an instance id probably is not the same after a restart; nothing without a doubt.

    Args:
        instance_id: None for a dynamic member.
        pid: of this process.
    """
    if instance_id is None:
        return ()
    kind = next((name for name, looks in _KINDS.items() if looks(instance_id)), None)
    numbers = re.findall(r"\d+", instance_id)
    if kind is None and pid >= _LOW_PID and str(pid) in numbers:
        kind = "this process's id"
    if kind is None:
        return ()
    doubt = (
        f"group_instance_id ({instance_id!r}) holds what looks like {kind}, so a restart would "
        "change it: each one leaves a dead member behind, whose partitions nobody reads until its "
        "session ends. Take a name that stays, such as the ordinal of a StatefulSet, or none"
    )
    return (doubt,)

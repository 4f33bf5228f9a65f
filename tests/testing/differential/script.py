"""What the members of one group will do, as data.

A script names nobody by id, because ids are made by the broker. `member` and `generation` of a
request are words that are looked up when it is sent:

    member      "" none | "own" | "old" own former id | "of B" what B has | "ghost" nobody's id
    generation  "own" of the last join answer | "group" newest in any answer | a number;
                each may be followed by "+1" or "-1"

Times are seconds since the start; `session` and `rebalance` are time-outs in seconds.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

TOPICS: Final = ("diff-t", "diff-u")
"""Topics that exist, with two partitions each."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How the broker is configured.

    Args:
        delay: group.initial.rebalance.delay.ms, in seconds.
        max_size: group.max.size, None = without limit.
    """

    delay: float = 0.0
    max_size: int | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """One assignor of a JoinGroup.

    Args:
        name: of the assignor.
        topics: subscribed.
        mark: number within the script that makes the bytes its own.
        fault: "" or how the bytes are spoiled: "empty", "cut" or "count" (nobody can read them).
    """

    name: str
    topics: tuple[str, ...]
    mark: int
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    version: int
    member: str
    instance: str | None
    protocol_type: str
    offers: tuple[Offer, ...]
    session: float
    rebalance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """`names`: "right", "null", "type" (wrong) or "name" (wrong). `parts`: "due" (all members' if
    one leads, else none), "none", "half", "strangers" (all and a ghost's) or "forged" (one's own,
    leader or not)."""

    version: int
    member: str
    generation: str
    instance: str | None
    names: str = "right"
    parts: str = "due"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    version: int
    member: str
    generation: str
    instance: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """`metadata`: how many characters, None = null. `topics`: each with partition 0 and 1."""

    version: int
    member: str
    generation: str
    instance: str | None
    topics: tuple[str, ...]
    offset: int
    metadata: int | None = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """`topics`: None = all that have offsets."""

    version: int
    topics: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Leaving:
    member: str
    instance: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    version: int
    members: tuple[Leaving, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroup:
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDelete:
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Close:
    """The connection is closed; the next request on it opens another."""


Ask: TypeAlias = (
    Join | Sync | Heartbeat | Commit | Fetch | Leave | DeleteGroup | OffsetDelete | Close
)

KINDS: Final[dict[str, type[Any]]] = {
    cls.__name__: cls
    for cls in (Join, Sync, Heartbeat, Commit, Fetch, Leave, DeleteGroup, OffsetDelete, Close)
}


@dataclass(frozen=True, slots=True)
class Step:
    """One request.

    Args:
        at: seconds since the start.
        actor: the sender; also its client id.
        connection: on which of its connections.
        ask: what.
    """

    at: float
    actor: str
    connection: int
    ask: Ask


@dataclass(frozen=True, slots=True)
class Script:
    """Everything that happens to one group.

    Args:
        seed: that it was drawn from.
        setting: of the broker it is for.
        steps: in order of time.
        until: how long to go on listening.
    """

    seed: int
    setting: Setting
    steps: tuple[Step, ...]
    until: float


def to_json(script: Script) -> dict[str, Any]:
    """Return what `json` can write; `from_json` reads it back."""
    document = asdict(script)
    for written, step in zip(document["steps"], script.steps, strict=True):
        written["ask"] = {"kind": type(step.ask).__name__, **written["ask"]}
    found: dict[str, Any] = json.loads(json.dumps(document))
    return found


def from_json(document: dict[str, Any]) -> Script:
    """Read what `to_json` wrote."""
    steps = tuple(_step(each) for each in document["steps"])
    return Script(document["seed"], Setting(**document["setting"]), steps, document["until"])


def _step(document: dict[str, Any]) -> Step:
    fields = dict(document["ask"])
    kind = KINDS[fields.pop("kind")]
    if kind is Join:
        offers = (Offer(**{**each, "topics": tuple(each["topics"])}) for each in fields["offers"])
        fields["offers"] = tuple(offers)
    if kind is Leave:
        fields["members"] = tuple(Leaving(**each) for each in fields["members"])
    if fields.get("topics") is not None:
        fields["topics"] = tuple(fields["topics"])
    return Step(document["at"], document["actor"], document["connection"], kind(**fields))

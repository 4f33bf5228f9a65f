"""A group as Python code, so that an author can paste what the kit found into a test.

Decides: how short the code is: what has its default is left out.
Never: prints code that makes another group than the one at hand; a test executes it.
"""

from collections.abc import Mapping, Sequence

from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.conformance.subject import Essence
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member, PartitionRacks
from kgroup.types import TopicPartition

IMPORTS = """\
from kgroup.assignors import GroupSubscription, Member, PartitionRacks
from kgroup.types import TopicPartition
"""

_Answer = GroupAssignment | Essence

LONG = 64
"""Bytes of user data that are written out; longer ones are made of their repetitions."""


def group_as_code(group: GroupSubscription, name: str = "group", *, imports: bool = True) -> str:
    """Return statements that make an equal group.

    Args:
        group: what to print.
        name: of the variable.
        imports: whether the code begins with what it needs.
    """
    members = "".join(f"        {_member(member)},\n" for member in group.members)
    topics = "".join(
        f"        {topic!r}: {_racks(racks)},\n" for topic, racks in group.topics.items()
    )
    now = f"    now={group.now!r},\n" if group.now else ""
    return (
        (IMPORTS + "\n" if imports else "")
        + f"{name} = GroupSubscription(\n"
        + f"    members=({_block(members)}),\n"
        + f"    topics={{{_block(topics)}}},\n"
        + f"{now})"
    )


def answer_as_text(answer: _Answer) -> str:
    """Return an answer in lines: what each member gets, and what is held back."""
    lines = [f"{who!r} gets {_named(given)}" for who, given in answer.partitions.items()]
    for tp, waiting in answer.withheld.items():
        lines.append(f"{tp} is withheld for {'nobody' if waiting is None else repr(waiting)}")
    lines += [f"{who!r} is sent {_bytes(data)}" for who, data in answer.user_data.items()]
    if answer.rejoin_after is not None:
        lines.append(f"another round follows after {answer.rejoin_after!r} s")
    return "\n".join(lines) or "nobody gets anything"


def two_answers(first: _Answer, second: _Answer, *names: str) -> str:
    """Return two answers below each other, each under its name."""
    shown = zip(names, (first, second), strict=True)
    return "\n".join(f"{name}:\n{indented(answer_as_text(answer))}" for name, answer in shown)


def indented(text: str) -> str:
    """Return a text moved to the right."""
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def _block(lines: str) -> str:
    return f"\n{lines}    " if lines else ""


def _member(member: Member) -> str:
    parts = [f"member_id={member.member_id!r}", f"topics={_names(member.topics)}"]
    if member.group_instance_id is not None:
        parts.append(f"group_instance_id={member.group_instance_id!r}")
    if member.rack is not None:
        parts.append(f"rack={member.rack!r}")
    if member.owned:
        parts.append(f"owned={_partitions(member.owned)}")
    if member.generation_id is not None:
        parts.append(f"generation_id={member.generation_id}")
    if member.user_data is not None:
        parts.append(f"user_data={_bytes(member.user_data)}")
    if member.version != Member(member_id="", topics=frozenset()).version:
        parts.append(f"version={member.version}")
    if member.unreadable is not None:
        parts.append(f"unreadable={member.unreadable!r}")
    return f"Member({', '.join(parts)})"


def _names(topics: frozenset[str]) -> str:
    return f"frozenset({{{', '.join(map(repr, sorted(topics)))}}})" if topics else "frozenset()"


def _partitions(partitions: Sequence[TopicPartition]) -> str:
    shown = ", ".join(f"TopicPartition({tp.topic!r}, {tp.partition})" for tp in partitions)
    return f"({shown},)"


def _racks(racks: Mapping[int, PartitionRacks]) -> str:
    numbers = tuple(racks)
    if set(racks.values()) == {PartitionRacks()}:
        regular = numbers == tuple(range(len(numbers)))
        listed = f"range({len(numbers)})" if regular else repr(numbers)
        return f"dict.fromkeys({listed}, PartitionRacks())"
    return f"{{{', '.join(f'{number}: {_places(each)}' for number, each in racks.items())}}}"


def _places(racks: PartitionRacks) -> str:
    parts = [] if racks.leader is None else [f"leader={racks.leader!r}"]
    parts += [f"replicas={_names(racks.replicas)}"] if racks.replicas else []
    return f"PartitionRacks({', '.join(parts)})"


def _bytes(data: bytes) -> str:
    if len(data) <= LONG:
        return repr(data)
    same = len(data) - len(data.lstrip(data[:1]))
    return f"{data[:1]!r} * {same}" + (f" + {data[same:]!r}" if data[same:] else "")


def _named(given: Sequence[TopicPartition]) -> str:
    return " ".join(map(str, given)) or "nothing"

"""Boards for tests: a group of two that owns four partitions."""

from kgroup.demo.board import Board, Status


def status(
    *partitions: int,
    generation: int = 1,
    positions: dict[int, int] | None = None,
    state: str = "stable",
    cause: str | None = None,
) -> Status:
    return Status(
        state=state,
        generation=generation,
        partitions=partitions,
        positions=positions or {},
        records=sum((positions or {}).values()),
        cause=cause,
    )


def two_members() -> Board:
    board = Board(partitions=4)
    for label, instance, owned in (("m1", None, (0, 1)), ("static", "i", (2, 3))):
        board = board.with_member(label, instance, f"{label} is started")
        board = board.with_status(label, status(*owned, positions=dict.fromkeys(owned, 10)))
    return board.with_ends(dict.fromkeys(range(4), 15))

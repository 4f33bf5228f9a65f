"""Records that cannot be read: fetched again a few times, then an error until a seek.

Decides: what damage does to its partition, found in an answer or later when records are read.
Never: skips records that could not be read; touches another partition; fetches again when another
answer would be the same: a codec's library is missing, or records contradict a right checksum.

Bytes may be damaged on the way, or on one replica's disk, so another Fetch may get a better answer:
from the same broker, or from the next leader.
"""

import logging
from typing import Final

from kgroup.consumer.buffer.chunk import Chunk
from kgroup.consumer.buffer.owned import Owned
from kgroup.errors import CorruptRecordError, DecodeError, UnsupportedCodecError
from kgroup.offsets.positions import Sought
from kgroup.types import TopicPartition

log = logging.getLogger(__name__)

REFETCHES: Final = 3
"""How often damaged records are asked for again before the error is raised."""


def asks_again(owned: Owned, chunk: Chunk, asked: int) -> bool:
    """Take the damage out of an answer when it is to be asked for again, after a pause.

    Args:
        owned: whose answer.
        chunk: the answer; keeps its error when it has been asked for often enough.
        asked: first offset that was asked for.
    """
    if chunk.next_offset > asked:
        owned.refetches = 0
    error = chunk.error
    if not isinstance(error, CorruptRecordError) or owned.refetches >= REFETCHES:
        return False
    if not owned.refetches:
        text = "partition=%s offset=%d: damaged records, asked for again: %s"
        log.warning(text, owned.tp, chunk.next_offset, error)
    owned.refetches += 1
    chunk.error = None
    return True


def stop(owned: Owned, chunk: Chunk) -> None:
    """Hand out nothing behind the error that ends a chunk, until a seek.

    1. A batch has a right checksum, and fetching goes on behind it; 2. its records turn out to be
    unreadable when they are wanted; 3. what was fetched since, or is on its way, is not next.
    """
    assert chunk.error is not None
    owned.chunks.clear()
    if owned.position.offset != chunk.at:
        owned.position = owned.position.after(Sought(chunk.at))
    owned.fail(_located(chunk.error, owned.tp), blocked=True)


def _located(error: DecodeError, tp: TopicPartition) -> DecodeError:
    """Return the error with its partition, and the way out."""
    what, reason = f"{tp}, {error.what}", f"{error.reason}; seek past it to go on without it"
    located: DecodeError
    match error:
        case CorruptRecordError(base_offset=offset, position=at):
            located = CorruptRecordError(what, reason, position=at, base_offset=offset)
        case UnsupportedCodecError(position=at):
            located = UnsupportedCodecError(what, reason, position=at)
        case _:
            located = DecodeError(what, reason, position=error.position)
    located.__cause__ = error
    return located

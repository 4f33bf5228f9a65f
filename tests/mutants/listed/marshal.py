"""Mutants of Marshal mode: what a record of the coordination log does to its key."""

from tests.mutants.mutant import Change, Mutant, Stage

__all__ = ["MARSHAL"]

_DOUBLES = "at-most-once never doubles"
_LOSES = "at-least-once never loses"
_APART = "leases keep owners apart"
_REST = "all come to rest"


def _mutant(name: str, module: str, old: str, new: str, rule: str) -> Mutant:
    changes = (Change(old, new),)
    module = f"kgroup.marshal.{module}"
    return Mutant(name=name, module=module, changes=changes, rule=rule, stage=Stage.LOGS)


MARSHAL = (
    _mutant(
        "a heartbeat under a higher epoch is not believed",
        "transitions",
        "    if epoch > state.epoch:\n",
        "    if peer is None and epoch > state.epoch:\n",
        _DOUBLES,
    ),
    _mutant(
        "a claim begins no epoch",
        "transitions",
        "    state.epoch = at.offset\n",
        "    state.epoch = max(state.epoch, 0)\n",
        _REST,
    ),
    _mutant(
        "a claim is accepted whoever has the key",
        "transitions",
        "        return not state.owned_at(at.time)\n",
        "        return True\n",
        _APART,
    ),
    _mutant(
        "a heartbeat does not renew the lease",
        "transitions",
        "    state.beat = max(state.beat, time)\n",
        "",
        _APART,
    ),
    _mutant(
        "a lease lasts one interval, not two",
        "transitions",
        "else 2 * interval * _MS",
        "else interval * _MS",
        _APART,
    ),
    _mutant(
        "an offset is read as that of the last record, not of the next",
        "messages",
        "else _integer(fields[8])\n",
        "else (_integer(fields[8]) or 0) + 1\n",
        _LOSES,
    ),
    _mutant(
        "the end of a pause is taken for its length",
        "world",
        "        seconds = min(max(message.tail - message.time, 0), _LONGEST_PAUSE)\n",
        "        seconds = min(max(message.tail, 0), _LONGEST_PAUSE)\n",
        _REST,
    ),
)
"""Of the reducer; each is found by drawn logs (`tests.marshal.model`)."""

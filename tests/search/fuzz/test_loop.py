"""The loop notices what it is there to notice, and says the same thing twice."""

import json
import os
import signal
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from kgroup.errors import DecodeError
from tests.search.fuzz import loop
from tests.search.fuzz.__main__ import main
from tests.search.fuzz.loop import SAMPLED, replay, run
from tests.search.fuzz.mutation import LARGEST, inputs
from tests.search.fuzz.target import MIB, Broken, Target, sure

SEEDS = [b"abc", b"0123456789abcdef", bytes(range(40)), bytes(range(90))]


def target(check: Callable[[bytes], object], **more: Any) -> Target:
    def judge(data: bytes) -> bool:
        check(data)
        return True

    return Target(name="T0", about="a test", corpus=lambda: SEEDS, check=judge, read=check, **more)


# -- inputs --------------------------------------------------------------------------------------


def some(seed: int) -> list[bytes]:
    return [each for batch in islice(inputs(SEEDS, seed, batch=50), 20) for each in batch]


def test_the_same_seed_gives_the_same_inputs() -> None:
    assert some(1) == some(1)
    assert some(1) != some(2)


def test_inputs_begin_with_the_corpus_as_it_is_and_then_differ() -> None:
    drawn = some(3)
    assert sorted(drawn[: len(SEEDS)]) == sorted(SEEDS)
    assert len(set(drawn)) > len(drawn) / 2


def test_no_input_grows_without_bound() -> None:
    seeds = [b"x" * LARGEST]
    drawn = [each for batch in islice(inputs(seeds, 1, batch=20), 5) for each in batch]
    assert max(map(len, drawn)) <= LARGEST


# -- findings ------------------------------------------------------------------------------------


def test_nothing_is_found_where_every_promise_is_kept() -> None:
    score = run(target(len), 500, 1)
    assert score.inputs == score.accepted == 500
    assert not score.kinds


def test_whatever_escapes_is_a_finding_and_the_first_of_a_kind_are_kept() -> None:
    def check(data: bytes) -> None:
        if len(data) > 3:
            raise KeyError(data)

    score = run(target(check), 500, 1)
    assert score.inputs == 500
    (kind,) = score.kinds
    assert "KeyError at tests/search/fuzz/test_loop.py:check" in kind
    assert score.kinds[kind] > len(score.findings) == 2
    assert all(len(finding.data) > 3 for finding in score.findings)


def test_a_decode_error_that_escapes_a_check_is_a_finding() -> None:
    def check(_: bytes) -> None:
        raise DecodeError("this", "that")

    assert run(target(check), 3, 1).kinds.total() == 3


def test_a_panic_of_a_library_is_a_finding() -> None:
    class Panic(BaseException):
        pass

    def check(_: bytes) -> None:
        raise Panic

    assert run(target(check), 3, 1).kinds.total() == 3


def test_a_broken_promise_is_named_by_what_was_promised() -> None:
    score = run(target(lambda data: sure(len(data) < 3, "short", data)), 100, 1)
    assert list(score.kinds) == ["Broken short"]


def test_reading_that_takes_too_long_is_a_finding() -> None:
    def check(_: bytes) -> None:
        sum(range(2_000_000))  # long enough for any clock of processor time

    score = run(target(check, patience=lambda _: 0.001), 1, 1)
    assert score.kinds.total() == 1
    assert list(score.kinds) == ["Broken slow"]


def test_reading_that_takes_too_much_memory_is_a_finding() -> None:
    score = run(target(lambda _: bytearray(2 * MIB)), SAMPLED, 1)
    assert score.sampled == 1
    assert list(score.kinds) == ["Broken large"]


@pytest.mark.slow
def test_an_input_that_does_not_end_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "HANGS", 0.2)

    def check(data: bytes) -> None:
        while len(data) == 3:
            pass

    score = run(target(check), 10, 1)
    assert "no end" in next(iter(score.kinds))
    assert score.inputs == 10


def test_an_interrupt_ends_a_run_with_what_was_done() -> None:
    def check(_: bytes) -> None:
        if len(judged) == 400:
            os.kill(os.getpid(), signal.SIGINT)
        judged.append(1)

    judged: list[int] = []
    assert 250 <= run(target(check), 10_000, 1).inputs <= 500


def test_a_saved_input_that_still_breaks_a_promise_fails() -> None:
    with pytest.raises(Broken, match="allocates"):
        replay(target(lambda _: bytearray(2 * MIB)), b"")


def test_runs_of_one_seed_can_share_its_inputs() -> None:
    seen: list[bytes] = []
    collecting = target(seen.append, room=None, patience=lambda _: 9.0)
    run(collecting, 700, 1)
    whole = seen.copy()
    seen.clear()
    for start, count in ((0, 260), (260, 240), (500, 200)):
        run(collecting, count, 1, start=start)
    assert seen == whole


# -- the command ---------------------------------------------------------------------------------


def test_the_command_reports_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["t6", "--inputs", "300", "--json"]) == 0
    out, err = capsys.readouterr()
    (document,) = json.loads(out)
    assert document["target"] == "T6"
    assert document["inputs"] == 300
    assert "300 inputs from seed 1" in err


def test_the_command_takes_more_inputs_to_begin_with_and_saves_what_breaks_a_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(data: bytes) -> None:
        sure(data != b"mine", "not this one")

    monkeypatch.setattr("tests.search.fuzz.__main__.TARGETS", {"T0": target(check)})
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "one").write_bytes(b"mine")
    folders = ["--corpus", str(tmp_path / "more"), "--crashers", str(tmp_path / "crashers")]
    assert main(["T0", "--inputs", "20", *folders]) == 1
    (saved,) = (tmp_path / "crashers").rglob("*.bin")
    assert saved.read_bytes() == b"mine"


def test_the_command_names_the_targets_there_are() -> None:
    with pytest.raises(SystemExit, match="T1, T2"):
        main(["T99"])

"""The vectors of this repository are the ones they were copied from, byte for byte."""

import gzip
from pathlib import Path

import pytest

from tests.vectors import HERE

ORIGINALS = Path(__file__).parents[3] / "shared" / "vectors"

COPIES = sorted(path.relative_to(HERE).as_posix() for path in HERE.rglob("*.gz"))


@pytest.mark.skipif(not ORIGINALS.is_dir(), reason="the originals are not beside this checkout")
@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_of_a_vector_file_equals_its_original(copy: str) -> None:
    original = ORIGINALS / copy.removesuffix(".gz")
    packed = ORIGINALS / copy
    expected = original.read_bytes() if original.is_file() else gzip.decompress(packed.read_bytes())
    assert gzip.decompress((HERE / copy).read_bytes()) == expected


def test_no_vector_file_is_empty() -> None:
    empty = [copy for copy in COPIES if not gzip.decompress((HERE / copy).read_bytes()).strip()]
    assert COPIES
    assert not empty

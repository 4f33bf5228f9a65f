"""Where the cache is."""

from pathlib import Path

import pytest

from kgroup.testing.kafka.jars import cache_folder


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"KGROUP_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, Path("/a")),
        ({"XDG_CACHE_HOME": "/b"}, Path("/b/kgroup")),
        ({}, Path.home() / ".cache" / "kgroup"),
        ({"KGROUP_CACHE": "", "XDG_CACHE_HOME": ""}, Path.home() / ".cache" / "kgroup"),
    ],
)
def test_the_nearest_setting_names_the_folder(environ: dict[str, str], expected: Path) -> None:
    assert cache_folder(environ) == expected

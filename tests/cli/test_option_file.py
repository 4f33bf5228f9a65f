"""Options out of a file."""

from pathlib import Path

import pytest

from kgroup.cli.connecting import read_options
from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError


def written(tmp_path: Path, text: str, name: str = "client.properties") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_lines_are_read_as_each_option_wants_them(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        # who we are
        bootstrap.servers = one:9092,two
        group.id = 42
        check.crcs = false
        request-timeout = 2.5
        fetch_max_bytes=1000
        assignors = range, sticky
        client_rack = a=b
        """,
    )
    options = read_options(path)
    assert options["group_id"] == "42"
    config = ConsumerConfig.of(options)
    assert config.bootstrap_servers == ("one:9092", "two:9092")
    assert (config.check_crcs, config.request_timeout) == (False, 2.5)
    assert (config.fetch_max_bytes, config.client_rack) == (1000, "a=b")
    assert config.assignors == ("range", "sticky")


def test_toml_is_read_with_its_own_types(tmp_path: Path) -> None:
    path = written(tmp_path, 'group_id = "g"\nrequest_timeout = 3\n', "client.toml")
    assert read_options(path) == {"group_id": "g", "request_timeout": 3}


@pytest.mark.parametrize("name", ["client.properties", "client.toml"])
def test_an_unknown_name_is_refused_with_the_nearest_and_without_its_value(
    tmp_path: Path, name: str
) -> None:
    path = written(tmp_path, 'grup_id = "hunter2"\n', name)
    with pytest.raises(ConfigError, match="did you mean 'group_id'") as caught:
        read_options(path)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.properties", "group_id", "line 1 is no 'name = value'"),
        ("a.toml", "x = 1\ny = [", "Unclosed array|Invalid value"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(
    tmp_path: Path, name: str, text: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        read_options(written(tmp_path, text, name))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.toml.*No such file"):
        read_options(tmp_path / "missing.toml")


def test_a_value_no_reading_fits_is_refused_by_the_option(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"check_crcs.*True or False"):
        read_options(written(tmp_path, "check_crcs = perhaps"))

"""The import contracts cover every pure room there is."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

PURE_ROOMS = {
    *("membership", "marshal", "machine", "offsets", "assignors", "wire", "journal"),
    *("consumer_group", "errors", "types", "codes"),
}

IMPURE_PARTS = {
    *("server", "inprocess", "handles", "handles_group", "waiting"),
    *("__init__", "__pycache__"),
}


def covered_by(contract: str) -> set[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {one["id"]: one for one in settings["tool"]["importlinter"]["contracts"]}
    return set(contracts[contract]["source_modules"])


def test_the_contract_covers_every_pure_room() -> None:
    present = {path.name.removesuffix(".py") for path in (ROOT / "kgroup").iterdir()}
    missing = {f"kgroup.{room}" for room in PURE_ROOMS & present} - covered_by("pure")
    assert not missing, f"name them in the contract `pure` of pyproject.toml: {missing}"


def test_every_part_of_the_in_process_broker_is_pure_but_its_servers_and_its_handles() -> None:
    covered = covered_by("in-process-broker")
    folder = ROOT / "kgroup" / "testing" / "broker"
    parts = {path.name.removesuffix(".py") for path in folder.iterdir()}
    missing = {f"kgroup.testing.broker.{part}" for part in parts - IMPURE_PARTS} - covered
    assert not missing, f"name them in the contract `in-process-broker`: {missing}"

"""Every rule of the broker names a proof that is there, and every recording proves a rule."""

import re
from pathlib import Path

import pytest

from tests.house.broker_page import traces_of
from tests.testing.broker.rules import RULES, SECTIONS, Rule
from tests.testing.broker.traces.recorded import names

HERE = Path(__file__).parent
LISTED = (*(f"R{number}" for number in range(1, 20)), *"ABCDEFGKSW")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_proofs_of_a_rule_are_there(rule: Rule) -> None:
    assert rule.proof
    for proof in rule.proof:
        file, _, test = proof.partition("::")
        if test:
            text = (HERE / f"{file}.py").read_text(encoding="utf-8")
            assert re.search(rf"^(async )?def {test}\(", text, re.MULTILINE), proof
        else:
            assert traces_of(proof, rule.coordinator), proof


def test_every_recording_proves_a_rule() -> None:
    proved = {
        name
        for rule in RULES
        for proof in rule.proof
        if "::" not in proof
        for name in traces_of(proof, rule.coordinator)
    }
    assert proved == {*names()}


def test_a_rule_has_an_id_of_its_own_and_one_sentence() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert not [rule.id for rule in RULES if not rule.what.endswith(".")]


def test_every_section_has_rules() -> None:
    assert not [title for title, rules in SECTIONS.items() if not rules]


def test_every_group_of_sources_is_covered() -> None:
    sources = " ".join(rule.source for rule in RULES)
    missing = [name for name in LISTED if not re.search(rf"\b{name}(?!\d*[a-z-])", sources)]
    assert not missing

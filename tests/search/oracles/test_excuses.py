import re
from pathlib import Path

import pytest

from tests.search.oracles.catalogue import CATALOGUE
from tests.search.oracles.excuses import EXCUSES

HERE = Path(__file__).parent
ORACLES = sorted(
    {
        Path(f"{kind.__module__.replace('.', '/')}.py").name
        for promise in CATALOGUE
        for kind in promise.oracles
        if kind.__module__.startswith("tests.")
    }
)
HELPERS = ("awaited.py", "key_lease.py")
TEXTS = {name: (HERE / name).read_text(encoding="utf-8") for name in (*ORACLES, *HELPERS)}


@pytest.mark.parametrize("name", EXCUSES)
def test_an_excuse_is_of_known_promises_and_says_its_steps(name: str):
    excuse = EXCUSES[name]
    assert set(excuse.rules) <= {promise.rule for promise in CATALOGUE}
    assert len(excuse.steps) > 1


@pytest.mark.parametrize("name", EXCUSES)
def test_an_excuse_is_asked_by_an_oracle(name: str):
    assert any(re.search(rf"\bexcuses\.{name}\b", text) for text in TEXTS.values())


@pytest.mark.parametrize("name", TEXTS)
def test_an_oracle_has_no_steps_of_its_own(name: str):
    assert not re.search(r"\b1\. .*\b2\. ", TEXTS[name], re.DOTALL)


@pytest.mark.parametrize("name", ORACLES)
def test_an_oracle_fits_on_few_pages_and_begins_with_its_promise(name: str):
    lines = TEXTS[name].splitlines()
    assert len(lines) <= 200
    assert re.match(r'"""[A-Z]\d', lines[0])

"""The example of `docs/blocking.md` does what it says."""

import re
from pathlib import Path

import pytest

from kgroup.testing import InProcessBroker

PAGE = Path(__file__).parents[2] / "docs" / "blocking.md"


def test_the_example_reads_every_record_and_commits(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    broker = InProcessBroker(topics={"orders": 1})
    broker.partition("orders").append("a", "b", "c")
    with broker.serve() as served:
        program = example.replace("localhost:9092", served.bootstrap)
        exec(compile(program.replace("timeout=5.0", "timeout=1.0"), str(PAGE), "exec"), {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["orders-0"] * 3
    assert broker.group("billing").committed == {("orders", 0): 3}

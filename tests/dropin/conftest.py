"""A peer in small: an installed library, a source tree with tests, and the list of them."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

LIBRARY = {
    "__init__.py": "from peerlib.consumer import Consumer",
    "client.py": """
        class Client:
            def __init__(self):
                self.open = True
    """,
    "consumer.py": """
        from peerlib.client import Client

        class Consumer:
            def __init__(self, topic):
                self.client = Client()
                self.topic = topic

            def name(self):
                return "original"
    """,
}

LIST = """
    peer = "pytest"
    trees = ["1.0"]
    installed = ["{installed}"]
    version_file = "peerlib/__init__.py"
    obtain = "fetch the tree of 1.0"
    facade = "facades:Good"
    original = "peerlib.consumer:Consumer"
    places = ["peerlib:Consumer"]
    portable = 3
    limit_attribute = "LIMIT"
    guarded = ["peerlib.client:Client"]

    [files."suite/test_consumer.py"]
    test_private = "reads consumer._client"
"""

FACADES = """
    import peerlib.consumer

    class Good:
        def __init__(self, topic):
            self.topic = topic

        def name(self):
            return "facade"

    class Worse(Good):
        def name(self):
            return "unknown"

    class Thin(peerlib.consumer.Consumer):
        pass
"""

TESTS = """
    import pytest
    from peerlib import Consumer

    def test_private():
        assert Consumer("t").client

    def test_topic():
        assert Consumer("t").topic == "t"

    def test_name():
        assert Consumer("t").name() in {"original", "facade"}

    def test_the_client_closes(closing):
        assert closing
"""

CONFTEST = """
    import pytest
    from peerlib import Consumer

    @pytest.fixture(scope="session")
    def kafka_image():
        raise AssertionError("the suite's own fixture would start a container")

    @pytest.fixture
    def closing():
        yield Consumer("t")
"""


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the peer and the facades are installed: outside the tree."""
    folder = tmp_path_factory.mktemp("site-packages")
    for name, text in LIBRARY.items():
        write(folder / "peerlib" / name, text)
    write(folder / "facades.py", FACADES)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delenv("KGROUP_DROPIN", raising=False)
    return folder


@pytest.fixture
def tree(pytester: pytest.Pytester, site: Path) -> Path:
    """A source tree with tests, and beside them their list."""
    root = pytester.path
    write(root / "peerlib" / "__init__.py", '__version__ = "1.0"')
    write(root / "suite" / "__init__.py", "")
    write(root / "suite" / "conftest.py", CONFTEST)
    write(root / "suite" / "test_consumer.py", TESTS)
    write(root / "list.toml", LIST.format(installed=pytest.__version__))
    write(
        root / "pytest.ini",
        "[pytest]\nasyncio_mode = auto\naddopts = --strict-config\nmarkers = ssl",
    )
    return root


@pytest.fixture
def run(pytester: pytest.Pytester, tree: Path) -> Callable[..., pytest.RunResult]:
    """Run the tests of the tree with the plug-in, in this process."""

    def start(*words: str) -> pytest.RunResult:
        plugin = ("-p", "tests.dropin.aiokafka_plugin", "-p", "no:cacheprovider")
        return pytester.runpytest_inprocess(*plugin, "--dropin-list", "list.toml", *words)

    return start


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")

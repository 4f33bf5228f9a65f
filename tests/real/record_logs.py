"""Records what real brokers say about logs and transactions: `python -m tests.real.record_logs`."""

from kgroup.testing.kafka import RealKafka
from tests.real.ground import fresh
from tests.real.log_sides import real
from tests.testing.broker.talks.gallery import CONVERSATIONS
from tests.testing.broker.talks.recorded import RELEASES, record
from tests.testing.broker.talks.talk import Said, Talk


def said_by(kafka: RealKafka, release: str, conversation: str) -> Said:
    """Hold one conversation with a real broker."""
    with real(kafka.bootstrap) as side:
        talk = Talk(side, release.startswith("4"), fresh("x"))
        CONVERSATIONS[conversation](talk)
    return talk.said


def main() -> None:
    """Hold them all, with every release."""
    for release in RELEASES:
        with RealKafka.start(release) as kafka:
            record(release, [(name, said_by(kafka, release, name)) for name in CONVERSATIONS])


if __name__ == "__main__":
    main()

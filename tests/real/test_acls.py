"""Rules of access on a secured Kafka: when a broker carries out what was added or removed."""

import pytest

from kgroup.testing.kafka import Acl, AclOperation, AclResource, RealKafka, add_acls, remove_acls
from kgroup.testing.kafka.secured import acls_stand
from tests.real.ground import eventually, fresh

pytestmark = pytest.mark.real


async def test_a_rule_that_was_added_stands_soon_and_one_that_was_removed_no_more(
    kafka_secure: RealKafka,
) -> None:
    bootstrap, name = kafka_secure.bootstrap, fresh("group")
    denial = Acl("alice", AclResource.GROUP, name, AclOperation.READ, allowed=False)
    grant = Acl("alice", AclResource.GROUP, name, AclOperation.READ)
    assert not acls_stand(bootstrap, denial)
    add_acls(bootstrap, denial)
    await eventually(lambda: acls_stand(bootstrap, denial), "the rule stands")
    assert not acls_stand(bootstrap, denial, grant)
    remove_acls(bootstrap, denial)
    await eventually(lambda: not acls_stand(bootstrap, denial), "it stands no more")

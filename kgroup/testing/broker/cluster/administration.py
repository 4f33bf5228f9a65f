"""CreateTopics, DeleteTopics and CreatePartitions.

Decides: what is refused, with the codes and words of real controllers, and that what is granted is
there when the answer leaves, on every broker.
Never: makes, widens or deletes Kafka's own topics: the groups hang on them.
KIPs: 4, 195, 464 (defaults), 516 (by id), 525 (what was made is shown).
"""

from collections import Counter
from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked, Handler
from kgroup.testing.broker.cluster.assignments import (
    Placement,
    placement_of_new,
    placement_of_wider,
)
from kgroup.testing.broker.cluster.cluster import (
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    Cluster,
    Topic,
)
from kgroup.testing.broker.cluster.configuring import settings_made
from kgroup.testing.broker.cluster.topics import Refusal, collision, fault_of_name, fault_of_value
from kgroup.wire.messages import (
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kgroup.wire.schema import Request

_NO_ID: Final = bytes(16)
_BY_ID_SINCE: Final = 6
_KAFKAS_OWN: Final = ("__cluster_metadata", OFFSETS_TOPIC, TRANSACTIONS_TOPIC)
_TWICE: Final = Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


class Administration:
    """Answers what administrators ask about topics.

    Args:
        cluster: where the topics are.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {
            CreateTopicsRequest: self.create_topics,
            DeleteTopicsRequest: self.delete_topics,
            CreatePartitionsRequest: self.create_partitions,
        }

    # -- making ----------------------------------------------------------------------------------

    def create_topics(self, asked: Asked, request: CreateTopicsRequest) -> CreateTopicsResponse:
        """Answer CreateTopics: each topic for itself."""
        del asked  # any broker passes it on to the controller
        times = Counter(each.name for each in request.topics)
        once = (each for each in request.topics if times[each.name] == 1)
        rows = [self._made(each, validate_only=request.validate_only) for each in once]
        rows += [_not_made(name, _TWICE) for name in times if times[name] > 1]
        return CreateTopicsResponse(topics=tuple(rows))

    def _made(self, wanted: CreatableTopic, *, validate_only: bool) -> CreatableTopicResult:
        refusal = self._refusal(wanted)
        if refusal is not None:
            return _not_made(wanted.name, refusal)
        placement = placement_of_new(self._cluster, wanted)
        if isinstance(placement, Refusal):
            return _not_made(wanted.name, placement)
        configs = {each.name: each.value or "" for each in wanted.configs}
        if validate_only:
            topic = Topic(wanted.name, self._cluster.context.mint.uuid(), configs=configs)
        else:
            topic = self._cluster.create_topic(wanted.name, configs=configs, placement=placement)
        return self._shown(topic, placement)

    def _refusal(self, wanted: CreatableTopic) -> Refusal | None:
        name = wanted.name
        fault = fault_of_name(name)
        if fault is not None:
            return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
        if self._cluster.topic(name) is not None:
            return Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if name in _KAFKAS_OWN:
            return Refusal(
                ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited."
            )
        other = collision(name, self._cluster.topics)
        if other is not None:
            text = f"Topic '{name}' collides with existing topic: {other}"
            return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, text)
        return _fault_of_configs(wanted)

    def _shown(self, topic: Topic, placement: Placement) -> CreatableTopicResult:
        return CreatableTopicResult(
            name=topic.name,
            topic_id=topic.topic_id,
            num_partitions=len(placement),
            replication_factor=len(placement[0]),
            configs=settings_made(topic, self._cluster.context.settings),
        )

    def create_partitions(
        self, asked: Asked, request: CreatePartitionsRequest
    ) -> CreatePartitionsResponse:
        """Answer CreatePartitions: each topic for itself."""
        del asked  # any broker passes it on to the controller
        times = Counter(each.name for each in request.topics)
        rows = [_widened(name, _TWICE) for name in times if times[name] > 1]
        for wanted in request.topics:
            if times[wanted.name] > 1:
                continue
            placement = placement_of_wider(self._cluster, wanted)
            if isinstance(placement, Refusal):
                rows.append(_widened(wanted.name, placement))
                continue
            if wanted.name in _KAFKAS_OWN:
                text = f"Internal topic {wanted.name} cannot get more partitions here."
                rows.append(_widened(wanted.name, Refusal(ErrorCode.INVALID_REQUEST, text)))
                continue
            if not request.validate_only:
                self._cluster.add_partitions(wanted.name, wanted.count, placement=placement)
            rows.append(_widened(wanted.name, None))
        return CreatePartitionsResponse(results=tuple(rows))

    # -- deleting --------------------------------------------------------------------------------

    def delete_topics(self, asked: Asked, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        """Answer DeleteTopics: by name, from version 6 on also by id."""
        wanted = request.topics
        if asked.version < _BY_ID_SINCE:
            names = request.topic_names
            wanted = tuple(DeleteTopicState(name=each, topic_id=_NO_ID) for each in names)
        times = Counter(map(self._meant, wanted))
        rows = [self._deleted(each, times[self._meant(each)]) for each in dict.fromkeys(wanted)]
        return DeleteTopicsResponse(responses=tuple(rows))

    def _meant(self, wanted: DeleteTopicState) -> DeleteTopicState | str:
        """Return the name of the topic that is meant, or the row itself where there is none."""
        if wanted.topic_id == _NO_ID:
            return wanted if wanted.name is None else wanted.name
        topic = self._cluster.topic_by_id(wanted.topic_id)
        return wanted if topic is None or wanted.name is not None else topic.name

    def _deleted(self, wanted: DeleteTopicState, times: int) -> DeletableTopicResult:
        refusal = self._undeletable(wanted, times)
        name, topic_id = wanted.name, wanted.topic_id
        if refusal is None:
            meant = self._meant(wanted)
            topic = self._cluster.topics[str(meant)]
            name, topic_id = topic.name, topic.topic_id
            self._cluster.delete_topic(topic.name)
        return DeletableTopicResult(
            name=name,
            topic_id=topic_id,
            error_code=ErrorCode.NONE if refusal is None else refusal.code,
            error_message=None if refusal is None else refusal.message,
        )

    def _undeletable(self, wanted: DeleteTopicState, times: int) -> Refusal | None:
        invalid = ErrorCode.INVALID_REQUEST
        by_id = wanted.topic_id != _NO_ID
        if wanted.name is None and not by_id:
            return Refusal(invalid, "Neither topic name nor id were specified.")
        if wanted.name is not None and by_id:
            return Refusal(invalid, "You may not specify both topic name and topic id.")
        if times > 1:
            return Refusal(invalid, "Duplicate topic id.") if by_id else _TWICE
        meant = self._meant(wanted)
        if isinstance(meant, DeleteTopicState):
            return Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
        if meant not in self._cluster.topics:
            text = "This server does not host this topic-partition."
            return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        if meant in _KAFKAS_OWN:
            return Refusal(invalid, f"Deletion of internal topic {meant} is prohibited.")
        return None


def _fault_of_configs(wanted: CreatableTopic) -> Refusal | None:
    nulls = [each.name for each in wanted.configs if each.value is None]
    if nulls:
        text = f"Null value not supported for topic configs: {','.join(nulls)}"
        return Refusal(ErrorCode.INVALID_CONFIG, text)
    for each in wanted.configs:
        fault = fault_of_value(each.name, each.value or "")
        if fault is not None:
            return Refusal(ErrorCode.INVALID_CONFIG, fault)
    return None


def _not_made(name: str, refusal: Refusal) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=refusal.code, error_message=refusal.message)


def _widened(name: str, refusal: Refusal | None) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(
        name=name,
        error_code=ErrorCode.NONE if refusal is None else refusal.code,
        error_message=None if refusal is None else refusal.message,
    )

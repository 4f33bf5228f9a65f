"""The brokers of an in-process cluster, its topics, and their leaders.

- `administration`: CreateTopics, DeleteTopics and CreatePartitions
- `assignments`: Replicas that a request asks for, by hand or by number
- `cluster`: The brokers, topics and leaders of one cluster
- `configuring`: DescribeConfigs and IncrementalAlterConfigs, for topics and brokers
- `describing`: Metadata and DescribeCluster: the cluster as brokers tell it
- `elections`: The leaders of partitions when brokers die, stop and come back
- `finding`: FindCoordinator: which broker coordinates a group or a transactional id
- `topics`: Topics and their partitions, as the cluster's metadata has them
"""

"""Kafka's consumer before the group coordinator (0.8.2), and the ZooKeeper that it relied on.

No job and no command uses this package: only ``bench/herd`` runs it, for docs/zookeeper.md.

The group in ZooKeeper.  A consumer registers with an ephemeral node under
/consumers/GROUP/ids.  An ephemeral node is deleted when the session that created it is closed or
expires.  Each partition has an owner node, ephemeral too, under /consumers/GROUP/owners, and a
persistent offset node under /consumers/GROUP/offsets.

Rebalance.  There is no leader and no coordinator: every consumer watches the list of consumers and
the topics, and rebalances by itself whenever a watch fires.  It stops fetching, deletes its own
owner nodes, reads the whole group, computes its own share with a deterministic assignor, and
creates its owner nodes.  If another consumer still holds one of these nodes, the consumer releases
all its nodes, waits ``rebalance.backoff.ms`` and starts over, at most ``rebalance.max.retries``
times.

Herd effect.  One change wakes all m members, and each of them reads all m registrations: m² reads,
plus writes for every partition.

Split brain.  Each member decides from its own reads, possibly at different times or from a follower
that lags.  A consumer that is cut off from ZooKeeper, but not from the brokers, keeps
fetching after its session has expired, while others consume its partitions.  Nothing rejects its
commits.  The coordinator solved this with generations: see ``coordinator_core.coordinator``.

The model has no code for these two effects; both follow from the rules, and ``bench/herd``
measures them.

Modules, bottom up:

- ``messages``: operations, requests, replies and messages between servers.
- ``tree``, ``watches``, ``sessions``, ``server``: a ZooKeeper server.
- ``client``: a session with the ensemble, as zkclient has it.
- ``paths``, ``zk_utils``: Kafka's nodes, and operations on them.
- ``assignors``, ``consumer_state``, ``rebalance``, ``consumer``: ZookeeperConsumerConnector.
- ``virtual_network``: messages between these processes in virtual time.
- ``measurements``: traffic, and how long partitions had no owner or several.
"""

"""The consumer before the coordinator (up to 0.8.2): ZooKeeper's tree, and consumers that watch it.

Bottom up: ``tree``, ``watches`` and ``server`` are ZooKeeper; ``client`` is a session with it;
``rebalance`` and ``consumer`` are Kafka's ZookeeperConsumerConnector; ``world`` carries messages
between them in virtual time, and ``counting`` says what it cost and who owned what.
"""

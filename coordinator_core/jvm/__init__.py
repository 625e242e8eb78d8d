"""Iteration orders of the JVM's hash maps, which Kafka's answers and records depend on.

Kafka keeps members, partitions and groups in hash maps and iterates over them when it writes a
record, answers a join, picks a new leader, counts votes or expires offsets.  The protocol does
not define these orders, but a broker's records and answers depend on them, and Kafka's assignors
break ties by them.  An order follows from three things: the hash code of the key, the shape of the
table (capacity, and how a bin or trie node orders its keys), and the history of insertions and
removals, because tables grow and never shrink.

The map depends on the broker:

===========================  ==========================================================
members of a group           Scala 2.12 mutable.HashMap (to 2.2, and usually 2.5),
                             Scala 2.13 mutable.HashMap (3.9), java.util.HashMap (4.x)
partitions of a commit       java.util.HashMap or an immutable Scala map, by version
offsets of a group, groups   Scala maps up to 3.9, Kafka's TimelineHashMap from 4.0 on
assignors                    java.util.HashMap in every version
===========================  ==========================================================

hash_codes     hash codes of strings and topic partitions; the partition a group belongs to
java_maps      java.util.HashMap
hash_tables    java.util.HashMap, HashSet and PriorityQueue of any keys, with values
scala_maps     Scala 2.11, 2.12 and 2.13: mutable HashMap, immutable Map, and their conversions
timeline_maps  org.apache.kafka.timeline.TimelineHashMap, which can revert to a snapshot
strings        String.compareTo
"""

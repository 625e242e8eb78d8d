"""Versions of brokers by API versions and features; the texts are those of a broker 4.1.2."""

import pytest

from coordinator_core.log_lines.offered_versions import versions_offered
from coordinator_core.log_lines.version_ranges import text_of

JAVA = (
    "DEBUG [Consumer clientId=c, groupId=g] Node 1 has finalized features epoch: 39, finalized"
    " features: [], supported features: [], API versions: (Produce(0): 0 to {produce} [usable:"
    " {produce}], Fetch(1): 4 to {fetch} [usable: {fetch}], WriteTxnMarkers(27): 1 [usable: 1],"
    " GetTelemetrySubscriptions(71): UNSUPPORTED, DescribeProducers(61): 0 [usable: 0])."
)
TOOL = """127.0.0.1:41559 (id: 1 rack: null isFenced: false) -> (
\tFetch(1): 4 to 18 [usable: 18],
\tListOffsets(2): 1 to 10 [usable: 10],
\tOffsetCommit(8): 2 to 9 [usable: 9],
)
"""
LIBRDKAFKA = """\
%7|1795799333.277|APIVERSION|rdkafka#consumer-1| [thrd:b]: b: Broker API support:
%7|1795799333.277|APIVERSION|rdkafka#consumer-1| [thrd:b]: b:   ApiKey Fetch (1) Versions 4..18
%7|1795799333.277|APIVERSION|rdkafka#consumer-1| [thrd:b]: b: \
  ApiKey OffsetCommit (8) Versions 2..9
"""
FEATURES_OF_CLIENT = (
    "DEBUG [LegacyAdminClient clientId=admin-1] Node -1 has finalized features epoch: 39, finalized"
    " features: [FinalizedFeatureKey(name='group.version', maxVersionLevel=1, minVersionLevel=1)],"
    " supported features: [SupportedFeatureKey(name='kraft.version', minVersion=0, maxVersion=1),"
    " SupportedFeatureKey(name='metadata.version', minVersion=7, maxVersion={}),"
)
TOOL_OF_FEATURES = """\
Feature: kraft.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: 0
Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.4-IV2\t\
FinalizedVersionLevel: 3.9-IV0\tEpoch: 34
"""
DUMPED_LEVEL = (
    "| offset: 4 CreateTime: 1795799317033 keySize: -1 valueSize: 20 sequence: -1 headerKeys: []"
    ' payload: {"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"group.version",'
    '"featureLevel":1}}\n'
)
DUMPED_BROKER = (
    '| offset: 20 payload: {"type":"REGISTER_BROKER_RECORD","version":3,"data":{"brokerId":1,'
    '"features":[{"name":"group.version","minSupportedVersion":0,"maxSupportedVersion":1},'
    '{"name":"metadata.version","minSupportedVersion":7,"maxSupportedVersion":27}]}}\n'
)
REGISTERED = (
    "INFO [QuorumController id=1] Replayed initial RegisterBrokerRecord for broker 3:"
    " RegisterBrokerRecord(brokerId=3, features=[BrokerFeature(name='kraft.version',"
    " minSupportedVersion=0, maxSupportedVersion=1), BrokerFeature(name='metadata.version',"
    " minSupportedVersion=1, maxSupportedVersion={})], rack=null)\n"
)
CONTROLLER = (
    "INFO Replayed RegisterControllerRecord containing ControllerRegistration(id=2,"
    " supportedFeatures={group.version: 0-1, metadata.version: 7-33})"
)


def versions(text):
    offered = versions_offered(text.encode())
    return None if offered is None else text_of(offered)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (JAVA.format(produce=13, fetch=18), "4.1"),
        (JAVA.format(produce=11, fetch=17), "3.9"),
        ("(Produce(0): 0 to 13 [usable: 13], Fetch(1): 4 to 19 [usable: 18])", "4.5-"),
        ("(Produce(0): 0 to 13 [usable: 13], OffsetCommit(8): 2 to 10 [usable: 9])", "4.2-"),
        (TOOL, "4.1"),
        (LIBRDKAFKA, "4.1"),
        (FEATURES_OF_CLIENT.format(29), "4.2"),
        (TOOL_OF_FEATURES, "4.4"),
        (DUMPED_LEVEL, "4.0-"),
        (DUMPED_LEVEL + DUMPED_BROKER, "4.1"),
        (REGISTERED.format(21), "3.9"),
        ("metadata.version was upgraded to 33.\nshare.version was upgraded to 2.", "4.4-"),
        ("Loaded new metadata FinalizedFeatures(finalizedFeatures={streams.version=1})", "4.2-"),
        ("Publishing initial metadata with metadata.version Optional[4.1-IV1].", "4.1-"),
        ("Appending 1 bootstrap record(s) at metadata.version 3.7-IV4 from", "3.7-"),
    ],
)
def test_what_a_broker_offers_limits_its_version(text, expected):
    assert versions(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        CONTROLLER,
        "group.version=0",
        "the metadata.version is still 3.0-IV1",
        "inter.broker.protocol.version = 3.9-IV0",
        "Fetched (1): 4 to 18 records",
        JAVA.format(produce=7, fetch=4),  # No release of Apache Kafka offers these versions.
    ],
)
def test_texts_that_show_no_version(text):
    assert versions(text) is None


def test_brokers_of_different_versions():
    assert versions(REGISTERED.format(21) + REGISTERED.format(33)) == "3.9, 4.4-"
    assert versions(TOOL + JAVA.format(produce=11, fetch=17)) == "3.9, 4.1"

"""The versions of brokers by their logs."""

from coordinator_core.log_lines.line_versions import versions_of_logs
from coordinator_core.log_lines.version_ranges import text_of

_HEAD = "[2025-05-01 10:00:00,000] INFO [GroupCoordinator id=1] "
_LOGGER = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"
BUMPED = f"{_HEAD}[GroupId g] Bumped group epoch to 3.{_LOGGER}"
BUMPED_WITH_HASH = f"{_HEAD}[GroupId g] Bumped group epoch to 3 with metadata hash 9.{_LOGGER}"
_DOWNGRADED = (
    f"{_HEAD}Preparing to rebalance group g in state PreparingRebalance with old generation 4"
    f" (reason: Downgrade group g from consumer to classic.).{_LOGGER}"
)
CONVERTED = f"{_HEAD}[GroupId g] Converted the classic group to a consumer group.{_LOGGER}"


def row(file_id, line=None, software=None, is_of_broker=True):
    texts = {"line": line, "reason": None, "software": software}
    return {"file_id": file_id, "is_of_broker": is_of_broker} | texts


def versions(*rows):
    return text_of(versions_of_logs(rows))


def test_wordings_of_one_log_narrow_its_versions():
    assert versions(row("a", BUMPED)) == "3.6-4.0"
    assert versions(row("a", BUMPED), row("a", CONVERTED)) == "4.0"
    assert versions(row("a", BUMPED_WITH_HASH)) == "4.1-"


def test_wordings_of_patch_releases():
    refused = (
        f"{_HEAD}Cannot join the consumer group g with the classic protocol because the group"
        f" migration is disabled.{_LOGGER}"
    )
    downgrade = row("a", _DOWNGRADED) | {"reason": "Downgrade group g from consumer to classic."}

    assert versions(row("a", refused)) == "4.2.2-4.2, 4.3.1-"
    assert versions(downgrade) == "3.8-4.0.1, 4.1.0"


def test_a_log_that_names_its_version_has_this_version():
    assert versions(row("a", CONVERTED), row("a", software="java 4.2.1")) == "4.2.1"


def test_brokers_that_were_upgraded_have_both_versions():
    assert versions(row("a", software="java 3.9.2\njava 4.4.0")) == "3.9.2, 4.4.0"
    assert versions(row("a", BUMPED), row("b", BUMPED_WITH_HASH)) == "3.6-4.0, 4.1-"


def test_without_lines_all_versions_are_possible():
    assert versions() == versions(row("a", software="librdkafka 2.3.0")) == ""


def test_the_version_of_a_client_is_not_that_of_a_broker():
    assert versions(row("a", software="java 3.9.2", is_of_broker=False)) == ""


def test_what_brokers_offer_narrows_the_versions_of_their_lines():
    of_client = row("c", software="broker 4.0\njava 3.9.2", is_of_broker=False)

    assert versions(of_client) == "4.0"
    assert versions(of_client, row("a", BUMPED)) == "4.0"
    assert versions(row("f", software="broker 4.2-"), row("a", BUMPED_WITH_HASH)) == "4.2-"


def test_an_older_log_keeps_its_versions():
    of_client = row("c", software="broker 4.4", is_of_broker=False)

    assert versions(of_client, row("a", software="java 3.9.2")) == "3.9.2"
    assert versions(of_client, row("a", BUMPED), row("b", BUMPED_WITH_HASH)) == "3.6-4.0, 4.4"


def test_brokers_that_offer_different_versions():
    assert versions(row("f", software="broker 3.9,4.4"), row("a", BUMPED)) == "3.9"


def test_brokers_of_4_0_to_4_3_0_log_a_failed_write_as_those_of_3_8():
    line = (
        "[2025-05-01 10:00:00,000] ERROR [GroupCoordinator id=3] Writing records to"
        " __consumer_offsets-0 failed due to: Not the leader.."
        " (org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)"
    )

    assert versions(row("a", line)) == "3.8-4.2.1, 4.3.0"

"""Advice of a group that was not simulated: the advice of a simulated group that is alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coordinator_core.protocol.errors import CoordinatorBug
from coordinator_core.whatif import NotAConsumerGroup, SettingsChange, refusals
from coordinator_core.whatif.concerned import concerned
from coordinator_core.whatif.config_blocks import broker_properties, client_properties
from coordinator_core.whatif.in_force import in_force_text, without_in_force
from coordinator_core.whatif.predict import instance_ids_of
from coordinator_core.whatif.reasons import risks_of
from jobs.lake.evidence import Row
from jobs.what_if.evidence import PredictionEvidence
from jobs.what_if.result_rows import no_advice, no_prediction
from jobs.what_if.sweep import Sweep

# Limit of the confidence, because no simulation of the group itself confirms the advice.
_MAX_CONFIDENCE = 0.5


def shared_row(evidence: PredictionEvidence, sweep: Sweep, like: Mapping[str, Any]) -> Row:
    """The row of advice, without cluster and group; ``like`` is the row of the simulated group."""
    name, setting = like["group_id"], like["setting"]
    alike = f"group {name} is similar (protocol, assignor, sizes, kinds of episodes)"
    if setting is None:
        return no_advice(f"not simulated; {alike}: {like['sentence']}")
    change = SettingsChange.of(setting.split())
    try:
        baseline = sweep.baseline(evidence)
    except (NotAConsumerGroup, CoordinatorBug) as error:
        return no_prediction(error)
    refused = next(refusals(baseline, change), None)
    if refused is not None or without_in_force(baseline, change) != change:
        reason = refused or "some of these settings are already in force"
        return no_advice(f"not simulated; {alike}, but its {setting} does not fit: {reason}")
    observed, share = evidence.observed(baseline), like["share_saved"]
    confidence = like["confidence"]
    row = no_advice(f"not simulated; {alike}: {like['sentence']}")
    return row | {
        "setting": setting,
        "saved_unowned_partition_ms": round(share * observed.unavailable_partition_ms),
        "share_saved": share,
        "client_properties": client_properties(baseline, change),
        "broker_properties": broker_properties(baseline, change),
        "risk": risks_of(baseline, change),
        "instance_ids": instance_ids_of(baseline, change),
        "confidence": None if confidence is None else min(confidence, _MAX_CONFIDENCE),
        "confidence_reason": f"confidence of group {name}: {like['confidence_reason']}",
        "settings_in_force": in_force_text(baseline),
        "whose": concerned(baseline),
    }

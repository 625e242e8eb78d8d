"""SQL conditions on the column ``group_type`` of `generations` and `group_records`.

A generation that only clients' logs show has no group type.
"""

from __future__ import annotations

from coordinator_core.coordinator.classic.group_type import CLASSIC

# The condition is null for a row without a group type.
IS_CLASSIC = f"group_type = '{CLASSIC.name}'"
HAS_EPOCHS = f"group_type <> '{CLASSIC.name}'"
# A group without a group type counts as classic.
TYPE_OR_CLASSIC = f"COALESCE(group_type, '{CLASSIC.name}')"
COUNTS_AS_CLASSIC = f"{TYPE_OR_CLASSIC} = '{CLASSIC.name}'"

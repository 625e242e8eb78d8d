"""The fields of Advice that the table and the JSON have under the same names."""

ADVICE_TEXTS = (
    "client_properties",
    "broker_properties",
    "risk",
    "rejected",
    "worse",
    "makes_better",
    "makes_worse",
    "instance_ids",
    "assumption",
    "confidence",
    "confidence_reason",
    "settings_in_force",
    "whose",
)

"""Names of the sources of bronze rows, as in the column ``source``."""

SEGMENTS, KAFKA, DUMP, BROKER_LOG, TRACE = "segments", "kafka", "dump", "broker_log", "trace"
CLIENT_LOG, END_OFFSETS = "client_log", "end_offsets"
LOGS = (BROKER_LOG, CLIENT_LOG)

"""The group coordinator's log lines: parse them into events, and print events as lines.

The lines are the only evidence of many events: why a rebalance started, which member expired, which
join was superseded.  The wordings of log lines are not an interface.  They differ between the two
coordinators (Scala up to 4.0, Java from 4.0 on), they change from version to version, and layouts,
container wrappers and terminals change the text around them.

Wordings as data.  schemas/log_lines has every wording of Kafka from 0.9 on as a text with
placeholders, its coordinator, versions, level, logger, and the event it stands for:

    Stabilized group {group_id} generation {generation} ({topic_partition})   JOIN_COMPLETE

The same list is used in both directions.  `Template` compiles a text into a pattern that reads its
fields and prints the text from them, so reader and printer cannot disagree.  A new Kafka version is
a new entry in the data, not new code.

Reading.  `parse_line` finds the message wherever it stands in a line (module lines), by the
coordinator's prefix or the first words of a wording.  Module endings lists where the message may
end.  Module wordings finds the wording by its first characters, the most specific wording first.
Date, level and logger are read from the text to the left and to the right of the message (modules
heads and dates), so that a layout needs no pattern of its own.

Group ids and client ids are free text and may contain the words of a wording, so the order of
wordings and the patterns of placeholders matter.  The reason at the end of "Preparing to rebalance"
has its own wordings and becomes a cause class, as does the reason that the client gives (KIP-800).
A message that was cut off is read as far as it is unambiguous (module truncated).  A coordinator's
message that no wording fits has event None; the caller quarantines it.

Printing.  `render_line` prints what a broker of a version would log for an event, or None if it
does not log it at INFO or above.  The engine's simulated broker logs and the replay's comparison
with production use it.  A printed date has no time zone: times are local_ms, milliseconds since
1970-01-01T00:00 in the zone of the broker, and the caller applies the zone.

- lines:     line of a broker -> its message, date, level and logger
- endings:   where a message ends
- heads:     text around a message -> date, level and logger
- dates:     dates in a text, as far as they are complete
- messages:  message -> `ParsedEvent`, with the list of events and steps
- reasons:   reasons of a rebalance and of clients -> cause classes
- truncated: messages that were cut off
- templates: a wording's text as a pattern; how each placeholder is read and printed
- wordings:  the list of wordings, and its index
- kafka_versions: ranges of versions, and the coordinator of a version
- printing:  event -> message or line of a version
- client_lines: lines of consumers -> what they say of their membership
- literals:  any of many texts, in one pass
- pairs:     messages with pairs of keys and values
- calendar:  printed dates <-> milliseconds
"""

from coordinator_core.log_lines.kafka_versions import holds_in
from coordinator_core.log_lines.lines import LogLine, parse_line
from coordinator_core.log_lines.messages import ParsedEvent, parse_message
from coordinator_core.log_lines.printing import render_line, render_message, render_reason
from coordinator_core.log_lines.reasons import ParsedReason, client_cause_of, parse_reason

__all__ = [
    "LogLine",
    "ParsedEvent",
    "ParsedReason",
    "client_cause_of",
    "holds_in",
    "parse_line",
    "parse_message",
    "parse_reason",
    "render_line",
    "render_message",
    "render_reason",
]

"""At which intervals clients send requests by default, and how exactly evidence shows it; in ms."""

# heartbeat.interval.ms, which no request of the classic protocol contains.
HEARTBEAT_MS = 3000
# auto.commit.interval.ms, and how exactly clients keep it.
COMMIT_INTERVAL_MS, COMMIT_JITTER_MS = 5000, 250
# One commit request writes a record per partition: their times are this close to each other.
SAME_COMMIT_MS = 20
# The last commit of an application that stops polling is max.poll.interval.ms before its client
# leaves, give or take an interval of commits and the time of a check.
COMMIT_SLACK_MS = 6000
# Times of one member this close are the same moment: a leave that ended a join, a last contact that
# was the end of a join.
SAME_MOMENT_MS = 50

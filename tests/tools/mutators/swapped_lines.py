"""An example of mutators for `make -C tools fuzz MUTATORS=FOLDER`."""


def swapped_lines(data, chance):
    """Two lines of a text in each other's place."""
    lines = data.splitlines(keepends=True)
    if len(lines) > 1:
        first, second = chance.sample(range(len(lines)), 2)
        lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines)


# Mutations by kind of input: log, client, export (of a log store), trace, dump, segment.
MUTATIONS = {kind: [swapped_lines] for kind in ("log", "client", "trace", "dump")}

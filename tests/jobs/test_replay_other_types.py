"""Generations of other types than classic are counted, as what-if does not predict them."""

from jobs.replay.other_types import generations_by_type
from tests.jobs.test_views import generation, history

# A generation n begins at n s.
REBALANCES = [
    generation(1, 1000, 1100, group_type="classic"),
    generation(2, 2000, 2100, group_type="consumer"),
    generation(3, 3000, 3100, group_type="consumer"),
    generation(3, 3000, 3100, group="h", group_type="share"),
    generation(4, 9000, 9100, group_type="consumer"),
]


def test_the_generations_of_the_group_that_began_in_this_time(write_lake, tmp_path):
    lake = write_lake(tmp_path / "lake", history(*REBALANCES))

    by_type = generations_by_type(lake, "c", "g", 0, 5000)

    assert by_type == {"consumer": 2}
    assert generations_by_type(lake, "c", "h", 0, 5000) == {"share": 1}
    assert generations_by_type(lake, "c", "g", 0, 1500) == {}

"""The policy of a KEDA ScaledObject: its values, KEDA's defaults, and one line for each mistake."""

import pytest

from coordinator_core.whatif.autoscaler import Policy
from jobs.console.errors import UsageError
from jobs.what_if.scaled_object import policy_of

TEXT = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: billing # one per group
spec:
  pollingInterval: 15
  cooldownPeriod: 120
  minReplicaCount: 2
  maxReplicaCount: 12
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        scaleDown:
          stabilizationWindowSeconds: 200
          policies:
          - type: Pods
            value: 2
            periodSeconds: 30
  triggers:
    - type: kafka
      metadata:
        consumerGroup: billing
        lagThreshold: "50"
"""


@pytest.fixture
def policy(tmp_path):
    """``policy(text)``: of a file with this text."""

    def read(text):
        file = tmp_path / "keda.yaml"
        file.write_text(text)
        return policy_of(str(file), "billing")

    return read


def test_all_values(policy):
    assert policy(TEXT) == Policy(
        lag_threshold=50,
        min_replicas=2,
        max_replicas=12,
        polling_s=15,
        cooldown_s=120,
        stabilization_s=200,
        step=4,
    )


def test_defaults(policy):
    text = "kind: ScaledObject\nspec:\n  triggers:\n  - type: apache-kafka\n"

    assert policy(text) == Policy(
        lag_threshold=10,
        min_replicas=0,
        max_replicas=100,
        polling_s=30,
        cooldown_s=300,
        stabilization_s=300,
    )


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("kind: ScaledObject", "kind: Deployment", "kind is not ScaledObject"),
        ("type: kafka", "type: cron", "no trigger of type kafka"),
        ("consumerGroup: billing", "consumerGroup: other", "consumerGroup other is not --group"),
        ('"50"', '"many"', "lagThreshold many: must be at least 1"),
        ('"50"', '"0"', "lagThreshold 0: must be at least 1"),
        ("minReplicaCount: 2", "minReplicaCount: 20", "minReplicaCount is larger than max"),
        ("value: 2", "value: two", "policies: value and periodSeconds must be at least 1"),
        ("spec:", "spec [", "line 5 is not KEY: VALUE"),
    ],
)
def test_a_mistake_is_named_in_one_line(policy, before, after, message):
    with pytest.raises(UsageError, match=r"--autoscaler .*keda\.yaml: ") as raised:
        policy(TEXT.replace(before, after))

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_named():
    with pytest.raises(UsageError, match=r"--autoscaler nowhere\.yaml: No such file"):
        policy_of("nowhere.yaml", "billing")

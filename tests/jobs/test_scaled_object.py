"""The policy of a KEDA ScaledObject: its values, KEDA's defaults, and one line for each mistake."""

import pytest

from coordinator_core.whatif.autoscaler import (
    SCALE_UP,
    Policy,
    ScalingPolicy,
    ScalingRules,
    Select,
)
from jobs.console.errors import UsageError
from jobs.what_if.scaled_object import scaled_object_of

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
def scaled(tmp_path):
    """``scaled(text)``: what a file with this text says of group billing."""

    def read(text):
        file = tmp_path / "keda.yaml"
        file.write_text(text)
        return scaled_object_of(str(file), "billing")

    return read


def test_all_values(scaled):
    assert scaled(TEXT) == (
        Policy(
            lag_threshold=50,
            min_replicas=2,
            max_replicas=12,
            polling_s=15,
            cooldown_s=120,
            idles=False,
            up=SCALE_UP,
            down=ScalingRules(200, (ScalingPolicy(False, 2, 30),)),
        ),
        None,
        (),
    )


def test_defaults(scaled):
    """KEDA's and Kubernetes'; without a behavior."""
    text = "kind: ScaledObject\nspec:\n  triggers:\n  - type: apache-kafka\n"

    assert scaled(text).policy == Policy(
        lag_threshold=10,
        min_replicas=0,
        max_replicas=100,
        polling_s=30,
        cooldown_s=300,
        activation_lag=0,
        idles=True,
        allows_idle=False,
        up=None,
        down=ScalingRules(300, (ScalingPolicy(True, 100, 15),)),
    )


ALL = """\
apiVersion: v1
kind: List
items:
- kind: Deployment
  metadata:
    name: billing
-
  kind: ScaledObject
  metadata:
    annotations:
      autoscaling.keda.sh/paused: "true"
  spec:
    scaleTargetRef:
      name: billing
    minReplicaCount: 3
    idleReplicaCount: 0
    initialCooldownPeriod: 60
    fallback:
      failureThreshold: 3
      replicas: 6
    advanced:
      scalingModifiers:
        formula: a + b
      horizontalPodAutoscalerConfig:
        behavior:
          scaleUp:
            stabilizationWindowSeconds: 30
            selectPolicy: Min
            tolerance: 0.05
            policies:
            - type: Pods
              value: 1
              periodSeconds: 60
            - type: Percent
              value: 50
              periodSeconds: 90
    triggers:
    - type: cron
      metadata:
        start: 30 * * * *
    - type: prometheus
      metadata:
        query: |
          sum(rate(records[1m]))
    - type: kafka
      metadata:
        consumerGroup: other
        lagThreshold: "5"
    - type: kafka
      metricType: Value
      metadata:
        bootstrapServers: kafka:9092
        consumerGroup: billing
        topic: orders
        "lagThreshold": '50'
        activationLagThreshold: '7'
        allowIdleConsumers: "true"
        excludePersistentLag: "true"
        limitToPartitionsWithLag: 'false'
        partitionLimitation: 1-3
      authenticationRef:
        name: kafka
"""


def test_the_trigger_of_the_group_counts_and_what_is_not_honoured_is_named(scaled):
    policy, topic, not_simulated = scaled(ALL)

    assert policy == Policy(
        lag_threshold=50,
        min_replicas=3,
        activation_lag=7,
        idles=True,
        allows_idle=True,
        up=ScalingRules(30, (ScalingPolicy(False, 1, 60), ScalingPolicy(True, 50, 90)), Select.MIN),
    )
    assert topic == "orders"
    assert not_simulated == (
        "autoscaling.keda.sh/paused",
        "initialCooldownPeriod",
        "fallback",
        "scalingModifiers",
        "tolerance",
        "triggers[0] (cron)",
        "triggers[1] (prometheus)",
        "triggers[2] (kafka)",
        "metricType",
        "excludePersistentLag",
        "partitionLimitation",
    )


def test_the_object_of_the_group_is_chosen_from_several_documents(scaled):
    other = TEXT.replace("consumerGroup: billing", "consumerGroup: other").replace('"50"', '"5"')

    assert scaled(f"{other}---\n{TEXT}").policy.lag_threshold == 50


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
        ("spec:", "spec [", "line 5: expected KEY: VALUE"),
        ("type: Pods", "type: Nodes", "policies: type Nodes: not one of Pods, Percent"),
        ("policies:", "selectPolicy: Most", "selectPolicy Most: not one of Max, Min, Disabled"),
        ('"50"', "{a: b}", "line 23: write {a: b} as lines of KEY: VALUE"),
    ],
)
def test_a_mistake_is_named_in_one_line(scaled, before, after, message):
    with pytest.raises(UsageError, match=r"--autoscaler .*keda\.yaml: ") as raised:
        scaled(TEXT.replace(before, after))

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_named():
    with pytest.raises(UsageError, match=r"--autoscaler nowhere\.yaml: No such file"):
        scaled_object_of("nowhere.yaml", "billing")

"""The lines of Kubernetes manifests that deploy a group in one of the planned ways.

Kubernetes knows when a container is ready, not when its consumer has joined.  So minReadySeconds
is the time that the plan leaves between a start and the next stop.
"""

from __future__ import annotations

from collections.abc import Iterator

from coordinator_core.whatif.deployments import Deployment, Strategy

# A consumer needs this time, in seconds, to end its poll, to commit and to leave (close() waits for
# 30 s).
_GRACE_S = 60


def manifest(deployment: Deployment, restart_ms: int, processes: int) -> str:
    """Lines of YAML with comments: of a Deployment or a StatefulSet."""
    return "\n".join(_lines(deployment, restart_ms, processes))


def scaling_policy(deployment: Deployment, is_out: bool) -> str:
    """Lines of a HorizontalPodAutoscaler, or of the advanced part of a KEDA ScaledObject."""
    return "\n".join(
        [
            "# HorizontalPodAutoscaler",
            "spec:",
            "  behavior:",
            f"    {'scaleUp' if is_out else 'scaleDown'}:",
            "      policies:",
            "        - type: Pods",
            f"          value: {deployment.batch}",
            f"          periodSeconds: {max(-(-deployment.pace_ms // 1000), 1)}",
        ]
    )


def _lines(deployment: Deployment, restart_ms: int, processes: int) -> Iterator[str]:
    strategy, pace_ms, batch = deployment
    if strategy is Strategy.SURGE:
        surge = "100%" if batch == processes else str(batch)
        yield "# Deployment"
        yield "spec:"
        yield f"  minReadySeconds: {-(-pace_ms // 1000)}"
        yield from _rolling(surge, "0")
    elif strategy is Strategy.RECREATE:
        yield "# Deployment"
        yield "spec:"
        yield "  strategy:"
        yield "    type: Recreate"
        yield "# or StatefulSet: scale it to 0, then back"
        yield "spec:"
        yield "  podManagementPolicy: Parallel"
    else:
        yield "# Deployment; in a StatefulSet: updateStrategy, without maxSurge"
        yield "spec:"
        yield f"  minReadySeconds: {max(-(-(pace_ms - restart_ms) // 1000), 0)}"
        yield from _rolling("0", str(batch))
        if batch == 1:
            yield "  # StatefulSet:"
            yield "  podManagementPolicy: OrderedReady"
    yield "# pod template"
    yield "      terminationGracePeriodSeconds: " + str(_GRACE_S)


def _rolling(surge: str, unavailable: str) -> Iterator[str]:
    yield "  strategy:"
    yield "    type: RollingUpdate"
    yield "    rollingUpdate:"
    yield f"      maxSurge: {surge}"
    yield f"      maxUnavailable: {unavailable}"

"""What would have been: a group's processes under other settings."""

from coordinator_core.whatif.advice import Advice, advise
from coordinator_core.whatif.observed import observed
from coordinator_core.whatif.outcome import Outcome, Prediction
from coordinator_core.whatif.predict import predict, predict_each
from coordinator_core.whatif.scene import NotAConsumerGroup, Scene, scene_of
from coordinator_core.whatif.settings import GRID, SETTINGS, UNCHANGED, Change, WrongSetting

__all__ = [
    "GRID",
    "SETTINGS",
    "UNCHANGED",
    "Advice",
    "Change",
    "NotAConsumerGroup",
    "Outcome",
    "Prediction",
    "Scene",
    "WrongSetting",
    "advise",
    "observed",
    "predict",
    "predict_each",
    "scene_of",
]

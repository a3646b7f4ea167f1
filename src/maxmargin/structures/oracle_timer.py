"""How long the oracle of a structured problem takes, so that a certificate is begun in time."""

from __future__ import annotations


class OracleTimer:
    """How long the oracle takes for a sample and the features of a joint labelling, as means in which the past fades.

    The mean is of many small pieces: one that met a busy machine must not pass for the rule.
    """

    def __init__(self):
        self.seconds = self.samples = self.joint_labelling = 0.0

    def record_oracle(self, seconds: float, samples: int) -> None:
        """So many samples took so long."""
        self.seconds, self.samples = 0.95 * self.seconds + seconds, 0.95 * self.samples + samples

    def record_labelling(self, seconds: float) -> None:
        """Features of a joint labelling took so long; the judge needs losses and heights too, about as much again."""
        self.joint_labelling = (
            2.5 * seconds if self.joint_labelling == 0.0 else 0.9 * self.joint_labelling + 0.1 * 2.5 * seconds
        )

    def estimate(self, samples: int, labellings: int) -> float:
        """What a certificate of so many samples and joint labellings takes."""
        return 1.2 * (samples * self.seconds / max(self.samples, 1.0) + labellings * self.joint_labelling)

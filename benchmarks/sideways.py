"""Two pieces of work timed side by side, round by round, so that what slows the machine slows both."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """The seconds of both sides in each round."""

    ours: list[float]
    floor: list[float]

    @property
    def ratio(self) -> float:
        """The median over the rounds of our time divided by the floor's."""
        return statistics.median(self._ratios)

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles of the same ratios; needs two rounds."""
        first, _, third = statistics.quantiles(self._ratios, n=4)
        return first, third

    @property
    def _ratios(self) -> list[float]:
        return [ours / floor for ours, floor in zip(self.ours, self.floor, strict=True)]


def compare(ours: Work, floor: Work, rounds: int) -> Comparison:
    """Time both in turns, the one that goes first changing each round, after one round that does not count."""
    seconds: dict[Work, list[float]] = {ours: [], floor: []}
    for number in range(rounds + 1):
        for work in (ours, floor) if number % 2 else (floor, ours):
            start = time.perf_counter()
            work()
            seconds[work].append(time.perf_counter() - start)
    return Comparison(ours=seconds[ours][1:], floor=seconds[floor][1:])

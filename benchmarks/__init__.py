"""What this SDK costs beside the official one and beside bare loops: `python -m benchmarks`, apart from the tests.

Machines drift by factors within minutes, so every number is a ratio of runs made one after the other, or in turns, and
the reported one is the median over the pairs.
"""

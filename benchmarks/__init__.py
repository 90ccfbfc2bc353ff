"""Measurements, apart from the tests: `python -m benchmarks` prints a Markdown table.

Machines drift by factors within minutes, so every number is a ratio of two things measured side by side.
"""

"""Tests of the options: what is taken, what is refused and with which words."""

"""Tests of the conversation's messages."""

"""The language of the Claude Code program, as pure functions and records.

Nothing here starts a thread, reads a clock, opens a file or draws a random number: ids and times are passed in.
"""

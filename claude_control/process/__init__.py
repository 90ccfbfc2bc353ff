"""Processes and pipes: the program is found, started, fed, watched and stopped here; what it says is not understood."""

"""The conformance matrix: every control request on every measured program, with effects and not only answers.

A probe is one row of the table; a topic is a row of probes that share a session. What is measured is written into
`docs/reference/control-requests.md` and, for the gate, into `claude_control/wire/conformance.py`.
"""

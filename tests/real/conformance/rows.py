"""All rows of the matrix."""

from tests.real.conformance import conversation, fatal, files, reading, servers, settings, steering, tasks
from tests.real.conformance.table import Line

TOPICS = (
    steering.TOPIC,
    steering.MODES,
    files.TOPIC,
    files.PLACES,
    servers.TOPIC,
    settings.TOPIC,
    tasks.TOPIC,
    reading.TOPIC,
    conversation.TOPIC,
)
"""Every topic; each has a session of its own on every program that knows one of its requests."""

PROBES = tuple(probe for topic in TOPICS for probe in topic.probes)
"""Every probe."""

LINES = (
    *(Line(probe.label, probe.told) for probe in PROBES),
    *(Line(label, "", fatal=True) for label in fatal.FRAMES),
)
"""Every row."""

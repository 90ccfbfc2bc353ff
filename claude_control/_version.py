"""The version, in its one place: packaging and the command line both read it here."""

__version__ = "0.1.0.dev0"

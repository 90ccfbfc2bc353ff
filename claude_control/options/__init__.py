"""Options: every knob of one session, checked when they are made."""

from claude_control.options.agents import AgentDefinition
from claude_control.options.options import Options, merge_options

__all__ = ["AgentDefinition", "Options", "merge_options"]

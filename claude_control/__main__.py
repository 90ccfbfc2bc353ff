"""``python -m claude_control`` is the command ``claude-control``."""

from claude_control.cli import main

if __name__ == "__main__":
    main()

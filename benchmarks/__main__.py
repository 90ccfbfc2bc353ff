"""Run every benchmark and print its table."""

import argparse
import platform

from benchmarks import framing


def main() -> None:
    """Print what was measured, and on what."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="pairs of runs per row (default: %(default)s)")
    rounds = parser.parse_args().rounds
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {rounds} pairs of runs\n")
    print("\n".join(framing.table(rounds)))


if __name__ == "__main__":
    main()

"""Fail unless the pure folders, rings 0-4, are covered completely, in branches.

Which folders those are is said once, in `tool.coverage.run` of pyproject.toml.
"""

import subprocess
import sys


def main() -> int:
    """Print what is missing; the gate's exit code."""
    report = [sys.executable, "-m", "coverage", "report", "--show-missing", "--fail-under=100"]
    gate = subprocess.run(report, check=False)
    if gate.returncode:
        print("the pure folders must be covered completely; the lines above are not")
    return gate.returncode


if __name__ == "__main__":
    sys.exit(main())

"""Runs one file of tests under pytest for ctest: [SKIP] when all are skipped, [SKIP IN PART] lines when some are."""
from __future__ import annotations

import sys

try:
    import pytest
except ImportError:
    print("[SKIP] pytest is not installed")
    sys.exit(0)


class Outcomes:
    """Counts what passed, and collects why tests were skipped."""

    def __init__(self) -> None:
        self.passed = 0
        self.reasons: dict[str, int] = {}

    def _skipped(self, report) -> None:
        reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.replace("Skipped: ", "", 1).split("\n")[0]
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def pytest_runtest_logreport(self, report) -> None:
        if report.when == "call" and report.passed:
            self.passed += 1
        if report.skipped and not hasattr(report, "wasxfail"):
            self._skipped(report)

    def pytest_collectreport(self, report) -> None:
        if report.skipped:
            self._skipped(report)


def main() -> int:
    """Returns pytest's status; no tests at all is a failure."""
    outcomes = Outcomes()
    status = pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[outcomes])
    # A module that is skipped whole has nothing to run.
    if status == pytest.ExitCode.NO_TESTS_COLLECTED and outcomes.reasons:
        status = pytest.ExitCode.OK
    if status == pytest.ExitCode.OK:
        mark = "[SKIP IN PART]" if outcomes.passed else "[SKIP]"
        for reason, count in outcomes.reasons.items():
            print(f"{mark} {count} tests: {reason}" if outcomes.passed else f"{mark} {reason}")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())

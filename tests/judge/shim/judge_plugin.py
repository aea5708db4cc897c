"""pytest plugin of the judge: imports the suite's files under their own names and writes outcomes as they come."""
import importlib
import json
import os
import re
import sys
import time

import pytest

_EXCEPTION = re.compile(r"[\w.]*(Error|Exception|Warning|Interrupt|Exit)\b")
_out = None
_failed = {}
_skips = {}


def _write(record):
    global _out
    if _out is None:
        _out = open(os.environ["WARPLOOM_JUDGE_REPORT"], "a", encoding="utf-8")
    _out.write(json.dumps(record) + "\n")
    _out.flush()


def pytest_addoption(parser):
    parser.addoption("--dump-failed-filechecks", action="store_true")


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False


class SuiteModule(pytest.Module):
    """A test file, imported as the suite's own package imports it."""

    def _getobj(self):
        relative = os.path.relpath(str(self.path), os.path.join(os.environ["WARPLOOM_JUDGE_SUITE"], "tests"))
        return importlib.import_module("numba.cuda.tests." + relative[:-len(".py")].replace(os.sep, "."))


def pytest_pycollect_makemodule(module_path, parent):
    return SuiteModule.from_parent(parent, path=module_path)


def pytest_collect_directory(path, parent):
    # A plain folder, so that pytest does not import its __init__.py under a name of its own making.
    return pytest.Dir.from_parent(parent, path=path)


def pytest_collection_modifyitems(items, config):
    done = os.environ.get("WARPLOOM_JUDGE_DONE")
    if done:
        with open(done, encoding="utf-8") as file:
            skip = set(file.read().splitlines())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in skip])
        items[:] = [item for item in items if item.nodeid not in skip]


def pytest_collection_finish(session):
    placed = [name for finder in sys.meta_path for name in getattr(finder, "placed", ())]
    _write({"collected": [item.nodeid for item in session.items], "placed": placed})


def pytest_collectreport(report):
    if report.outcome == "failed":
        text = str(report.longrepr)
        _write({"broken": str(report.nodeid), "message": _last(text), "text": text[-6000:]})
    elif report.outcome == "skipped":
        _write({"module_skip": str(report.nodeid), "message": str(report.longrepr)[-300:]})


def pytest_runtest_logstart(nodeid, location):
    _write({"start": nodeid, "at": time.time()})


def _last(text):
    """What went wrong in one line: the last exception's own line among those that pytest marks with E."""
    marked = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    heads = [number for number, line in enumerate(marked) if _EXCEPTION.match(line)]
    if not marked:
        return (text.strip().splitlines() or [""])[-1][:400]
    first = heads[-1] if heads else 0
    return " ".join(line for line in marked[first:first + 6] if line)[:400]


def pytest_runtest_logreport(report):
    nodeid = report.nodeid
    text = str(report.longrepr) if report.longrepr is not None else ""
    if report.outcome == "failed":
        # Teardown errors and failed subtests count against the test.
        _failed.setdefault(nodeid, []).append((report.when, _last(text), text[-6000:]))
    elif report.outcome == "skipped" and report.when in ("setup", "call"):
        expected = hasattr(report, "wasxfail")
        reason = "upstream expects this failure" if expected else (
            report.longrepr[2] if isinstance(report.longrepr, tuple) else text[-200:])
        if type(report).__name__ != "SubtestReport":
            _failed.setdefault(nodeid, [])
            _skips[nodeid] = ("pass" if expected else "skip", str(reason))
    if report.when == "teardown":
        failures = _failed.pop(nodeid, [])
        outcome, reason, text = "pass", "", ""
        if nodeid in _skips:
            outcome, reason = _skips.pop(nodeid)
        if failures:
            outcome, reason, text = "fail", failures[0][1], failures[0][2]
            if "Unexpected success" in text or "Unexpected success" in reason:
                outcome, reason = "pass", "upstream expects this to fail, and it works here"
        _write({"id": nodeid, "outcome": outcome, "reason": reason, "text": text})

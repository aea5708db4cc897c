"""pytest plugin of the judge: imports the suite's files under their own names and writes outcomes as they come."""
import importlib
import json
import os
import time

import pytest

_out = None
_failed = {}


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


def pytest_collection_modifyitems(items, config):
    done = os.environ.get("WARPLOOM_JUDGE_DONE")
    if done:
        with open(done, encoding="utf-8") as file:
            skip = set(file.read().splitlines())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in skip])
        items[:] = [item for item in items if item.nodeid not in skip]


def pytest_collection_finish(session):
    _write({"collected": [item.nodeid for item in session.items]})


def pytest_collectreport(report):
    if report.outcome == "failed":
        _write({"broken": str(report.nodeid), "message": _last(str(report.longrepr)), "text": str(report.longrepr)[-6000:]})
    elif report.outcome == "skipped":
        _write({"module_skip": str(report.nodeid), "message": str(report.longrepr)[-300:]})


def pytest_runtest_logstart(nodeid, location):
    _write({"start": nodeid, "at": time.time()})


def _last(text):
    """The line that says what went wrong: the last one pytest marks with E."""
    marked = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    # Keep the exception's line when its message spans several.
    heads = [line for line in marked if line.split(":")[0].replace(".", "").replace("_", "").isalnum()
             and line.split(":")[0][:1].isupper() | ("." in line.split(":")[0]) and
             ("Error" in line.split(":")[0] or "Exception" in line.split(":")[0] or "Warning" in line.split(":")[0])]
    chosen = heads[-1] if heads else (marked[0] if marked else (text.strip().splitlines() or [""])[-1])
    if chosen.endswith(":") or len(chosen) < 40:
        after = marked[marked.index(chosen) + 1:] if chosen in marked else []
        chosen += " " + " ".join(line for line in after if line)[:160]
    return chosen[:400]


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


_skips = {}

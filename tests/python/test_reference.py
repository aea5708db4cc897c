"""docs/reference/python.md is what the docstrings say."""
import importlib.machinery
import importlib.util
import os

TOOL = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                    "tools", "python_reference")


def test_the_reference_page_is_current():
    loader = importlib.machinery.SourceFileLoader("python_reference", TOOL)
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("python_reference", loader))
    loader.exec_module(tool)
    with open(tool.PAGE, encoding="utf-8") as file:
        assert file.read() == tool.page(), "run tools/python_reference"

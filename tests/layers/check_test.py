#!/usr/bin/env python3
"""The layer check finds each kind of violation in a small tree, and nothing in a clean one."""
import os
import tempfile
import unittest

import check

TABLE = """
include/warploom | |
src/base | | fmt
src/backend | | llvm
src/isa | base | fmt
src/codegen | base isa backend | llvm
src/device | base isa codegen |
src/api | * |
"""


class LayerCheck(unittest.TestCase):
    def errors(self, files, table=TABLE):
        with tempfile.TemporaryDirectory() as source:
            for path, text in {"layers.txt": table, "src/base/diag.hpp": "", **files}.items():
                full = os.path.join(source, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w") as out:
                    out.write(text)
            return check.check_tree(source, os.path.join(source, "layers.txt"))[0]

    def assert_one(self, part, files, table=TABLE):
        errors = self.errors(files, table)
        self.assertEqual(len(errors), 1, errors)
        self.assertIn(part, errors[0])

    def test_clean_tree(self):
        self.assertEqual(self.errors({
            "src/isa/isa.hpp": '#include <vector>\n'
                               '#include <sys/mman.h>\n#include "base/diag.hpp"\n#include "isa_ops.inc"\n',
            "src/backend/llvm.hpp": "#include <llvm/IR/Module.h>\n",
            "src/codegen/emit.cpp": '#include "backend/llvm.hpp"\n#include "isa/isa.hpp"\n',
            "src/api/api.cpp": '#include "isa/isa.hpp"\n#include "warploom/kernel.hpp"\n',
            "src/isa/CMakeLists.txt": "warploom_layer(isa DEPS warploom_base)\n",
            "include/warploom/kernel.hpp": "#include <span>\n",
        }), [])

    def test_upward_include(self):
        self.assert_one("src/base may not include src/isa",
                        {"src/base/a.cpp": '\n#include "isa/isa.hpp"\n', "src/isa/isa.hpp": ""})

    def test_upward_link(self):
        self.assert_one("may not link warploom_isa",
                        {"src/base/CMakeLists.txt": "warploom_layer(base DEPS warploom_isa)"})

    def test_library_of_another_layer(self):
        self.assert_one("may not use fmt", {"src/device/a.cpp": "#include <fmt/format.h>\n"})

    def test_llvm_outside_its_header(self):
        self.assert_one("LLVM is included only by", {"src/codegen/a.cpp": "#include <llvm/IR/Module.h>\n"})

    def test_llvm_through_a_header(self):
        self.assert_one("LLVM's headers reach", {
            "src/backend/llvm.hpp": "#include <llvm/IR/Module.h>\n",
            "src/codegen/ops.hpp": '#include "backend/llvm.hpp"\n',
            "src/device/a.cpp": '#include "codegen/ops.hpp"\n'})

    def test_library_in_a_public_header(self):
        self.assert_one("may not use fmt", {"include/warploom/a.hpp": "#include <fmt/format.h>\n"})
        self.assert_one("only the standard library", {"include/warploom/a.hpp": "#include <unistd.h>\n"})

    def test_private_header_in_a_public_one(self):
        self.assert_one("include/warploom may not include src/base",
                        {"include/warploom/a.hpp": '#include "base/diag.hpp"\n'})

    def test_folder_without_a_row(self):
        self.assert_one("has no row", {"src/utils/a.hpp": ""})

    def test_cycle_in_the_table(self):
        self.assert_one("not above it", {}, "src/base | isa |\nsrc/isa | base |\n")


if __name__ == "__main__":
    unittest.main()

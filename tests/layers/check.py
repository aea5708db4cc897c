#!/usr/bin/env python3
"""Checks every include and every link against the table in layers.txt: check.py SOURCE_FOLDER [TABLE]."""
import os
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
LINK = re.compile(r'\bwarploom_([a-z_]+)\b')
LIBRARIES = {"fmt": "fmt", "llvm": "llvm", "llvm-c": "llvm", "clang": "llvm", "lld": "llvm", "CLI": "CLI",
             "nlohmann": "nlohmann", "toml++": "toml++", "toml.hpp": "toml++", "gtest": "gtest", "gmock": "gtest",
             "benchmark": "benchmark", "CL": "opencl", "nanobind": "nanobind", "cuda.h": "cuda",
             "cuda_runtime.h": "cuda", "zstd.h": "zstd", "lz4.h": "lz4"}
SYSTEM_FOLDERS = {"sys", "linux", "asm", "bits", "netinet", "arpa"}
LLVM_HEADERS = ("src/backend/llvm.hpp", "src/backend/llvm_jit.hpp", "src/frontend/python/llvm.hpp")


class Row:
    def __init__(self, folder, layers, libraries):
        self.folder = folder
        self.layers = {full_name(layer) for layer in layers}
        self.libraries = set(libraries)
        self.everything = "*" in layers


def full_name(layer):
    return layer if layer.startswith(("include/", "python/")) else "src/" + layer


def read_table(path):
    rows, errors = {}, []
    for number, line in enumerate(pathlib.Path(path).read_text().split("\n"), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        folder, layers, libraries = (cell.split() for cell in line.split("|"))
        row = Row(folder[0], layers, libraries)
        for layer in row.layers - {"src/*"}:
            if layer not in rows:
                errors.append(f"{path}:{number}: {row.folder} names {layer}, which is not above it in the table")
        rows[row.folder] = row
    return rows, errors


def owner(rows, path):
    """The longest folder of the table that holds path, or None."""
    found = [folder for folder in rows if path.startswith(folder + "/")]
    return max(found, key=len) if found else None


def resolve(source, path, name):
    """The repository path of an included file, or None for one that is generated or outside."""
    for base in (os.path.dirname(path), "src", "include"):
        candidate = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(os.path.join(source, candidate)):
            return candidate
    return None


def check_file(source, rows, path, text):
    errors, targets = [], []
    row = rows[owner(rows, path)]

    def complain(position, message):
        errors.append(f"{path}:{text.count(chr(10), 0, position) + 1}: {message}")

    for match in INCLUDE.finditer(text):
        bracket, name = match.groups()
        head = name.split("/")[0]
        target = resolve(source, path, name)
        if target:
            targets.append(target)
            layer = owner(rows, target)
            if layer is None:
                complain(match.start(), f'"{name}" is in no folder of the table')
            elif layer != row.folder and not row.everything and layer not in row.layers:
                complain(match.start(), f"{row.folder} may not include {layer} ({name})")
        elif head in LIBRARIES:
            library = LIBRARIES[head]
            if library == "llvm" and path not in LLVM_HEADERS:
                complain(match.start(), f"LLVM is included only by {LLVM_HEADERS[0]}: add <{name}> there")
            elif library not in row.libraries:
                complain(match.start(), f"{row.folder} may not use {library} ({name})")
        elif bracket == '"' and not name.endswith((".inc", ".def")) and not name.startswith("generated/"):
            complain(match.start(), f'"{name}" is neither in the repository nor a generated .inc')
        elif "/" in name and bracket == "<" and head not in SYSTEM_FOLDERS:
            complain(match.start(), f"unknown library <{name}>: add it to the table and to LIBRARIES")
        elif row.folder.startswith("include") and (bracket != "<" or "." in name or "/" in name):
            complain(match.start(), f"a public header includes only the standard library and warploom/ ({name})")
    return errors, targets


def check_links(rows, path, text):
    """A layer's CMakeLists.txt links only targets that its row allows."""
    errors = []
    row = rows[owner(rows, path)]
    for name in LINK.findall(text.split("add_executable")[0]):
        folder = "src/" + name.replace("device_cpu", "device/cpu").replace("frontend_", "frontend/")
        if folder in rows and folder != row.folder and not row.everything and folder not in row.layers:
            if folder != "src/api":  # the library behind the public API
                errors.append(f"{path}: {row.folder} may not link warploom_{name}")
    return errors


def check_tree(source, table):
    rows, errors = read_table(table)
    includes, checked = {}, 0
    for top in ("include", "src", "python/module"):
        for folder, _, files in os.walk(os.path.join(source, top)):
            for name in sorted(files):
                path = os.path.relpath(os.path.join(folder, name), source)
                if not (name.endswith((".hpp", ".cpp", ".h", ".inc")) or name == "CMakeLists.txt"):
                    continue
                if owner(rows, path) is None:
                    if path not in ("src/CMakeLists.txt", "src/frontend/CMakeLists.txt"):
                        errors.append(f"{path}: this folder has no row in {os.path.basename(table)}")
                    continue
                text = pathlib.Path(source, path).read_text(encoding="utf-8")
                checked += 1
                if name == "CMakeLists.txt":
                    errors += check_links(rows, path, text)
                else:
                    found, includes[path] = check_file(source, rows, path, text)
                    errors += found

    def sees_llvm(path, seen):
        if path in LLVM_HEADERS:
            return True
        seen.add(path)
        return any(sees_llvm(target, seen) for target in includes.get(path, ()) if target not in seen)

    for path in includes:
        if "llvm" not in rows[owner(rows, path)].libraries and sees_llvm(path, set()):
            errors.append(f"{path}: LLVM's headers reach this file through its includes")
    return errors, checked


def main():
    source = os.path.abspath(sys.argv[1])
    table = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.txt")
    errors, checked = check_tree(source, table)
    print("\n".join(errors) if errors else f"{checked} files keep to {os.path.basename(table)}")
    return 1 if errors or not checked else 0


if __name__ == "__main__":
    sys.exit(main())

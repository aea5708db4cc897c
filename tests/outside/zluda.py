#!/usr/bin/env python3
"""Runs ZLUDA's PTX cases, unmodified, on the CPU device and compares the outcomes with zluda.tsv.

Usage: zluda.py PTX_CASE [--bless]. WARPLOOM_ZLUDA names a checkout of github.com/vosen/ZLUDA; without one the run is
skipped (exit status 77). Nothing of the suite is kept here: the ledger holds names, outcomes and reasons.
"""
import concurrent.futures
import math
import os
import pathlib
import re
import struct
import subprocess
import sys

import ledger

HERE = pathlib.Path(__file__).resolve().parent
LEDGER = HERE / "zluda.tsv"
FORMATS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q", "f32": "f",
           "f64": "d", "f16": "H"}
F16_NAN = 0x7e00


def f16_bits(value):
    return struct.unpack("<H", struct.pack("<e", value))[0]


def element(text):
    """(type or None, value) of a Rust expression of the test file."""
    text = text.strip()
    if m := re.fullmatch(r"half::f16::from_f(?:32|64)\((.*)\)", text):
        return "f16", f16_bits(float(m[1]))
    if m := re.fullmatch(r"half::f16::from_bits\((.*)\)", text):
        return "f16", int(m[1], 0)
    if text == "half::f16::NAN.to_bits()":
        return "u16", F16_NAN
    if text == "half::f16::NAN":
        return "f16", F16_NAN
    if text == "half::f16::NEG_INFINITY":
        return "f16", 0xfc00
    if m := re.fullmatch(r"f32::from_bits\((.*)\)", text):
        return "f32", struct.unpack("<f", struct.pack("<I", int(m[1].replace("_", ""), 0)))[0]
    if m := re.fullmatch(r"(f32|f64)::(NAN|INFINITY|NEG_INFINITY)", text):
        return m[1], {"NAN": math.nan, "INFINITY": math.inf, "NEG_INFINITY": -math.inf}[m[2]]
    if m := re.fullmatch(r"std::(f32|f64)::consts::PI(?: / (\d+)f(?:32|64))?", text):
        return m[1], math.pi / int(m[2] or 1)
    if m := re.fullmatch(r"([ui])(8|16|32|64)::(MAX|MIN|max_value\(\))", text):
        bits = int(m[2])
        if m[1] == "u":
            return m[1] + m[2], (1 << bits) - 1 if m[3] != "MIN" else 0
        return m[1] + m[2], (1 << bits - 1) - 1 if m[3] != "MIN" else -(1 << bits - 1)
    sign = -1 if text.startswith("-") else 1
    body = text.lstrip("-").replace("_", "")
    m = re.fullmatch(r"(0x[0-9a-fA-F]+?|0b[01]+|\d+(?:\.\d*)?)((?:[uif](?:8|16|32|64))?)", body)
    if not m:
        raise ValueError(text)
    kind = m[2] or None
    if kind is None and "." in m[1] and not m[1].startswith("0x"):
        return None, sign * float(m[1])
    return kind, sign * (float(m[1]) if kind and kind[0] == "f" else int(m[1], 0))


def array(text):
    items = [element(item) for item in re.sub(r"//.*", "", text).split(",") if item.strip()]
    kind = next((k for k, _ in items if k), "f64" if any(isinstance(v, float) for _, v in items) else "i32")
    return kind, [v for _, v in items]


def encode(kind, values):
    if kind == "f32":
        return b"".join(struct.pack("<f", v) for v in values)
    return struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)


def cases(source):
    """(name, input or None, output or None, threads) of every test."""
    text = re.sub(r"^\s*//.*$", "", source, flags=re.M)
    text = text[text.index("test_ptx!(ld_st,"):text.index("fn test_hip_assert") if "fn test_hip_assert" in text
                else len(text)]
    for m in re.finditer(r"test_ptx(_warp|_with_32)?!\(\s*(\w+)\s*(?:,((?:[^;])*?))?\);", text, flags=re.S):
        arrays = re.findall(r"\[([^\[\]]*)\]", m[3] or "", flags=re.S)
        if m[1] == "_warp":
            yield m[2], None, arrays[0] if arrays else None, 64
        elif len(arrays) == 2:
            yield m[2], arrays[0], arrays[1], 1
        else:
            yield m[2], None, None, 0


def run(tool, folder, case):
    name, given, wanted, threads = case
    command = [tool, str(folder / f"{name}.ptx"), name, str(threads)]
    if wanted is None:
        command += ["0"]
        expected = b""
    else:
        kind, values = array(wanted)
        expected = encode(kind, values)
        command += [str(len(expected))] + ([encode(*array(given)).hex()] if given is not None else [])
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return name, "hang"
    if result.returncode < 0:
        return name, f"crash: signal {-result.returncode}"
    if result.returncode != 0:
        return name, "error: " + result.stdout.strip().split("\n")[0]
    if wanted is None:
        return name, "pass"
    got = bytes.fromhex(result.stdout.strip())
    same = got == expected
    if not same and kind in ("f32", "f64"):
        form = f"<{len(values)}{FORMATS[kind]}"
        same = struct.unpack(form, got) == struct.unpack(form, expected)
    return name, "pass" if same else f"wrong: {got.hex()[:64]} is not {expected.hex()[:64]}"


def main():
    checkout = os.environ.get("WARPLOOM_ZLUDA")
    folder = pathlib.Path(checkout or "/nowhere") / "ptx/src/test/spirv_run"
    if not (folder / "mod.rs").exists():
        print("[SKIP] ZLUDA not found: set WARPLOOM_ZLUDA to a checkout")
        return 77
    found = list(cases((folder / "mod.rs").read_text()))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        outcomes = dict(pool.map(lambda case: run(sys.argv[1], folder, case), found))
    values = sum(1 for case in found if case[2] is not None)
    passed = sum(outcome == "pass" for outcome in outcomes.values())
    print(f"{len(found)} cases, {values} of them with results: {passed} pass, {len(found) - passed} do not")
    return ledger.judge(LEDGER, "ZLUDA's PTX cases", outcomes, "--bless" in sys.argv)


sys.exit(main())

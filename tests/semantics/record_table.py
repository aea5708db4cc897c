"""Runs the cases of the instruction table on a GPU: record_table.py DIR OUT.

DIR holds what `semantics_table DIR` wrote and, when ptxas is not on this machine, table.cubin made by
`record_table.py DIR` elsewhere. OUT gets h200_table.tsv (the digest of every case that ran) and answers.bin: the
results of the cases whose digest is not the expected one, or that have none.
"""
import ctypes
import lzma
import pathlib
import re
import shutil
import struct
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
from cuda_driver import Driver  # noqa: E402

SETS = 512
ARCH = "sm_90a"


def assemble(folder):
    """Makes table.cubin and refused.txt from what ptxas accepts."""
    lines = (folder / "table.ptx").read_text().split("\n")
    refused = []
    while True:
        (folder / "accepted.ptx").write_text("\n".join(lines))
        run = subprocess.run(["ptxas", "-arch=" + ARCH, str(folder / "accepted.ptx"), "-o",
                              str(folder / "table.cubin")], capture_output=True, text=True, check=False)
        if run.returncode == 0:
            break
        wrong = {int(m[1]): m[2] for m in re.finditer(r"line (\d+); error\s*: (.*)", run.stderr)}
        if not wrong:
            sys.exit(run.stderr)
        for number, why in wrong.items():
            first = last = number - 1
            while not lines[first].startswith("  {"):
                first -= 1
            while lines[last] != "  }":
                last += 1
            if lines[first] != "":
                refused.append(f"{lines[first][6:]}\t{why}\n")
            lines[first:last + 1] = [""] * (last + 1 - first)
    (folder / "refused.txt").write_text("".join(sorted(set(refused))))
    print(f"ptxas refuses {len(set(refused))} cases")


NAN = {"f64": (0x7fffffffffffffff, 0x7ff0000000000000), "f32": (0x7fffffff, 0x7f800000)}


def digest(results, types, any_nan):
    """FNV-1a over the results, set by set."""
    columns = []
    for words, name in zip(results, types):
        if any_nan and name in NAN:
            mask, limit = NAN[name]
            words = [0xffffffffffffffff if w & mask > limit else w for w in words]
        columns.append(words)
    h = 0xcbf29ce484222325
    for row in zip(*columns):
        for byte in struct.pack(f"<{len(row)}Q", *row):
            h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def main():
    folder = pathlib.Path(sys.argv[1])
    if shutil.which("ptxas") and not (folder / "table.cubin").exists():
        assemble(folder)
    if len(sys.argv) < 3:
        return
    out = pathlib.Path(sys.argv[2])
    refused = {line.split("\t")[0] for line in (folder / "refused.txt").read_text().splitlines()}
    batches = [[int(v) for v in line.split("\t")[:3]] + line.split("\t")[3:]
               for line in (folder / "batches.tsv").read_text().splitlines()]
    cases = {}
    for line in (folder / "cases.tsv").read_text().splitlines():
        batch, slot, types, any_nan, expected, name = line.split("\t")
        cases.setdefault(int(batch), []).append((int(slot), types.split(","), any_nan == "1", expected, name))
    operands = (folder / "operands.bin").read_bytes()
    cuda = Driver()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.call("cuModuleLoad", ctypes.byref(module), str(folder / "table.cubin").encode())
    word = 8 * SETS
    most = max(batch[2] for batch in batches)
    source, result = cuda.allocate(len(operands)), cuda.allocate(most * word)
    cuda.call("cuMemcpyHtoD_v2", source, operands, ctypes.c_size_t(len(operands)))
    buffer = ctypes.create_string_buffer(most * word)
    digests, answers, ran, differ = [], [], 0, 0
    for number, offset, words, *masks in batches:
        for mask in masks or [""]:
            cuda.call("cuModuleGetFunction", ctypes.byref(function), module, f"batch{number}".encode())
            cuda.call("cuMemsetD8_v2", result, 0, ctypes.c_size_t(words * word))
            at, lanes = ctypes.c_uint64(source.value + offset), ctypes.c_uint32(int(mask or "0", 16))
            args = (ctypes.c_void_p * 3)(ctypes.addressof(at), ctypes.addressof(result), ctypes.addressof(lanes))
            cuda.call("cuLaunchKernel", function, 1, 1, 1, SETS, 1, 1, 0, None, args, None)
            cuda.call("cuMemcpyDtoH_v2", buffer, result, ctypes.c_size_t(words * word))
            for slot, types, any_nan, expected, name in cases[number]:
                if name in refused:
                    continue
                rows = [struct.unpack_from(f"<{SETS}Q", buffer.raw, (slot + k) * word) for k in range(len(types))]
                found = f"{digest(rows, types, any_nan):016x}"
                label = name + (f" @{mask}" if mask else "")
                wanted = dict(zip(masks, expected.split(","))).get(mask, expected)
                if wanted != "-":
                    digests.append(f"{label}\t{found}\n")
                    ran += 1
                if found != wanted:
                    differ += wanted != "-"
                    text = label.encode()
                    answers.append(struct.pack("<HH", len(text), len(types)) + text +
                                   b"".join(struct.pack(f"<{SETS}Q", *row) for row in rows))
    (out / "h200_table.tsv").write_text("".join(digests))
    kept = len(answers)
    while True:
        packed = lzma.compress(b"".join(answers[:kept]))
        if len(packed) < 2500000:
            break
        kept = kept * 3 // 4
    (out / "answers.bin").write_bytes(packed)
    print(f"{ran} cases ran, {differ} differ, {kept} of {len(answers)} answers kept")


if __name__ == "__main__":
    main()

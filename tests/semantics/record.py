"""Runs the recorded cases on a GPU: record.py DIR, which holds what `semantics_golden write DIR` wrote.

Needs ptxas and the CUDA driver. Kernels that ptxas refuses are left out; results.bin and cases.ran say what the rest
gave.
"""
import ctypes
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
from cuda_driver import Driver  # noqa: E402

SETS = 512


def assemble(folder):
    """Assembles what ptxas accepts; returns the indices of those cases."""
    head, *kernels = re.split(r"(?=\.visible \.entry)", (folder / "cases.ptx").read_text())
    alive = list(range(len(kernels)))
    while True:
        owner = [None] * (head.count("\n") + 1)
        for i in alive:
            owner += [i] * kernels[i].count("\n")
        (folder / "ok.ptx").write_text(head + "".join(kernels[i] for i in alive))
        run = subprocess.run(["ptxas", "-arch=sm_90a", str(folder / "ok.ptx"), "-o", str(folder / "ok.cubin")],
                             capture_output=True, text=True, check=False)
        if run.returncode == 0:
            return alive
        refused = {owner[int(m[1])] for m in re.finditer(r"line (\d+); error", run.stderr)} - {None}
        if not refused:
            sys.exit(run.stderr)
        print(f"ptxas refuses {len(refused)} cases")
        alive = [i for i in alive if i not in refused]


def main():
    folder = pathlib.Path(sys.argv[1])
    alive = assemble(folder)
    cases = [line.split("\t") for line in (folder / "cases.tsv").read_text().splitlines()]
    operands = (folder / "operands.bin").read_bytes()
    cuda = Driver()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.call("cuModuleLoad", ctypes.byref(module), str(folder / "ok.cubin").encode())
    word = 8 * SETS
    source, result = cuda.allocate(len(operands)), cuda.allocate(2 * word)
    cuda.call("cuMemcpyHtoD_v2", source, operands, ctypes.c_size_t(len(operands)))
    offset, offsets = 0, []
    for case in cases:
        offsets.append(offset)
        offset += int(case[2]) * word
    buffer = ctypes.create_string_buffer(2 * word)
    with (folder / "results.bin").open("wb") as out:
        for i in alive:
            cuda.call("cuModuleGetFunction", ctypes.byref(function), module, f"k{i}".encode())
            at = ctypes.c_uint64(source.value + offsets[i])
            args = (ctypes.c_void_p * 2)(ctypes.addressof(at), ctypes.addressof(result))
            cuda.call("cuLaunchKernel", function, 1, 1, 1, SETS, 1, 1, 0, None, args, None)
            cuda.call("cuMemcpyDtoH_v2", buffer, result, ctypes.c_size_t(2 * word))
            out.write(buffer.raw[:int(cases[i][3]) * word])
    (folder / "cases.ran").write_text("".join(f"{i}\n" for i in alive))
    print(f"{len(alive)} cases ran")


main()

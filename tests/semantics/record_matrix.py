"""Runs the recorded matrix instructions on a GPU: record_matrix.py DIR OUT; `semantics_matrix write DIR` wrote DIR.

Needs the CUDA driver alone, which compiles the kernels. OUT gets digests.tsv (a line for each instruction: its eight
classes' CRC-32, or why it was refused) and up to `FILES` files of compressed results.
"""
import concurrent.futures
import ctypes
import pathlib
import sys
import time
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
from cuda_driver import Driver, DriverError  # noqa: E402

FILES, FILE_BYTES = 4, 3_900_000


def rank(line):
    """Which results are wanted first: what cannot be derived."""
    name = line[0]
    floats = any(f".{t}" in name for t in ("f16", "bf16", "tf32", "e4m3", "e5m2", "f64", "f32"))
    if "mma" in name.split(".")[0] and ".load" not in name and ".store" not in name and "mma" in name:
        first = "wmma" not in name or ".row.col.m16n16" in name or ".row.col.m8n8k4" in name
        return (1 if first else 3) if floats else (2 if name.endswith("s32") and first else 4)
    return 0


def in_one_line(complaint):
    """The compiler's errors, without what a table cannot hold."""
    code, _, log = complaint.partition(" ")
    lines = [x for x in log.splitlines() if "error" in x or "fatal" in x]
    return f"{code} " + " | ".join(lines)[:300].replace("\t", " ")


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    started = time.time()
    lines = [x.split("\t") for x in (folder / "matrix.tsv").read_text().splitlines()]
    kernels = (folder / "matrix.ptx").read_text().split("//----\n")
    cuda = Driver()
    pools = {"-": ctypes.c_uint64(0)}
    for name in {x for line in lines for x in line[1:5]} - {"-"}:
        data = (folder / name).read_bytes()
        pools[name] = cuda.allocate(len(data))
        cuda.call("cuMemcpyHtoD_v2", pools[name], data, ctypes.c_size_t(len(data)))
    most = max(int(x[5]) * int(x[6]) for x in lines)
    result = cuda.allocate(most)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        modules = list(threads.map(cuda.load, kernels[:len(lines)]))
    print(f"{len(lines)} kernels compiled after {time.time() - started:.1f} s")
    digests, blobs = [], []
    for line, (module, why) in zip(lines, modules):
        if module is None:
            digests.append(f"{line[0]}\t!{in_one_line(why)}\n")
            continue
        cases, size = int(line[5]), int(line[6])
        function = ctypes.c_void_p()
        buffer = ctypes.create_string_buffer(cases * size)
        try:
            cuda.call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
            cuda.call("cuMemsetD8_v2", result, ctypes.c_ubyte(0), ctypes.c_size_t(cases * size))
            values = [pools[x] for x in line[1:5]] + [result]
            args = (ctypes.c_void_p * 5)(*[ctypes.addressof(x) for x in values])
            cuda.call("cuLaunchKernel", function, cases, 1, 1, 32, 1, 1, 0, None, args, None)
            cuda.call("cuMemcpyDtoH_v2", buffer, result, ctypes.c_size_t(cases * size))
        except DriverError as error:
            digests.append(f"{line[0]}\t!{error}\n")
            continue
        step = cases * size // 8
        chunks = [buffer.raw[i * step:(i + 1) * step] for i in range(8)]
        digests.append(line[0] + "\t" + " ".join(f"{zlib.crc32(x):08x}" for x in chunks) + "\n")
        blobs.append((rank(line), len(blobs), line[0], buffer.raw))
    (out / "digests.tsv").write_text("".join(digests))
    files, used = [b""], 0
    for _, _, name, data in sorted(blobs):
        packed = zlib.compress(data, 6)
        part = f"{name}\t{len(packed)}\n".encode() + packed
        if len(files[-1]) + len(part) > FILE_BYTES:
            if len(files) == FILES:
                break
            files.append(b"")
        files[-1] += part
        used += 1
    for i, data in enumerate(files):
        (out / f"results{i}.bin").write_bytes(data)
    bad = sum("\t!" in x for x in digests)
    print(f"{len(lines) - bad} ran, {bad} refused, {used} kept in full, {time.time() - started:.1f} s")


main()

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

FILES, FILE_BYTES = 4, 3_900_000


class Driver:
    """The few entry points of the CUDA driver that are needed."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.context, device, version = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.attach()
        self.version = version.value

    def attach(self):
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code != 0:
            raise RuntimeError(f"{name} failed with {code}")

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def load(self, text):
        """A module of PTX text, or the compiler's complaint."""
        self.attach()
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(4096)
        keys = (ctypes.c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER and its size
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 4096)
        code = self.lib.cuModuleLoadDataEx(ctypes.byref(module), text.encode(), 2, keys, values)
        if code != 0:
            lines = [x for x in log.value.decode(errors="replace").splitlines() if "error" in x or "fatal" in x]
            return None, f"{code} " + " | ".join(lines)[:300].replace("\t", " ")
        return module, ""


def rank(line):
    """Which results are wanted first: what cannot be derived."""
    name = line[0]
    floats = any(f".{t}" in name for t in ("f16", "bf16", "tf32", "e4m3", "e5m2", "f64", "f32"))
    if "mma" in name.split(".")[0] and ".load" not in name and ".store" not in name and "mma" in name:
        first = "wmma" not in name or ".row.col.m16n16" in name or ".row.col.m8n8k4" in name
        return (1 if first else 3) if floats else (2 if name.endswith("s32") and first else 4)
    return 0


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
    print(f"driver {cuda.version}, {len(lines)} kernels compiled after {time.time() - started:.1f} s")
    digests, blobs = [], []
    for line, (module, why) in zip(lines, modules):
        if module is None:
            digests.append(f"{line[0]}\t!{why}\n")
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
        except RuntimeError as error:
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

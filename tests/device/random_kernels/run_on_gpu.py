"""Runs random kernels on a GPU and compares them with their interpreter: run_on_gpu.py DIR OUT.

DIR holds what the test wrote with WARPLOOM_RANDOM_WRITE=DIR, and where ptxas was at hand a .cubin beside each .ptx;
OUT gets results.txt.
"""
import ctypes
import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "gpu"))
from cuda_driver import Driver  # noqa: E402


def read(cuda, pointer, size):
    """Contents of a buffer, which is freed."""
    data = ctypes.create_string_buffer(size)
    cuda.call("cuMemcpyDtoH_v2", data, pointer, ctypes.c_size_t(size))
    cuda.call("cuMemFree_v2", pointer)
    return data.raw


def digest(data):
    h = 0xcbf29ce484222325
    for (word,) in struct.iter_unpack("<I", data):
        h = (h ^ word) * 0x100000001b3 & 0xffffffffffffffff
    return h


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    cuda = Driver()
    source = cuda.upload((folder / "in.bin").read_bytes())
    modules, wrong, lines = {}, [], (folder / "launches.tsv").read_text().splitlines()
    for line in lines:
        file, name, *numbers, expected = line.split("\t")
        grid, x, y, z, p0, p1, results, scratch, sums = map(int, numbers)
        if file not in modules:
            module = ctypes.c_void_p()
            cubin = folder / file.replace(".ptx", ".cubin")
            path = cubin if cubin.exists() else folder / file
            cuda.call("cuModuleLoad", ctypes.byref(module), str(path).encode())
            modules[file] = module
        function = ctypes.c_void_p()
        cuda.call("cuModuleGetFunction", ctypes.byref(function), modules[file], name.encode())
        buffers = [cuda.upload(struct.pack("<I", 0xdeadbeef) * results), cuda.upload(bytes(4 * scratch)),
                   cuda.upload(bytes(4 * sums))]
        values = [source, *buffers, ctypes.c_uint32(p0), ctypes.c_uint32(p1)]
        args = (ctypes.c_void_p * 6)(*(ctypes.addressof(v) for v in values))
        cuda.call("cuLaunchKernel", function, grid, 1, 1, x, y, z, 0, None, args, None)
        data = b"".join(read(cuda, b, 4 * n) for b, n in zip(buffers, (results, scratch, sums)))
        if digest(data) != int(expected, 16):
            wrong.append(line)
    (out / "results.txt").write_text(f"{len(lines)} launches, {len(wrong)} differ\n" + "".join(w + "\n" for w in wrong))
    print(f"{len(lines)} launches of random kernels, {len(wrong)} differ")


main()

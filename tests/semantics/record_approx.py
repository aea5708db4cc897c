"""Runs the approximate instructions on a GPU: record_approx.py DIR OUT.

DIR holds what `semantics_table DIR` wrote, with approx.ptx assembled to approx.cubin. OUT gets approx.bin: the results
of all forms one after the other, as 16-, 32- or 64-bit numbers, compressed with xz.
"""
import ctypes
import lzma
import pathlib
import struct
import sys

from record_table import Driver


def main():
    folder, out = (pathlib.Path(a) for a in sys.argv[1:3])
    cuda = Driver()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.call("cuModuleLoad", ctypes.byref(module), str(folder / "approx.cubin").encode())
    data = (folder / "approx_arguments.bin").read_bytes()
    source = cuda.allocate(len(data))
    cuda.call("cuMemcpyHtoD_v2", source, data, ctypes.c_size_t(len(data)))
    answers, offset = [], 0
    for index, line in enumerate((folder / "approx.tsv").read_text().splitlines()):
        text, bits, sources, count = line.split("\t")
        bits, sources, count = int(bits), int(sources), int(count)
        result = cuda.allocate(count * 8)
        cuda.call("cuModuleGetFunction", ctypes.byref(function), module, f"approx{index}".encode())
        at = ctypes.c_uint64(source.value + offset)
        args = (ctypes.c_void_p * 2)(ctypes.addressof(at), ctypes.addressof(result))
        cuda.call("cuLaunchKernel", function, count // 256, 1, 1, 256, 1, 1, 0, None, args, None)
        buffer = ctypes.create_string_buffer(count * 8)
        cuda.call("cuMemcpyDtoH_v2", buffer, result, ctypes.c_size_t(count * 8))
        words = struct.unpack(f"<{count}Q", buffer.raw)
        answers.append(struct.pack(f"<{count}{ {16: 'H', 32: 'I', 64: 'Q'}[bits]}", *words))
        offset += sources * count * 8
    (out / "approx.bin").write_bytes(lzma.compress(b"".join(answers)))
    print(f"{len(answers)} approximate instructions ran")


main()

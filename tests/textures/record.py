"""Records what a GPU's texture and surface units answer: record.py OUT, which gets textures.bin.gz and faults.txt; then
record.py --thin OUT/textures.bin.gz h200.bin.gz.

Needs Python and the CUDA driver, which compiles the PTX. textures.bin.gz holds, each as a line of text and the bytes it
announces, arrays (texels), coordinates (32-bit words per sample) and cases (which of both, the sampler, the PTX, the
results).
"""
import ctypes
import gzip
import pathlib
import re
import struct
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
from cuda_driver import Driver, DriverError  # noqa: E402

from cases import CASES, FAULTS, FORMATS, MODES, SAMPLER, Array, Coords, bits

KEPT = 256  # samples of a case in the repository


def kernel(body, words, results):
    """Sample i: its words are in %r0.. and, as numbers, in %f0..; %q0.. are stored."""
    load = "".join(f"    ld.global.b32 %r{k}, [%a + {4 * k}];\n    mov.b32 %f{k}, %r{k};\n" for k in range(words))
    store = "".join(f"    st.global.b32 [%b + {4 * k}], %q{k};\n" for k in range(results))
    return f"""
.version 8.1
.target sm_90
.address_size 64
.visible .entry sample(.param .u64 object, .param .u64 from, .param .u64 to, .param .u32 count) {{
    .reg .b32 %r<8>, %q<8>, %i, %n, %step;
    .reg .f32 %f<16>;
    .reg .b16 %h<4>;
    .reg .b64 %w<4>, %t, %a, %b, %from, %to;
    .reg .pred %p<2>;
    ld.param.u64 %t, [object];
    ld.param.u64 %from, [from];
    ld.param.u64 %to, [to];
    ld.param.u32 %n, [count];
    mov.u32 %i, %tid.x;
    mov.u32 %step, %ntid.x;
loop:
    setp.ge.u32 %p0, %i, %n;
    @%p0 bra done;
    mad.wide.u32 %a, %i, {4 * words}, %from;
    mad.wide.u32 %b, %i, {4 * results}, %to;
{load}    mov.b32 %q0, 0;
    mov.b32 %q1, 0;
    mov.b32 %q2, 0;
    mov.b32 %q3, 0;
    {body}
{store}    add.u32 %i, %i, %step;
    bra loop;
done:
    ret;
}}
"""


# --- the driver


class ArrayDesc(ctypes.Structure):
    _fields_ = [("width", ctypes.c_size_t), ("height", ctypes.c_size_t), ("depth", ctypes.c_size_t),
                ("format", ctypes.c_int), ("channels", ctypes.c_uint), ("flags", ctypes.c_uint)]


class Copy3D(ctypes.Structure):
    _fields_ = [(f"{side}{name}", kind) for side in ("src", "dst") for name, kind in (
        ("X", ctypes.c_size_t), ("Y", ctypes.c_size_t), ("Z", ctypes.c_size_t), ("LOD", ctypes.c_size_t),
        ("Type", ctypes.c_int), ("Host", ctypes.c_void_p), ("Device", ctypes.c_uint64), ("Array", ctypes.c_void_p),
        ("Reserved", ctypes.c_void_p), ("Pitch", ctypes.c_size_t), ("Height", ctypes.c_size_t))] + [
        ("width", ctypes.c_size_t), ("height", ctypes.c_size_t), ("depth", ctypes.c_size_t)]


class ResourceDesc(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("pad", ctypes.c_int), ("words", ctypes.c_uint64 * 16),
                ("flags", ctypes.c_uint),
                ("pad2", ctypes.c_uint)]


class TextureDesc(ctypes.Structure):
    _fields_ = [("address", ctypes.c_int * 3), ("filter", ctypes.c_int), ("flags", ctypes.c_uint),
                ("anisotropy", ctypes.c_uint), ("mip", ctypes.c_int), ("bias", ctypes.c_float), ("low", ctypes.c_float),
                ("high", ctypes.c_float), ("border", ctypes.c_float * 4), ("reserved", ctypes.c_int * 12)]


class TextureDriver(Driver):
    """Kernels and arrays that are made once."""

    def __init__(self):
        super().__init__()
        self.modules, self.arrays = {}, {}

    def function(self, text):
        if text not in self.modules:
            module, why = self.load(text)
            if module is None:
                raise DriverError(f"cuModuleLoadDataEx {why}".replace("\n", " "))
            function = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(function), module, b"sample")
            self.modules[text] = function
        return self.modules[text]

    def copy(self, array, level, data, handle, back=False):
        """All texels of a level, from or to host memory."""
        w, h, d = array.level(level)
        c = Copy3D()
        host, other = ("dst", "src") if back else ("src", "dst")
        setattr(c, host + "Type", 1)
        setattr(c, host + "Host", ctypes.cast(data, ctypes.c_void_p))
        setattr(c, host + "Pitch", w * array.texel)
        setattr(c, host + "Height", h)
        setattr(c, other + "Type", 3)
        setattr(c, other + "Array", handle)
        c.width, c.height, c.depth = w * array.texel, h, d
        self.call("cuMemcpy3D_v2", ctypes.byref(c))

    def make(self, array):
        """The resource descriptor of a new array with its texels, and the handle."""
        r = ResourceDesc()
        form = FORMATS[array.form][0]
        if array.geometry == "linear":
            r.type = 2
            r.words[0] = self.upload(array.data).value
            r.words[1] = form | array.channels << 32
            r.words[2] = len(array.data)
            return r, None
        w, h, d = array.size
        if array.geometry == "pitch":
            pitch = 512
            rows = b"".join(array.data[y * w * array.texel:(y + 1) * w * array.texel].ljust(pitch, b"\xCD")
                            for y in range(h))
            r.type = 3
            r.words[0] = self.upload(rows).value
            r.words[1] = form | array.channels << 32
            r.words[2], r.words[3], r.words[4] = w, h, pitch
            return r, None
        geometry = array.geometry
        desc = ArrayDesc(w, 0 if geometry in ("1d", "a1d") else h, 0 if geometry in ("1d", "2d") else d, form,
                         array.channels, array.flags)
        handle, offset = ctypes.c_void_p(), 0
        if array.levels > 1:
            self.call("cuMipmappedArrayCreate", ctypes.byref(handle), ctypes.byref(desc), array.levels)
        else:
            self.call("cuArray3DCreate_v2", ctypes.byref(handle), ctypes.byref(desc))
        for k in range(array.levels):
            level = handle
            if array.levels > 1:
                level = ctypes.c_void_p()
                self.call("cuMipmappedArrayGetLevel", ctypes.byref(level), handle, k)
            lw, lh, ld = array.level(k)
            size = lw * lh * ld * array.texel
            data = ctypes.create_string_buffer(array.data[offset:offset + size], size)
            self.copy(array, k, data, level)
            offset += size
        r.type = 1 if array.levels > 1 else 0
        r.words[0] = handle.value
        return r, handle

    def resource(self, array, fresh):
        if fresh:
            return self.make(array)
        if array.name not in self.arrays:
            self.arrays[array.name] = self.make(array)
        return self.arrays[array.name]

    def texture(self, resource, s):
        t = TextureDesc()
        t.address[:] = [MODES[s[k]] for k in "xyz"]
        t.filter, t.mip = s["linear"], s["mip"]
        t.flags = s["integer"] | s["norm"] << 1 | s["srgb"] << 4 | 0x20 | s["seamless"] << 6
        t.bias, t.low, t.high = s["bias"], s["low"], s["high"]
        t.border[:] = s["border"]
        handle = ctypes.c_uint64()
        self.call("cuTexObjectCreate", ctypes.byref(handle), ctypes.byref(resource), ctypes.byref(t), None)
        return handle

    def surface(self, resource):
        handle = ctypes.c_uint64()
        self.call("cuSurfObjectCreate", ctypes.byref(handle), ctypes.byref(resource))
        return handle

    def launch(self, function, handle, source, result, count, threads):
        n = ctypes.c_uint32(count)
        args = (ctypes.c_void_p * 4)(*[ctypes.addressof(a) for a in (handle, source, result, n)])
        self.call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, args, None)
        self.call("cuCtxSynchronize")


def run_case(cuda, array, coords, s, is_surface, writes, results, ptx, uploaded):
    function = cuda.function(kernel(ptx, coords.words, results))
    resource, handle = cuda.resource(array, writes)
    made = cuda.surface(resource) if is_surface else cuda.texture(resource, s)
    if coords.name not in uploaded:
        uploaded[coords.name] = cuda.upload(coords.data)
    size = 4 * results * coords.count
    to = cuda.upload(b"\xEE" * max(size, 16))
    cuda.launch(function, made, uploaded[coords.name], to, coords.count, 1 if writes else 128)
    if writes:
        out = ctypes.create_string_buffer(len(array.data))
        cuda.copy(array, 0, out, handle, True)
        return out.raw
    out = ctypes.create_string_buffer(size)
    cuda.call("cuMemcpyDtoH_v2", out, to, ctypes.c_size_t(size))
    cuda.call("cuMemFree_v2", to)
    return out.raw


def words_of(s):
    """The sampler as words."""
    return "{x} {y} {z} {linear} {norm} {integer} {srgb} {seamless} {mip} ".format(**s) + " ".join(
        "%08x" % bits(v) for v in (s["bias"], s["low"], s["high"], *s["border"]))


def record(folder, start):
    """Runs the cases from `start` on; prints the number of the one that ended the context, or nothing."""
    cuda = TextureDriver()
    uploaded, refused, out = {}, [], []
    stopped = ""
    for number in range(start, len(CASES)):
        group, name, at, s, is_surface, writes, results, ptx = CASES[number]
        array, coords = Array.every[name], Coords.every[at]
        try:
            data = run_case(cuda, array, coords, s, is_surface, writes, results, ptx, uploaded)
        except DriverError as why:
            refused.append(f"{group} {name} {at} {ptx}: {why}\n")
            if re.match(r"cu\w+ 7\d\d", str(why)):
                stopped = str(number)
                break
            continue
        kind = ("writes" if writes else "reads") if is_surface else "texture"
        out.append(f"case {group} {name} {at} {kind} {words_of(s)} {results} {len(data)} {ptx}\n".encode() + data)
    (folder / f"part{start}").write_bytes(b"".join(out))
    (folder / f"refused{start}").write_text("".join(refused))
    print(stopped)


def join(folder):
    """All parts in one file, after what they use."""
    starts = sorted(int(p.name[4:]) for p in folder.glob("part*"))
    cases = b"".join((folder / f"part{k}").read_bytes() for k in starts)
    refused = "".join((folder / f"refused{k}").read_text() for k in starts)
    out = []
    for name in dict.fromkeys(case[1] for case in CASES):
        a = Array.every[name]
        out.append(("array %s %s %d %d %d %d %s %d %d %d\n" % (name, a.geometry, *a.size, a.levels, a.form, a.channels,
                                                              a.flags, len(a.data))).encode() + a.data)
    for name in dict.fromkeys(case[2] for case in CASES):
        c = Coords.every[name]
        out.append(f"coords {name} {c.words} {c.count} {len(c.data)}\n".encode() + c.data)
    (folder / "textures.bin.gz").write_bytes(gzip.compress(b"".join(out) + cases, mtime=0))
    (folder / "refused.txt").write_text(refused)
    for k in starts:
        (folder / f"part{k}").unlink()
        (folder / f"refused{k}").unlink()
    print(f"{len(CASES)} cases, {refused.count(chr(10))} refused")


def fault(name):
    """Runs one kernel that must fail, and prints the driver's code."""
    array, at, ptx, is_surface, value = FAULTS[name]
    cuda = TextureDriver()
    array = Array.every[array]
    resource, _ = cuda.make(array)
    try:
        made = cuda.surface(resource) if is_surface else cuda.texture(resource, dict(SAMPLER, y="clamp", z="clamp",
                                                                                     integer=1))
        if value is not None:
            made = ctypes.c_uint64(value)
        to = cuda.upload(b"\xEE" * 64)
        source = cuda.upload(struct.pack("<2i", *at))
        cuda.launch(cuda.function(kernel(ptx, 2, 4)), made, source, to, 1, 1)
        out = ctypes.create_string_buffer(16)
        cuda.call("cuMemcpyDtoH_v2", out, to, ctypes.c_size_t(16))
        print(name, "gave", out.raw.hex())
    except DriverError as why:
        print(name, why)


def thin(source, target):
    """The recording with at most KEPT samples of each coordinates; they are in no order, so the first ones will do."""
    data, at, out = gzip.decompress(source.read_bytes()), 0, []
    while at < len(data):
        end = data.index(b"\n", at)
        fields = data[at:end].decode().split(" ")
        payload = fields[10] if fields[0] == "array" else fields[4] if fields[0] == "coords" else fields[22]
        body = data[end + 1:end + 1 + int(payload)]
        at = end + 1 + int(payload)
        if fields[0] == "coords":
            body = body[:KEPT * 4 * int(fields[2])]
            fields[3:5] = [str(len(body) // (4 * int(fields[2]))), str(len(body))]
        if fields[0] == "case" and fields[4] != "writes":
            body = body[:KEPT * 4 * int(fields[21])]
            fields[22] = str(len(body))
        # Stores come from all samples.
        out.append(" ".join(fields).encode() + b"\n" + body)
    target.write_bytes(gzip.compress(b"".join(out), mtime=0))


def child(*arguments):
    """This program again, in a process that a fault may end."""
    return subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False,
                          timeout=50)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--fault":
        return fault(sys.argv[2])
    if len(sys.argv) == 4 and sys.argv[1] == "--thin":
        return thin(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    folder = pathlib.Path(sys.argv[1])
    if len(sys.argv) == 3:
        return record(folder, int(sys.argv[2]))
    start = 0
    for _ in range(12):
        stopped = child(str(folder), str(start)).stdout.strip()
        if not stopped:
            break
        start = int(stopped) + 1
    join(folder)
    lines = []
    for name in FAULTS:
        run = child("--fault", name)
        lines.append(run.stdout.strip() or f"{name} {run.returncode} {run.stderr[-300:]}")
    (folder / "faults.txt").write_text("\n".join(lines) + "\n")
    return None


if __name__ == "__main__":
    main()

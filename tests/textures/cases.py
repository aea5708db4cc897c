"""What record.py asks a GPU: arrays of texels, coordinates, and the instructions with their samplers."""
import math
import struct

FORMATS = {"u8": (1, 1), "u16": (2, 2), "u32": (3, 4), "s8": (8, 1), "s16": (9, 2), "s32": (10, 4), "f16": (16, 2),
           "f32": (32, 4)}
MODES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
LAYERED, SURFACE, CUBE, GATHER = 1, 2, 4, 8


def mix(x):
    """A 32-bit hash."""
    x = (x * 0x9E3779B9 + 0x7F4A7C15) & 0xFFFFFFFF
    x ^= x >> 16
    x = x * 0x7FEB352D & 0xFFFFFFFF
    x ^= x >> 15
    x = x * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


def unit(i):
    return mix(i) / 4294967296.0


def f32(x):
    """The nearest single-precision number."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def bits(x):
    return struct.unpack("<I", struct.pack("<f", f32(x)))[0]


def next_float(x, steps):
    b = bits(x)
    b = b if b < 0x80000000 else 0x80000000 - b
    b += steps
    return struct.unpack("<f", struct.pack("<I", b if b >= 0 else 0x80000000 - b))[0]


# --- what is sampled


def texels(kind, form, count):
    size = FORMATS[form][1]
    out = []
    for i in range(count):
        h, g = mix(i * 2 + 12345), mix(i * 2 + 777)
        if form == "f32":
            value = {"ramp": lambda: bits(i), "step": lambda: bits(i % 2), "impulse": lambda: bits(i % 5 == 2),
                     "wild": lambda: h & 0x807FFFFF | (120 + g % 14) << 23,
                     "near": lambda: h & 0x007FFFFF | (127 + g % 2) << 23,
                     "special": lambda: (0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 1, 0x007FFFFF, 0x7F7FFFFF,
                                         0xFF7FFFFF, 0, 0x80000000, 0x3F800000, 0x00800000, 0x80000001, h)[i % 14]
                     }[kind]()
        elif form == "f16":
            value = {"wild": lambda: h & 0x83FF | (9 + g % 12) << 10, "near": lambda: h & 0x3FF | (15 + g % 2) << 10,
                     "special": lambda: (0x7C00, 0xFC00, 0x7E00, 0x7C01, 1, 0x03FF, 0x7BFF, 0xFBFF, 0, 0x8000, 0x3C00,
                                         0x0400, 0x8001, h & 0xFFFF)[i % 14]}[kind]()
        else:
            value = {"wild": lambda: h, "ramp": lambda: i, "ramp1": lambda: i + 1, "step": lambda: -(i % 2)}[kind]()
        out.append((value & (1 << 8 * size) - 1).to_bytes(size, "little"))
    return b"".join(out)


class Array:
    """geometry: 1d 2d 3d a1d a2d cube acube linear pitch; depth: slices, or layers (faces, of cubes)."""
    every = {}

    def __init__(self, name, geometry, size, form, channels, kind, levels=1, flags=0):
        self.name, self.geometry, self.form, self.channels, self.levels = name, geometry, form, channels, levels
        self.size = tuple(size) + (1,) * (3 - len(size))
        self.flags = flags | (SURFACE if levels == 1 and geometry not in ("linear", "pitch") else 0)
        if geometry in ("a1d", "a2d", "acube"):
            self.flags |= LAYERED
        if geometry in ("cube", "acube"):
            self.flags |= CUBE
        self.texel = FORMATS[form][1] * channels
        count = sum(w * h * d for w, h, d in map(self.level, range(levels)))
        self.data = texels(kind, form, count * channels)
        Array.every[name] = self

    def level(self, k):
        w, h, d = self.size
        layered = self.geometry in ("a1d", "a2d", "cube", "acube")
        return max(1, w >> k), max(1, h >> k), d if layered else max(1, d >> k)


A = Array
for form, kinds in (("f32", ("wild", "near", "special", "impulse")), ("f16", ("wild", "near", "special"))):
    for kind in kinds:
        A(f"{form}.{kind}.1d", "1d", (64,), form, 1, kind)
        A(f"{form}.{kind}.2d", "2d", (32, 32), form, 1, kind)
        A(f"{form}.{kind}.3d", "3d", (8, 8, 8), form, 1, kind)
A("ramp4096", "1d", (4096,), "f32", 1, "ramp")
A("ramp1000", "1d", (1000,), "f32", 1, "ramp")
A("ramp8", "1d", (8,), "f32", 1, "ramp")
A("ramp6", "1d", (6,), "f32", 1, "ramp")
A("ramp1", "1d", (1,), "f32", 1, "impulse")
A("step8", "1d", (8,), "f32", 1, "step")
A("ramp8x8", "2d", (8, 8), "f32", 1, "ramp")
A("ramp7x5", "2d", (7, 5), "f32", 1, "ramp")
A("ramp8x4x2", "3d", (8, 4, 2), "f32", 1, "ramp")
A("ramp5x3x7", "3d", (5, 3, 7), "f32", 1, "ramp")
for form in FORMATS:
    for channels in (1, 2, 4):
        A(f"{form}x{channels}", "2d", (16, 16), form, channels, "wild")
A("u8.1d", "1d", (64,), "u8", 1, "wild")
A("s8.1d", "1d", (64,), "s8", 1, "wild")
A("u16.1d", "1d", (64,), "u16", 1, "wild")
A("s16.1d", "1d", (64,), "s16", 1, "wild")
A("u8.3d", "3d", (8, 8, 8), "u8", 1, "wild")
A("s16.3d", "3d", (8, 8, 8), "s16", 1, "wild")
A("u8.all", "2d", (16, 16), "u8", 1, "ramp")
A("s8.all", "2d", (16, 16), "s8", 1, "ramp")
A("u8x4.all", "2d", (16, 4), "u8", 4, "ramp")
A("u8x4.next", "2d", (16, 4), "u8", 4, "ramp1")
A("u16.all", "2d", (256, 256), "u16", 1, "ramp")
A("s16.all", "2d", (256, 256), "s16", 1, "ramp")
A("a1d", "a1d", (8, 1, 5), "f32", 1, "ramp")
A("a2d", "a2d", (8, 6, 4), "f32", 1, "ramp")
A("a2d.u8x4", "a2d", (8, 6, 4), "u8", 4, "wild")
A("cube", "cube", (8, 8, 6), "f32", 1, "wild")
A("cube.ramp", "cube", (4, 4, 6), "f32", 1, "ramp")
A("acube", "acube", (4, 4, 18), "f32", 1, "ramp")
A("mip1d", "1d", (16,), "f32", 1, "ramp", 5)
A("mip2d", "2d", (16, 16), "f32", 1, "ramp", 5)
A("mip2d.near", "2d", (16, 16), "f32", 1, "near", 5)
A("mip2d.odd", "2d", (13, 9), "f32", 1, "ramp", 3)
A("mip3d", "3d", (8, 8, 8), "f32", 1, "ramp", 4)
A("mip.a2d", "a2d", (8, 8, 3), "f32", 1, "ramp", 4)
A("mip.u8x4", "2d", (16, 16), "u8", 4, "wild", 5)
A("mip.cube", "cube", (8, 8, 6), "f32", 1, "ramp", 4)
A("gather", "2d", (8, 6), "f32", 4, "ramp", 1, GATHER)
A("gather.u8", "2d", (8, 6), "u8", 4, "wild", 1, GATHER)
A("gather.u32", "2d", (8, 6), "u32", 2, "wild", 1, GATHER)
A("gather.a2d", "a2d", (8, 6, 3), "f32", 4, "ramp", 1, GATHER)
A("gather.cube", "cube", (4, 4, 6), "f32", 4, "ramp", 1, GATHER)
A("linear.f32", "linear", (100,), "f32", 1, "ramp")
A("linear.u8x4", "linear", (100,), "u8", 4, "wild")
A("linear.s16x2", "linear", (64,), "s16", 2, "wild")
A("pitch.f32", "pitch", (24, 10), "f32", 1, "ramp")
A("pitch.u8x4", "pitch", (24, 10), "u8", 4, "wild")

# --- where it is sampled

SPECIAL = [0x7FC00000, 0xFFC00000, 0x7F800001, 0x7F800000, 0xFF800000, 0, 0x80000000, 1, 0x80000001, 0x00800000,
           0x7F7FFFFF, 0xFF7FFFFF] + [bits(s * x) for s in (1, -1) for x in (1e3, 65535.5, 65536, 1e6, 8388607.5,
           8388608, 16777216, 1e9, 2147483520, 2147483648, 4294967296, 1e20, 1e-3, 1e-5, 1e-20)]


def along(n, seed, normalized, count, reach):
    """Words of `count` coordinates on an axis of n texels: edges, weights near ties, specials, random ones."""
    scale = n if normalized else 1
    out = []
    if reach:
        for k in range(-3 * n * 2, 4 * n * 2 + 1):
            for step in (-1, 0, 1):
                out.append(bits(next_float(f32(k / 2 / scale), step)))
        out += SPECIAL
    for k in range(512):
        out.append(bits((n // 2 + k / 512) / scale))
    for k in range(96):
        tie = (mix(seed + k) % (512 * n)) / 512
        out += [bits(next_float(f32(tie / scale), step)) for step in (-2, -1, 0, 1, 2)]
    low, high = (-2 * n, 3 * n) if reach else (-1, n + 1)
    while len(out) < count:
        out.append(bits((low + unit(seed * 7919 + len(out)) * (high - low)) / scale))
    # In an order of its own, so that several axes meet in many ways.
    order = sorted(range(len(out)), key=lambda i: mix(i * 31 + seed))
    return [out[i] for i in order][:count]


class Coords:
    every = {}

    def __init__(self, name, columns):
        self.name, self.words, self.count = name, len(columns), len(columns[0])
        self.data = b"".join(struct.pack("<%dI" % self.words, *row) for row in zip(*columns))
        Coords.every[name] = self


def floats(size, normalized, count=512, reach=True):
    """Coordinates for an array of that size."""
    name = "f%s%s%d%s" % ("x".join(map(str, size)), ".n" if normalized else "", count, "" if reach else ".in")
    if name not in Coords.every:
        Coords(name, [along(n, 101 * (k + 1), normalized, count, reach) for k, n in enumerate(size)])
    return name


def integers(size, scale=1, low=-3, count=256, inside=False):
    """`inside`: the first one is never outside."""
    name = "i%s.%d.%d.%d%s" % ("x".join(map(str, size)), scale, low, count, ".x" if inside else "")
    if name not in Coords.every:
        columns = []
        for k, n in enumerate(size):
            least = 0 if inside and k == 0 else low
            by = scale if k == 0 else 1
            column = [v * by & 0xFFFFFFFF for v in (0x7FFFFFFF, -0x80000000, 65536, -65536)] if least < 0 else []
            i = 0
            while len(column) < count:
                column.append((least + mix(i * 3 + 17 * k) % (n - 2 * least)) * by & 0xFFFFFFFF)
                i += 1
            columns.append([column[(i * (2 * k + 1) + k) % count] for i in range(count)])
        Coords(name, columns)
    return name


def joined(name, *parts):
    """Columns side by side; a part is words, or the name of coordinates."""
    if name not in Coords.every:
        columns = []
        for part in parts:
            if isinstance(part, str):
                c = Coords.every[part]
                rows = struct.unpack("<%dI" % (c.count * c.words), c.data)
                columns += [list(rows[k::c.words]) for k in range(c.words)]
            else:
                columns.append(list(part))
        count = min(map(len, columns))
        Coords(name, [c[:count] for c in columns])
    return name


LAYERS = [0, 1, 2, 3, 4, 5, 6, 100, 65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 2, 1]


def layers(count):
    return [LAYERS[mix(i) % len(LAYERS)] for i in range(count)]


def lods(count, seed=5):
    edges = [bits(x) for x in (0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 100, -1, -0.5, 0.25, 0.75, 1e20, -1e20, 1 / 512,
         3 / 512,
                               0.998, 0.999, 2.499, 3.499)] + SPECIAL[:5]
    out = edges + [bits(next_float(k / 512, s)) for k in range(257, 700, 7) for s in (-1, 0, 1)]
    while len(out) < count:
        out.append(bits(-1 + 6 * unit(len(out) + seed * 1000)))
    return sorted(out[:count], key=lambda b: mix(b + seed))


def slopes(count, scale, seed):
    """Derivatives of several sizes."""
    out = []
    for i in range(count):
        h = mix(i + seed * 4099)
        if h % 8 == 0:
            out.append(bits((0, 0, 1, 2, 0.5, 4, 3, 1.5)[h // 8 % 8] / scale))
        elif h % 31 == 1:
            out.append(SPECIAL[h // 64 % 5])
        else:
            out.append(bits((unit(i + seed) * 2 - 1) * 2 ** (mix(i * 3 + seed) % 6 - 1) / scale))
    return out


def directions(count):
    values = [0, 0x80000000] + [bits(x) for x in (1, -1, 0.5, -0.5, 0.25, 1e-3, 3)] + SPECIAL[:5]
    out = []
    for i in range(count):
        row = []
        for k in range(3):
            h = mix(i * 3 + k)
            row.append(values[h % len(values)] if i % 4 == 0 else bits(unit(h) * 2 - 1))
        if i % 16 == 1:
            row[1] = row[0]
        if i % 16 == 2:
            row[2] = row[1] ^ 0x80000000
        out.append(row)
    return [list(c) for c in zip(*out)]


# --- with what

SAMPLER = {"x": "clamp", "y": None, "z": None, "linear": 0, "norm": 0, "integer": 0, "srgb": 0, "seamless": 0,
           "mip": 0, "bias": 0.0, "low": 0.0, "high": 0.0, "border": (0.0, 0.0, 0.0, 0.0)}
BORDER = (0.25, -1.5, 3.0, 0.7)
CASES = []


def case(array, coords, ptx, results=4, group="", surface=False, writes=False, **sampler):
    s = dict(SAMPLER, **sampler)
    s["y"], s["z"] = s["y"] or s["x"], s["z"] or s["y"] or s["x"]
    CASES.append((group, array, coords, s, surface, writes, results, ptx))


def tex(geometry, args, texel="f32", coord="f32", level="", extra="", op="tex"):
    dst = {"f32": "{%f10, %f11, %f12, %f13}", "f16": "{%h0, %h1, %h2, %h3}", "f16x2": "{%q0, %q1}"}.get(
        texel, "{%q0, %q1, %q2, %q3}")
    vector = "v2" if texel == "f16x2" else "v4"
    at = args if args.count(",") == 0 else "{%s}" % args
    after = {"f32": "mov.b32 %q0, %f10; mov.b32 %q1, %f11; mov.b32 %q2, %f12; mov.b32 %q3, %f13;",
             "f16": "cvt.u32.u16 %q0, %h0; cvt.u32.u16 %q1, %h1; cvt.u32.u16 %q2, %h2; cvt.u32.u16 %q3, %h3;"}.get(
                 texel, "")
    return f"{op}.{level}{geometry}.{vector}.{texel}.{coord} {dst}, [%t, {at}]{extra}; {after}".strip()


ARGS = {"1d": "%f0", "2d": "%f0, %f1", "3d": "%f0, %f1, %f2, %f2", "a1d": "%r0, %f1", "a2d": "%r0, %f1, %f2, %f2",
        "cube": "%f0, %f1, %f2, %f2", "acube": "%r0, %f1, %f2, %f3"}
IARGS = {"1d": "%r0", "2d": "%r0, %r1", "3d": "%r0, %r1, %r2, %r2", "a1d": "%r0, %r1", "a2d": "%r0, %r1, %r2, %r2"}

# Weights and the blend.
for name, n in (("ramp4096", 4096), ("ramp1000", 1000)):
    for norm in (0, 1):
        case(name, floats((n,), norm, 512, False), tex("1d", ARGS["1d"]), 1, "weights", linear=1, norm=norm)
        case(name, floats((n,), norm, 512, False), tex("1d", ARGS["1d"]), 1, "places", norm=norm)
for kind in ("impulse", "wild", "near", "special"):
    for form in ("f32", "f16"):
        if form == "f16" and kind == "impulse":
            continue
        many = 768
        case(f"{form}.{kind}.1d", floats((64,), 0, many, False), tex("1d", ARGS["1d"]), 1, "blend", linear=1)
        case(f"{form}.{kind}.2d", floats((32, 32), 0, many, False), tex("2d", ARGS["2d"]), 1, "blend", linear=1)
        case(f"{form}.{kind}.3d", floats((8, 8, 8), 0, many, False), tex("3d", ARGS["3d"]), 1, "blend", linear=1)
for form in ("u8", "s8", "u16", "s16"):
    case(f"{form}.1d", floats((64,), 0, 512, False), tex("1d", ARGS["1d"]), 1, "blend", linear=1)
    case(f"{form}x1", floats((16, 16), 0, 768, False), tex("2d", ARGS["2d"]), 1, "blend", linear=1)
for form in ("u8", "s16"):
    case(f"{form}.3d", floats((8, 8, 8), 0, 768, False), tex("3d", ARGS["3d"]), 1, "blend", linear=1)

# Address modes, at and past the edges.
for linear in (0, 1):
    for mode in MODES:
        for norm in (0, 1):
            for name, size in (("ramp8", (8,)), ("ramp6", (6,))):
                case(name, floats(size, norm, 512), tex("1d", ARGS["1d"]), 1, "modes", x=mode, linear=linear, norm=norm,
                     border=BORDER)
        for name, size in (("ramp8x8", (8, 8)), ("ramp7x5", (7, 5))):
            case(name, floats(size, 1), tex("2d", ARGS["2d"]), 1, "modes", x=mode, linear=linear, norm=1, border=BORDER)
        case("ramp5x3x7", floats((5, 3, 7), 1), tex("3d", ARGS["3d"]), 1, "modes", x=mode, linear=linear, norm=1,
             border=BORDER)
    case("ramp1", floats((1,), 1), tex("1d", ARGS["1d"]), 1, "modes", x="mirror", linear=linear, norm=1)
    case("ramp8x8", floats((8, 8), 0), tex("2d", ARGS["2d"]), 1, "modes", x="border", linear=linear)
    case("ramp8x8", floats((8, 8), 1), tex("2d", ARGS["2d"]), 1, "modes", x="wrap", y="mirror", linear=linear, norm=1)
    case("ramp8x8", floats((8, 8), 1), tex("2d", ARGS["2d"]), 1, "modes", x="border", y="clamp", linear=linear, norm=1,
         border=BORDER)
    case("ramp8x4x2", floats((8, 4, 2), 1), tex("3d", ARGS["3d"]), 1, "modes", x="wrap", y="clamp", z="mirror",
         linear=linear, norm=1)

# Formats.
for form in FORMATS:
    for channels in (1, 2, 4):
        at = floats((16, 16), 0, 512)
        name = f"{form}x{channels}"
        own = "f32" if form[0] == "f" else form[0] + "32"
        case(name, at, tex("2d", ARGS["2d"], own), 4, "formats", integer=int(form[0] != "f"), x="border", border=BORDER)
        if form in ("u8", "s8", "u16", "s16"):
            case(name, at, tex("2d", ARGS["2d"]), 4, "formats", x="border", border=BORDER)
            if channels == 4:
                case(name, at, tex("2d", ARGS["2d"]), 4, "formats", linear=1, x="border", border=BORDER)
        if form == "f16":
            case(name, at, tex("2d", ARGS["2d"]), 4, "formats", linear=1, x="border", border=BORDER)
case("u32x1", floats((16, 16), 0, 512), tex("2d", ARGS["2d"], "f32"), 4, "formats", integer=1)
case("u32x1", floats((16, 16), 0, 512), tex("2d", ARGS["2d"], "u32"), 4, "formats", integer=0)
case("u8x4", floats((16, 16), 0, 512), tex("2d", ARGS["2d"], "s32"), 4, "formats", integer=1)
case("s8x4", floats((16, 16), 0, 512), tex("2d", ARGS["2d"], "u32"), 4, "formats", integer=1)
case("u8x4", floats((16, 16), 0, 512), tex("2d", ARGS["2d"], "u32"), 4, "formats", integer=1, linear=1)
for texel in ("f16", "f16x2"):
    for name in ("f16x4", "f32x4", "u8x4"):
        for linear in (0, 1):
            case(name, floats((16, 16), 0, 512), tex("2d", ARGS["2d"], texel), 2 if texel == "f16x2" else 4, "halves",
                 linear=linear)
    case("f16x1", integers((16, 16)), tex("2d", IARGS["2d"], texel, "s32"), 2 if texel == "f16x2" else 4, "halves")
for name, size in (("u8.all", (16, 16)), ("s8.all", (16, 16))):
    grid = joined("all.%dx%d" % size, [i % size[0] for i in range(size[0] * size[1])],
                  [i // size[0] for i in range(size[0] * size[1])])
    case(name, grid, tex("2d", IARGS["2d"], coord="s32"), 1, "conversions")
wide = joined("all.256x256", [(0, 1, 127, 128, 254, 255)[i] if i < 6 else mix(i) % 256 for i in range(1024)],
              [(0, 255, 127, 128, 127, 255)[i] if i < 6 else mix(i) >> 8 & 255 for i in range(1024)])
case("u16.all", wide, tex("2d", IARGS["2d"], coord="s32"), 1, "conversions")
case("s16.all", wide, tex("2d", IARGS["2d"], coord="s32"), 1, "conversions")
for name in ("u8x4.all", "u8x4.next"):
    case(name, joined("all.16x4", [i % 16 for i in range(64)], [i // 16 for i in range(64)]),
         tex("2d", IARGS["2d"], coord="s32"), 4, "conversions", srgb=1)
case("u8x4.all", floats((16, 4), 0), tex("2d", ARGS["2d"]), 4, "conversions", srgb=1, linear=1)
case("u8x4", floats((16, 16), 0), tex("2d", ARGS["2d"]), 4, "conversions", srgb=1, linear=1, x="border", border=BORDER)

# Layers.
for linear in (0, 1):
    for norm in (0, 1):
        case("a1d", joined(f"a1d.{norm}", layers(512), floats((8,), norm, 512)), tex("a1d", ARGS["a1d"]), 1, "layers",
             linear=linear, norm=norm)
        case("a2d", joined(f"a2d.{norm}", layers(512), floats((8, 6), norm, 512)), tex("a2d", ARGS["a2d"]), 1, "layers",
             linear=linear, norm=norm)
    case("a2d", joined("a2d.1", layers(512)), tex("a2d", ARGS["a2d"]), 1, "layers", linear=linear, norm=1, x="border",
         border=BORDER)
    case("a2d.u8x4", joined("a2d.1", layers(512)), tex("a2d", ARGS["a2d"]), 4, "layers", linear=linear, norm=1,
         x="wrap")
case("a2d.u8x4", joined("a2d.0", layers(512)), tex("a2d", ARGS["a2d"], "u32"), 4, "layers", integer=1)

# Integer coordinates.
for mode in MODES:
    for name, geometry, size in (("ramp8", "1d", (8,)), ("ramp8x8", "2d", (8, 8)), ("ramp5x3x7", "3d", (5, 3, 7))):
        case(name, integers(size), tex(geometry, IARGS[geometry], coord="s32"), 1, "integers", x=mode, border=BORDER)
case("ramp8x8", integers((8, 8)), tex("2d", IARGS["2d"], coord="s32"), 1, "integers", x="wrap", norm=1)
case("ramp8x8", integers((8, 8)), tex("2d", IARGS["2d"], coord="s32"), 1, "integers", linear=1)
case("a1d", joined("a1d.i", layers(256), integers((8,))), tex("a1d", IARGS["a1d"], coord="s32"), 1, "integers")
case("a2d", joined("a2d.i", layers(256), integers((8, 6))), tex("a2d", IARGS["a2d"], coord="s32"), 1, "integers",
     x="border", border=BORDER)
for name, n in (("linear.f32", 100), ("linear.u8x4", 100), ("linear.s16x2", 64)):
    for mode in ("clamp", "border", "wrap"):
        case(name, integers((n,)), tex("1d", IARGS["1d"], coord="s32"), 4, "linear", x=mode, border=BORDER)
    if name != "linear.f32":
        case(name, integers((n,)), tex("1d", IARGS["1d"], name[7] + "32", "s32"), 4, "linear", integer=1)
case("linear.f32", floats((100,), 0, 512), tex("1d", ARGS["1d"]), 4, "linear")
for name in ("pitch.f32", "pitch.u8x4"):
    for linear in (0, 1):
        case(name, floats((24, 10), 0, 512), tex("2d", ARGS["2d"]), 4, "linear", linear=linear)
        for mode in MODES:
            case(name, floats((24, 10), 1, 512), tex("2d", ARGS["2d"]), 4, "linear", linear=linear, norm=1, x=mode)

# Cube maps.
joined("ways", *directions(1024))
for seamless in (0, 1):
    for linear in (0, 1):
        for name in ("cube", "cube.ramp"):
            case(name, "ways", tex("cube", ARGS["cube"]), 1, "cubes", linear=linear, seamless=seamless, norm=1)
        case("acube", joined("acube.ways", layers(512), "ways"), tex("acube", ARGS["acube"]), 1, "cubes",
             linear=linear, seamless=seamless, norm=1)

# Levels.
flat = joined("lod.2d", floats((16, 16), 1, 512, False), lods(512))
for linear in (0, 1):
    for mip in (0, 1):
        for name in ("mip2d", "mip2d.near", "mip.u8x4"):
            case(name, flat, tex("2d", ARGS["2d"], level="level.", extra=", %f2"), 4 if "u8" in name else 1, "levels",
                 linear=linear, mip=mip, norm=1, high=10.0)
        case("mip1d", joined("lod.1d", floats((16,), 1, 512, False), lods(512)),
             tex("1d", ARGS["1d"], level="level.", extra=", %f1"), 1, "levels", linear=linear, mip=mip, norm=1,
                  high=10.0)
        case("mip3d", joined("lod.3d", floats((8, 8, 8), 1, 512, False), lods(512)),
             tex("3d", ARGS["3d"], level="level.", extra=", %f3"), 1, "levels", linear=linear, mip=mip, norm=1,
                  high=10.0)
        case("mip.a2d", joined("lod.a2d", layers(512), floats((8, 8), 1, 512, False), lods(512)),
             tex("a2d", ARGS["a2d"], level="level.", extra=", %f3"), 1, "levels", linear=linear, mip=mip, norm=1,
             high=10.0)
        case("mip.cube", joined("lod.cube", "ways", lods(512)),
             tex("cube", ARGS["cube"], level="level.", extra=", %f3"), 1, "levels", linear=linear, mip=mip, norm=1,
             high=10.0)
        case("mip2d", flat, tex("2d", ARGS["2d"], level="level.", extra=", %f2"), 1, "levels", linear=linear, mip=mip,
             norm=1, bias=0.7, low=0.4, high=2.6)
        case("mip2d", flat, tex("2d", ARGS["2d"]), 1, "levels", linear=linear, mip=mip, norm=1, bias=1.25, high=10.0)
        case("mip2d", flat, tex("2d", ARGS["2d"], level="base."), 1, "levels", linear=linear, mip=mip, norm=1,
             bias=1.25, low=0.5, high=10.0)
        case("mip2d.odd", joined("lod.odd", floats((13, 9), 1, 512, False), lods(512)),
             tex("2d", ARGS["2d"], level="level.", extra=", %f2"), 1, "levels", linear=linear, mip=mip, norm=1,
                  high=10.0)
        grad = joined("grad.2d", floats((16, 16), 1, 512, False), *[slopes(512, 16, k) for k in range(4)])
        for name in ("mip2d", "mip2d.near"):
            case(name, grad, tex("2d", ARGS["2d"], level="grad.", extra=", {%f2, %f3}, {%f4, %f5}"), 1, "slopes",
                 linear=linear, mip=mip, norm=1, high=10.0)
        case("mip1d", joined("grad.1d", floats((16,), 1, 512, False), slopes(512, 16, 1), slopes(512, 16, 2)),
             tex("1d", ARGS["1d"], level="grad.", extra=", {%f1}, {%f2}"), 1, "slopes", linear=linear, mip=mip, norm=1,
             high=10.0)
case("ramp8x8", flat, tex("2d", ARGS["2d"], level="level.", extra=", %f2"), 1, "levels", norm=1, linear=1)
case("ramp8x8", grad, tex("2d", ARGS["2d"], level="grad.", extra=", {%f2, %f3}, {%f4, %f5}"), 1, "levels", norm=1)
fine = joined("lod.fine", [bits(0.53)] * 512, [bits(0.47)] * 512, [bits(3 * k / 512) for k in range(512)])
case("mip2d", fine, tex("2d", ARGS["2d"], level="level.", extra=", %f2"), 1, "slopes", linear=1, mip=1, norm=1,
     high=10.0)
steep = joined("grad.fine", [bits(0.53)] * 512, [bits(0.47)] * 512,
               [bits(2 ** (4 * k / 512) / 16) for k in range(512)])
case("mip2d", steep, tex("2d", ARGS["2d"], level="grad.", extra=", {%f2, 0f00000000}, {0f00000000, 0f00000000}"), 1,
     "slopes", linear=1, mip=1, norm=1, high=10.0)

# Gathers, offsets, queries.
for component in "rgba":
    for norm in (0, 1):
        case("gather", floats((8, 6), norm, 512), tex(f"{component}.2d", ARGS["2d"], op="tld4"), 4, "gathers",
             norm=norm, linear=1)
    case("gather.u8", floats((8, 6), 1, 512), tex(f"{component}.2d", ARGS["2d"], op="tld4"), 4, "gathers", norm=1,
         linear=1, x="wrap")
for mode in MODES:
    case("gather", floats((8, 6), 1, 512), tex("g.2d", ARGS["2d"], op="tld4"), 4, "gathers", norm=1, x=mode,
         border=BORDER)
case("gather.u8", floats((8, 6), 0, 512), tex("g.2d", ARGS["2d"], "u32", op="tld4"), 4, "gathers", integer=1)
case("gather.u32", floats((8, 6), 0, 512), tex("g.2d", ARGS["2d"], "u32", op="tld4"), 4, "gathers", integer=1)
case("gather.u32", floats((8, 6), 0, 512), tex("b.2d", ARGS["2d"], "u32", op="tld4"), 4, "gathers", integer=1)
case("gather.a2d", joined("gather.a2d", layers(512), floats((8, 6), 1, 512)),
     tex("r.a2d", ARGS["a2d"], op="tld4"), 4, "gathers", norm=1, linear=1)
case("a2d", "gather.a2d", tex("r.a2d", ARGS["a2d"], op="tld4"), 4, "gathers", norm=1, linear=1)
case("cube.ramp", "ways", tex("r.cube", ARGS["cube"], op="tld4"), 4, "gathers", norm=1, linear=1)
case("gather.cube", "ways", tex("r.cube", ARGS["cube"], op="tld4"), 4, "gathers", norm=1, linear=1)
case("gather.cube", "ways", tex("r.cube", ARGS["cube"], op="tld4"), 4, "gathers", norm=1, linear=1, seamless=1)
for linear in (0, 1):
    for mode in ("clamp", "wrap", "border"):
        case("ramp8x8", floats((8, 8), 1, 512), tex("2d", ARGS["2d"], extra=", {2, -3}"), 1, "offsets", linear=linear,
             norm=1, x=mode)
    case("a2d", joined("a2d.1", layers(512)), tex("a2d", ARGS["a2d"], extra=", {-1, 2}"), 1, "offsets", linear=linear,
         norm=1)
    case("ramp5x3x7", floats((5, 3, 7), 1, 512), tex("3d", ARGS["3d"], extra=", {1, -1, 2, 0}"), 1, "offsets",
         linear=linear, norm=1)
    case("mip2d", flat, tex("2d", ARGS["2d"], level="level.", extra=", %f2, {1, -2}"), 1, "offsets", linear=linear,
         norm=1, mip=1, high=10.0)
case("ramp8", integers((8,)), tex("1d", IARGS["1d"], coord="s32", extra=", {7, 0}"), 1, "offsets")
case("gather", floats((8, 6), 1, 512), tex("r.2d", ARGS["2d"], op="tld4", extra=", {-2, 1}"), 4, "offsets", norm=1)
once = joined("once", [0], [0], [0])
for name in ("f32x4", "u8x2", "s16x1", "f16x1", "a2d", "cube", "acube", "ramp5x3x7", "mip2d.odd", "linear.u8x4",
             "pitch.f32", "ramp6"):
    # The driver links none of the others.
    for query in ("width", "height", "depth"):
        case(name, once, f"txq.{query}.b32 %q0, [%t];", 1, "queries", norm=1, x="mirror", linear=1)
case("mip2d.odd", joined("lod.query", [0, 1, 2, 3]), "txq.level.width.b32 %q0, [%t], %r0;", 1, "queries", norm=1)
for name in ("f32x4", "u8x2", "s16x1", "f16x1", "a2d", "cube", "ramp5x3x7", "ramp6"):
    for query in ("width", "height", "depth"):
        case(name, once, f"suq.{query}.b32 %q0, [%t];", 1, "queries", surface=True)
for surface in (False, True):
    for kind in ("texref", "samplerref", "surfref"):
        case("f32x4", once, f"istypep.{kind} %p1, %t; selp.u32 %q0, 1, 0, %p1;", 1, "queries", surface=surface)

# Surfaces. Stores and reductions run one after the other in one thread.
SARGS = {"1d": "%r0", "2d": "%r0, %r1", "3d": "%r0, %r1, %r2, %r2", "a1d": "%r0, %r1", "a2d": "%r0, %r1, %r2, %r2"}


def surface(op, geometry, kind, size, mode):
    """suld or sust of `size` elements; values are in %q and %w (64 bits)."""
    vector = {1: "", 2: ".v2", 4: ".v4"}[size]
    registers = {"b8": "%%h%d", "b16": "%%h%d", "b32": "%%q%d", "b64": "%%w%d"}[kind[-3:].strip(".")]
    data = ", ".join(registers % k for k in range(size))
    data = data if size == 1 else "{%s}" % data
    at = SARGS[geometry]
    at = at if "," not in at else "{%s}" % at
    if op == "suld":
        after = {"%%h%d": "".join(f" cvt.u32.u16 %q{k}, %h{k};" for k in range(size)),
                 "%%w%d": "".join(f" mov.b64 {{%q{2 * k}, %q{2 * k + 1}}}, %w{k};" for k in range(min(size, 2)))}.get(
                     registers, "")
        return f"suld.b.{geometry}{vector}.{kind}.{mode} {data}, [%t, {at}];{after}"
    return f"sust.{'' if kind[1] == '.' else 'b.'}{geometry}{vector}.{kind}.{mode} [%t, {at}], {data};"


SURFACES = (("u8x1", "b8", 1, 1), ("u8x2", "b16", 1, 2), ("u8x4", "b32", 1, 4), ("u8x4", "b8", 4, 4), ("f16x2", "b16",
     2, 4),
            ("f32x1", "b32", 1, 4), ("f32x2", "b32", 2, 8), ("f32x2", "b64", 1, 8), ("f32x4", "b32", 4, 16), ("f32x4",
                 "b64", 2, 16))
for mode in ("clamp", "zero", "trap"):
    low, stays = 0 if mode == "trap" else -3, mode == "clamp"
    for name, kind, size, step in SURFACES:
        at = integers((16, 16), step, low, 256, stays)
        case(name, at, surface("suld", "2d", kind, size, mode), 4, "surfaces", True)
        values = [[mix(i * 5 + k) for i in range(256)] for k in range(4)]
        load = " ".join(f"mov.b32 %q{k}, %r{2 + k};" for k in range(4))
        load += " cvt.u16.u32 %h0, %q0; cvt.u16.u32 %h1, %q1; cvt.u16.u32 %h2, %q2; cvt.u16.u32 %h3, %q3;"
        load += " mov.b64 %w0, {%q0, %q1}; mov.b64 %w1, {%q2, %q3}; "
        case(name, joined("store." + at, at, *values), load + surface("sust", "2d", kind, size, mode), 0, "surfaces",
             True,
             True)
    for name, geometry, size in (("ramp8", "1d", (8,)), ("ramp5x3x7", "3d", (5, 3, 7))):
        case(name, integers(size, 4, low, 256, stays), surface("suld", geometry, "b32", 1, mode), 4, "surfaces", True)
        case(name, integers(size, 4, low, 256, stays), "mov.b32 %q0, %r0; " + surface("sust", geometry, "b32", 1,
             mode), 0, "surfaces",
             True, True)
    if mode != "trap":
        case("a1d", joined("a1d.s" + mode, layers(256), integers((8,), 4, -3, 256, stays)), surface("suld", "a1d",
             "b32", 1, mode), 4, "surfaces",
             True)
        case("a2d", joined("a2d.s" + mode, layers(256), integers((8, 6), 4, -3, 256, stays)), surface("suld", "a2d",
             "b32", 1, mode), 4,
             "surfaces", True)
        case("a2d", joined("a2d.s" + mode, layers(256), integers((8, 6), 4, -3, 256, stays)), "mov.b32 %q0, %r1; " +
             surface("sust", "a2d", "b32", 1, mode), 0, "surfaces", True, True)
        # Where a coordinate is no multiple of the access.
    for form in ("f32x1", "u32x1", "s32x2", "u8x4", "s8x2", "u16x1", "f16x4", "f32x4"):
        pos = integers((16, 16), 1, low, 256, stays)
        values = [[bits(unit(i * 4 + k) * 3 - 1.5) if mix(i + k) % 4 else mix(i * 9 + k) for i in range(256)]
                  for k in range(4)]
        load = " ".join(f"mov.b32 %q{k}, %r{2 + k};" for k in range(4)) + " "
        case(form, joined("format." + pos, pos, *values), load + surface("sust", "2d", "p.b32", 4, mode).replace(
            "sust.2d.v4.p.b32", "sust.p.2d.v4.b32"), 0, "formatted", True, True)
    for op in ("add", "min", "max", "and", "or"):
        kinds = ("b32",) if op in ("and", "or") else ("u32", "s32", "u64") if op == "add" else ("u32", "s32", "u64",
             "s64")
        for kind in kinds:
            wide64 = kind[1:] == "64"
            name = "f32x2" if wide64 else "u32x1"
            at = integers((16, 16), 8 if wide64 else 4, low, 256, stays)
            reds = joined("red." + at, at, *[[mix(i * 5 + k) for i in range(256)] for k in range(2)])
            value = "%w0" if wide64 else "%r2"
            case(name, reds,
                 "mov.b64 %w0, {%r2, %r3}; " + f"sured.b.{op}.2d.{kind}.{mode} [%t, {{%r0, %r1}}], {value};", 0,
                 "reductions", True, True)
        case("u32x1", joined("red.p" + mode, integers((16, 16), 1, low, 256, stays), [mix(i) for i in range(256)]),
             f"sured.p.{op}.2d.b32.{mode} [%t, {{%r0, %r1}}], %r2;", 0, "reductions", True, True)

# What must end the kernel: (array, coordinates, PTX, handle of a surface, what is added to the handle).
FAULTS = {
    "suld.trap": ("u32x1", (64, 0), "suld.b.2d.b32.trap %q0, [%t, {%r0, %r1}];", True, None),
    "sust.trap": ("u32x1", (-4, 0), "sust.b.2d.b32.trap [%t, {%r0, %r1}], %r0;", True, None),
    "suld.unaligned": ("u32x1", (2, 0), "suld.b.2d.b32.zero %q0, [%t, {%r0, %r1}];", True, None),
    "sust.unaligned": ("u32x1", (2, 0), "sust.b.2d.b32.zero [%t, {%r0, %r1}], %r0;", True, None),
    "suld.clamp.left": ("u32x1", (-4, 0), "suld.b.2d.b32.clamp %q0, [%t, {%r0, %r1}];", True, None),
    "suld.clamp.right": ("u32x1", (64, 0), "suld.b.2d.b32.clamp %q0, [%t, {%r0, %r1}];", True, None),
    "suld.clamp.byte": ("u8x1", (16, 0), "suld.b.2d.b8.clamp %h0, [%t, {%r0, %r1}]; cvt.u32.u16 %q0, %h0;", True, None),
    "suld.clamp.far": ("u32x1", (0x7FFFFFFC, 0), "suld.b.2d.b32.clamp %q0, [%t, {%r0, %r1}];", True, None),
    "suld.clamp.vector": ("f32x4", (256, 0), "suld.b.2d.v4.b32.clamp {%q0, %q1, %q2, %q3}, [%t, {%r0, %r1}];", True,
         None),
    "suld.zero.unaligned": ("u32x1", (66, 0), "suld.b.2d.b32.zero %q0, [%t, {%r0, %r1}];", True, None),
    "suld.zero.straddles": ("u8x1", (12, 0), "suld.b.2d.v4.b32.zero {%q0, %q1, %q2, %q3}, [%t, {%r0, %r1}];", True,
         None),
    "suld.wider": ("u8x1", (0, 0), "suld.b.2d.b32.zero %q0, [%t, {%r0, %r1}];", True, None),
    "tex.null": ("u32x1", (0, 0), tex("2d", IARGS["2d"], "u32", "s32"), False, 0),
    "tex.wild": ("u32x1", (0, 0), tex("2d", IARGS["2d"], "u32", "s32"), False, 0x123456789ABCDEF0),
    "tex.surface": ("u32x1", (0, 0), tex("2d", IARGS["2d"], "u32", "s32"), True, None),
    "suld.null": ("u32x1", (0, 0), "suld.b.2d.b32.zero %q0, [%t, {%r0, %r1}];", True, 0),
    "suld.texture": ("u32x1", (0, 0), "suld.b.2d.b32.zero %q0, [%t, {%r0, %r1}];", False, None),
    "tex.geometry": ("u32x1", (0, 0), tex("1d", IARGS["1d"], "u32", "s32"), False, None),
    "tex.geometry3": ("ramp8x8", (0, 0), tex("3d", IARGS["3d"], "u32", "s32"), False, None),
}



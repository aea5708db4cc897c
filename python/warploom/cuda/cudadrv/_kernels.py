"""Copies between differently strided memory on the device, as generated PTX."""

from __future__ import annotations

from typing import Sequence, Tuple

from warploom import _core

from . import _geometry
from ._calls import call
from ._streams import core_stream

_BLOCK = 256
_LARGEST_GRID = (1 << 31) - 1


def _ptx(width: int, ndim: int) -> str:
    """A kernel that copies elements of ``width`` bytes; parameters: dst, src, count, shape, dst and src strides."""
    names = ["shape", "dst_stride", "src_stride"]
    params = ["dst", "src", "count"] + ["%s%d" % (name, axis) for name in names for axis in range(ndim)]
    body = []
    # The last axis varies fastest; the index that is left over after axis 1 is that of axis 0.
    for axis in range(ndim - 1, -1, -1):
        body.append("    ld.param.u64 %%a, [dst_stride%d];\n    ld.param.u64 %%b, [src_stride%d];" % (axis, axis))
        if axis:
            body.append("    ld.param.u64 %%n, [shape%d];\n    div.u64 %%q, %%i, %%n;\n    mul.lo.u64 %%r, %%q, %%n;\n"
                        "    sub.u64 %%r, %%i, %%r;\n    mov.u64 %%i, %%q;" % axis)
        else:
            body.append("    mov.u64 %r, %i;")
        body.append("    mad.lo.u64 %dst, %r, %a, %dst;\n    mad.lo.u64 %src, %r, %b, %src;")
    return """.version 7.0
.target sm_70
.address_size 64
.visible .entry copy(
%s
)
{
    .reg .pred %%p;
    .reg .b32 %%x<4>;
    .reg .b64 %%i, %%n, %%q, %%r, %%a, %%b, %%dst, %%src, %%c;
    .reg .b%d %%v;
    mov.u32 %%x0, %%ctaid.x;
    mov.u32 %%x1, %%ntid.x;
    mov.u32 %%x2, %%tid.x;
    cvt.u64.u32 %%i, %%x2;
    mul.wide.u32 %%c, %%x0, %%x1;
    add.u64 %%i, %%i, %%c;
    ld.param.u64 %%c, [count];
    setp.ge.u64 %%p, %%i, %%c;
    @%%p ret;
    ld.param.u64 %%dst, [dst];
    ld.param.u64 %%src, [src];
%s
    ld.global.b%d %%v, [%%src];
    st.global.b%d [%%dst], %%v;
    ret;
}
""" % (",\n".join("    .param .u64 %s" % name for name in params), max(width * 8, 16), "\n".join(body), width * 8,
       width * 8)


def _launcher(context, width: int, ndim: int):
    key = ("warploom strided copy", width, ndim, context._generation)
    launcher = context.extras.get(key)
    if launcher is None:
        module = call("cuModuleLoadDataEx", context._core_device.load_ptx, _ptx(width, ndim), "<strided copy>")
        types = ["uint64"] * 3 + ["int64"] * (3 * ndim)
        launcher = context.extras[key] = _core.Launcher(module.kernel("copy"), types)
    return launcher


def strided_copy(context, dst: int, dst_strides: Sequence[int], src: int, src_strides: Sequence[int],
                 shape: Sequence[int], itemsize: int, stream) -> None:
    """Queues ``dst[...] = src[...]`` on ``stream``: elements of ``itemsize`` bytes, strides in bytes (0 repeats)."""
    if 0 in shape:
        return
    # Axes of one element do not matter; neighbours that form one run in both arrays are one axis.
    axes: list = []
    for axis in zip(shape, dst_strides, src_strides):
        if axis[0] == 1:
            continue
        if axes and axes[-1][1] == axis[0] * axis[1] and axes[-1][2] == axis[0] * axis[2]:
            axes[-1] = (axes[-1][0] * axis[0], axis[1], axis[2])
        else:
            axes.append(axis)
    # The widest unit that everything is a multiple of.
    together = dst | src | itemsize
    for _, a, b in axes:
        together |= a | b
    width = min(together & -together, 8)
    if itemsize > width:
        axes.append((itemsize // width, width, width))
        if len(axes) > 1 and axes[-2][1] == itemsize and axes[-2][2] == itemsize:
            axes[-2:] = [(axes[-2][0] * itemsize // width, width, width)]
    count = _geometry.size_of(axis[0] for axis in axes)
    flat: Tuple[int, ...] = tuple(axis[part] for part in range(3) for axis in axes)
    blocks = -(-count // _BLOCK)
    if blocks > _LARGEST_GRID:
        raise ValueError("a copy of %d elements is too large for one launch" % count)
    call("cuLaunchKernel", _launcher(context, width, len(axes)).launch, blocks, _BLOCK, core_stream(stream, context), 0,
         False, (dst, src, count) + flat)

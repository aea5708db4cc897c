"""PTX and CUDA C++ texts are linked into one that runs, and what does not fit together is named."""

import ctypes
import struct

import pytest

from warploom import _core, cuda
from warploom.cuda.cudadrv.driver import LinkerError
from warploom.cuda.cudadrv.error import NvrtcCompilationError
from warploom.cuda.cudadrv.linkable_code import Cubin, CUSource, Fatbin, LinkableCode, PTXSource
from warploom.cuda.cudadrv.linker import Linker, link_kernel

KERNEL = """.version 7.0
.target sm_70
.address_size 64
.file 1 "kernel.py"
.extern .func (.param .b32 func_retval0) twice (.param .b64 result, .param .b32 value);
.extern .global .align 4 .u32 offset;
.global .align 4 .u32 local = 100;
.visible .entry kernel(.param .u64 out)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<8>;
    ld.param.u64 %rd1, [out];
    .loc 1 3 0
    { .param .b64 a; .param .b32 b; .param .b32 c;
      st.param.b64 [a], %rd1;
      st.param.b32 [b], 21;
      call.uni (c), twice, (a, b);
      ld.param.b32 %r1, [c]; }
    ld.u32 %r2, [%rd1];
    ld.global.u32 %r3, [offset];
    ld.global.u32 %r4, [local];
    add.u32 %r5, %r2, %r3;
    add.u32 %r6, %r5, %r4;
    st.u32 [%rd1], %r6;
    ret;
}
"""
LIBRARY = CUSource("""
__device__ unsigned offset = 1000;
static __device__ __noinline__ int local(int x) { return 2 * x; }
extern "C" __device__ int twice(int* result, int value) { *result = local(value); return 0; }
""", name="library.cu")


def run(ptx):
    context = cuda.current_context()
    function = context.create_module_ptx(ptx).get_function("kernel")
    memory = context.memalloc(4)
    _core.Launcher(function.kernel, ["uint64"]).launch(1, 1, None, 0, False, (memory.device_pointer,))
    result = ctypes.c_int()
    cuda.cudadrv.driver.device_to_host(result, memory, 4)
    return result.value


def test_a_kernel_calls_cuda_cpp_and_shares_its_variables():
    assert run(link_kernel(KERNEL, "kernel", [LIBRARY, LIBRARY], (9, 0))) == 42 + 1000 + 100


def test_the_first_definition_of_a_weak_function_is_taken_and_strong_ones_win():
    weak = ".version 7.0\n.target sm_70\n.address_size 64\n" \
           ".weak .func (.param .b32 r) twice (.param .b64 a, .param .b32 b) { .reg .b64 %rd<2>; " \
           "ld.param.u64 %rd1, [a]; st.u32 [%rd1], 5; ret; }\n.visible .global .u32 offset = 0;"
    assert run(link_kernel(KERNEL, "kernel", [PTXSource(weak)], (9, 0))) == 105
    strong = weak.replace(".weak", ".visible").replace("5; ret", "6; ret").replace(
        ".visible .global .u32 offset = 0;", "")
    assert run(link_kernel(KERNEL, "kernel", [PTXSource(weak), PTXSource(strong)], (9, 0))) == 106
    with pytest.raises(LinkerError, match="Multiple definition of 'twice'"):
        link_kernel(KERNEL, "kernel", [LIBRARY, PTXSource(strong)], (9, 0))


def test_what_nothing_defines_is_named():
    with pytest.raises(LinkerError, match="Undefined reference to 'twice' in 'kernel'"):
        link_kernel(KERNEL, "kernel", [], (9, 0))
    with pytest.raises(LinkerError, match="Undefined reference to 'twice' in 'kernel'"):
        link_kernel(KERNEL, "kernel", [CUSource("")], (9, 0))


def test_errors_of_cuda_cpp_name_file_and_line():
    with pytest.raises(NvrtcCompilationError, match='(?s)in the compilation of "bad.cu".*bad.cu:2:'):
        Linker().add_code(CUSource("\n__device__ int f() { return missing; }", name="bad.cu"))


def test_files_are_linked_by_their_ending(tmp_path, monkeypatch):
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "two.cuh").write_text("#define TWO 2\n")
    (tmp_path / "one.cuh").write_text("#define ONE 1\n")
    source = tmp_path / "code.cu"
    source.write_text('#include "one.cuh"\n#include "two.cuh"\n__device__ unsigned offset = ONE + TWO;\n'
                      'extern "C" __device__ int twice(int* r, int v) { *r = v; return 0; }\n')
    monkeypatch.setattr(cuda.config, "CUDA_NVRTC_EXTRA_SEARCH_PATHS", str(tmp_path / "inc"))
    assert run(link_kernel(KERNEL, "kernel", [str(source)], (9, 0))) == 21 + 3 + 100
    assert isinstance(LinkableCode.from_path_or_obj(source), CUSource)
    for name, error, text in (("header.cuh", RuntimeError, "Don't know how to link file with extension .cuh"),
                              ("data", RuntimeError, "Don't know how to link file with no extension"),
                              ("missing.a", LinkerError, "missing.a not found")):
        with pytest.raises(error, match=text):
            Linker().add_file(name)
    with pytest.raises(LinkerError, match="machine code"):
        Linker().add_code(Cubin(b"\x7fELF"))
    with pytest.raises(TypeError, match="Expected path to file or a LinkableCode"):
        Linker().add_file_guess_ext(b"text")


def test_the_target_of_the_first_text_is_kept():
    linker = Linker(cc=(7, 5))
    linker.add_cu("__device__ int foo(int x) { return x + 1; }", "foo")
    assert "target sm_75" in linker.get_linked_ptx().decode()


IMAGE = """.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 offset = 5;
.visible .func (.param .b32 func_retval0) twice (.param .b64 result, .param .b32 value)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [result];
    ld.param.u32 %r1, [value];
    st.u32 [%rd1], %r1;
    mov.b32 %r1, 0;
    st.param.b32 [func_retval0], %r1;
    ret;
}
"""


def fatbin(text: str, kind: int = 1, arch: int = 70) -> bytes:
    """A fatbin with one entry: 1 is PTX, 2 machine code."""
    payload = text.encode()
    payload += b"\0" * (-len(payload) % 8)
    entry = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x0101, 64, len(payload), 0, 0, 0, 7, arch, 0, 0, 0, 0, 0) + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry


def test_ptx_in_fatbins_is_linked(tmp_path):
    assert run(link_kernel(KERNEL, "kernel", [Fatbin(fatbin(IMAGE))], (9, 0))) == 21 + 5 + 100
    file = tmp_path / "library.fatbin"
    file.write_bytes(fatbin(IMAGE))
    assert run(link_kernel(KERNEL, "kernel", [str(file)], (9, 0))) == 21 + 5 + 100
    with pytest.raises(LinkerError, match="holds no PTX"):
        Linker().add_code(Fatbin(fatbin(IMAGE, kind=2)))
    with pytest.raises(LinkerError, match="holds no PTX"):  # PTX for a newer GPU than the device
        Linker().add_code(Fatbin(fatbin(IMAGE, arch=200)))
    with pytest.raises(LinkerError):
        Linker().add_code(Fatbin(fatbin(IMAGE)[:100]))

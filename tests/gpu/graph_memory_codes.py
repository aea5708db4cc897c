"""Records what calls of the CUDA driver give around memory nodes of graphs: `graph_memory_codes.py > graph_memory.tsv`.

Each row: a name, and the code of each call of interest. tests/api/graph_memory_test.cpp says the same of ours.
"""
import ctypes

from cuda_driver import Driver

driver = Driver()
lib = driver.lib
size = ctypes.c_size_t
ref = ctypes.byref
CASES = []


def case(function):
    CASES.append(function)
    return function


def made(name, *flags):
    handle = ctypes.c_void_p()
    driver.call(name, ref(handle), *flags)
    return handle


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class PoolProperties(ctypes.Structure):
    _fields_ = [("allocType", ctypes.c_int), ("handleTypes", ctypes.c_int), ("location", Location),
                ("security", ctypes.c_void_p), ("maxSize", size), ("usage", ctypes.c_ushort),
                ("reserved", ctypes.c_ubyte * 54)]


class AllocNode(ctypes.Structure):
    _fields_ = [("pool", PoolProperties), ("access", ctypes.c_void_p), ("count", size), ("bytes", size),
                ("address", ctypes.c_uint64)]


stream, other = made("cuStreamCreate", 1), made("cuStreamCreate", 1)


def begin(mode=0, on=None):
    driver.call("cuStreamBeginCapture_v2", on or stream, mode)


def end(on=None):
    graph = ctypes.c_void_p()
    return lib.cuStreamEndCapture(on or stream, ref(graph)), graph


def allocate(bytes=1 << 20, on=None):
    address = ctypes.c_uint64()
    return lib.cuMemAllocAsync(ref(address), size(bytes), on or stream), address


def free(address, on=None):
    return lib.cuMemFreeAsync(address, on or stream)


def instantiate(graph, flags=0):
    handle = ctypes.c_void_p()
    return lib.cuGraphInstantiateWithFlags(ref(handle), graph, ctypes.c_ulonglong(flags)), handle


def launch(run, on=None):
    code = lib.cuGraphLaunch(run, on or stream)
    return code, lib.cuStreamSynchronize(on or stream)


def status(on=None):
    value = ctypes.c_int(-1)
    lib.cuStreamIsCapturing(on or stream, ref(value))
    return value.value


def new_graph():
    graph = ctypes.c_void_p()
    driver.call("cuGraphCreate", ref(graph), 0)
    return graph


def nodes(*list_):
    return (ctypes.c_void_p * max(len(list_), 1))(*[n.value if hasattr(n, "value") else n for n in list_])


def add_alloc(graph, bytes=1 << 20, after=()):
    node, parameters = ctypes.c_void_p(), AllocNode()
    parameters.pool.allocType = 1
    parameters.pool.location = Location(1, 0)
    parameters.bytes = bytes
    code = lib.cuGraphAddMemAllocNode(ref(node), graph, nodes(*after), size(len(after)), ref(parameters))
    return code, node, ctypes.c_uint64(parameters.address)


def add_free(graph, address, after=()):
    node = ctypes.c_void_p()
    return lib.cuGraphAddMemFreeNode(ref(node), graph, nodes(*after), size(len(after)), address), node


def add_empty(graph, after=()):
    node = ctypes.c_void_p()
    driver.call("cuGraphAddEmptyNode", ref(node), graph, nodes(*after), size(len(after)))
    return node


def captured(freed):
    begin()
    _, address = allocate()
    if freed:
        free(address)
    return end()[1], address


def set_memory(address, on=None):
    return lib.cuMemsetD8Async(address, ctypes.c_ubyte(1), size(16), on or stream)


@case
def capture_alloc_free():
    begin()
    a, address = allocate()
    b = set_memory(address)
    f = free(address)
    e, graph = end()
    i, run = instantiate(graph)
    return a, b, f, e, i, launch(run), launch(run)


@case
def free_twice_in_a_capture():
    begin()
    _, address = allocate()
    return free(address), free(address), status(), end()[0]


@case
def free_of_ordinary_async_memory_in_a_capture():
    _, address = allocate()
    begin()
    result = free(address), status(), end()[0]
    return result, free(address)


@case
def free_of_plain_memory_in_a_capture():
    address = driver.allocate(256)
    begin()
    return free(address), status(), end()[0]


@case
def free_of_null_in_a_capture():
    begin()
    return free(ctypes.c_uint64(0)), status(), end()[0]


@case
def allocate_no_bytes_in_a_capture():
    begin()
    return allocate(0)[0], status(), end()[0]


@case
def allocate_no_bytes_async():
    code, address = allocate(0)
    return code, address.value


@case
def free_outside_while_capturing_before_a_launch():
    graph, address = captured(False)
    return free(address), lib.cuMemFree_v2(address)


@case
def relaunch_unfreed():
    graph, address = captured(False)
    i, run = instantiate(graph)
    first, again, freed = launch(run), launch(run), free(address)
    return i, first, again, freed, launch(run), lib.cuMemFree_v2(address), launch(run), free(address)


@case
def relaunch_unfreed_with_auto_free():
    graph, address = captured(False)
    i, run = instantiate(graph, 1)
    return i, launch(run), launch(run), launch(run), free(address), free(address)


@case
def free_outside_what_is_freed_inside():
    graph, address = captured(True)
    _, run = instantiate(graph)
    return launch(run), free(address), lib.cuMemFree_v2(address)


@case
def free_outside_twice():
    graph, address = captured(False)
    _, run = instantiate(graph)
    return launch(run), free(address), free(address)


@case
def two_instances():
    graph, _ = captured(True)
    first, run = instantiate(graph)
    second, _ = instantiate(graph)
    lib.cuGraphExecDestroy(run)
    return first, second, instantiate(graph)[0]


@case
def as_a_child():
    graph, _ = captured(True)
    parent, node = new_graph(), ctypes.c_void_p()
    return lib.cuGraphAddChildGraphNode(ref(node), parent, None, size(0), graph)


@case
def clone():
    graph, _ = captured(True)
    return lib.cuGraphClone(ref(ctypes.c_void_p()), graph)


@case
def update_with_itself():
    graph, _ = captured(True)
    _, run = instantiate(graph)
    info = (ctypes.c_ulonglong * 8)()
    code = lib.cuGraphExecUpdate_v2(run, graph, ref(info))
    return code, info[0] & 0xFFFFFFFF


@case
def update_with_one_of_the_same_shape():
    graph, _ = captured(True)
    _, run = instantiate(graph)
    second, _ = captured(True)
    info = (ctypes.c_ulonglong * 8)()
    code = lib.cuGraphExecUpdate_v2(run, second, ref(info))
    return code, info[0] & 0xFFFFFFFF, launch(run)


@case
def update_of_an_unfreed_one():
    graph, _ = captured(False)
    _, run = instantiate(graph, 1)
    second, _ = captured(False)
    info = (ctypes.c_ulonglong * 8)()
    code = lib.cuGraphExecUpdate_v2(run, second, ref(info))
    return code, info[0] & 0xFFFFFFFF, launch(run)


@case
def explicit_nodes():
    graph = new_graph()
    a, node, address = add_alloc(graph)
    f, node2 = add_free(graph, address, [node])
    kinds = []
    for n in (node, node2):
        kind = ctypes.c_int()
        lib.cuGraphNodeGetType(n, ref(kind))
        kinds.append(kind.value)
    i, run = instantiate(graph)
    return a, f, kinds, i, launch(run), launch(run)


@case
def explicit_free_twice():
    graph = new_graph()
    _, node, address = add_alloc(graph)
    return add_free(graph, address, [node])[0], add_free(graph, address, [node])[0]


@case
def explicit_free_not_after():
    graph = new_graph()
    _, node, address = add_alloc(graph)
    f = add_free(graph, address)[0]
    i, run = instantiate(graph)
    return f, i, launch(run) if i == 0 else None


@case
def explicit_free_of_no_allocation():
    graph = new_graph()
    return add_free(graph, ctypes.c_uint64(0x1000))[0], add_free(graph, driver.allocate(256))[0]


@case
def explicit_alloc_of_no_bytes():
    return add_alloc(new_graph(), 0)[0]


@case
def explicit_free_of_another_graphs():
    graph, address = captured(False)
    second = new_graph()
    f = add_free(second, address)[0]
    _, run = instantiate(graph)
    i, run2 = instantiate(second)
    return f, i, launch(run2), launch(run), launch(run2), launch(run2), launch(run)


@case
def explicit_address_is_used_again():
    graph = new_graph()
    _, node, address = add_alloc(graph)
    _, freed = add_free(graph, address, [node])
    _, _, again = add_alloc(graph, 1 << 20, [freed])
    _, _, beside = add_alloc(graph, 1 << 20, [node])
    return address.value == again.value, address.value == beside.value


@case
def destroy_node():
    graph = new_graph()
    _, node, _ = add_alloc(graph)
    empty = add_empty(graph)
    return lib.cuGraphDestroyNode(node), lib.cuGraphDestroyNode(empty)


@case
def edges_of_a_graph_with_memory():
    graph = new_graph()
    _, node, _ = add_alloc(graph)
    empty = add_empty(graph)
    add = lib.cuGraphAddDependencies(graph, nodes(node), nodes(empty), size(1))
    return add, lib.cuGraphRemoveDependencies(graph, nodes(node), nodes(empty), size(1))


@case
def edges_of_a_graph():
    graph = new_graph()
    a, b, c = add_empty(graph), add_empty(graph), add_empty(graph)
    add = lambda x, y: lib.cuGraphAddDependencies(graph, nodes(x), nodes(y), size(1))  # noqa: E731
    remove = lambda x, y: lib.cuGraphRemoveDependencies(graph, nodes(x), nodes(y), size(1))  # noqa: E731
    cycle = add(a, b), add(b, c), add(c, a)
    i = instantiate(graph)[0]
    return cycle, i, add(a, b), add(a, a), remove(a, c), remove(c, a), instantiate(graph)[0], lib.cuGraphDestroyNode(b)


@case
def enable_memory_nodes():
    graph = new_graph()
    _, node, address = add_alloc(graph)
    _, freed = add_free(graph, address, [node])
    _, run = instantiate(graph)
    return lib.cuGraphNodeSetEnabled(run, node, 0), lib.cuGraphNodeSetEnabled(run, freed, 0)


@case
def statistics():
    """Used and reserved, now and at most: before, with a graph, with its instance, launched, freed, destroyed."""
    def read():
        out = []
        for attribute in range(4):
            value = ctypes.c_uint64()
            lib.cuDeviceGetGraphMemAttribute(0, attribute, ref(value))
            out.append(value.value >> 20)
        return out

    lib.cuDeviceGraphMemTrim(0)
    seen = [read()]
    begin()
    _, address = allocate(8 << 20)
    _, graph = end()
    seen.append(read())
    _, run = instantiate(graph)
    seen.append(read())
    launch(run)
    seen.append(read())
    free(address)
    lib.cuStreamSynchronize(stream)
    seen.append(read())
    lib.cuGraphExecDestroy(run)
    lib.cuGraphDestroy(graph)
    lib.cuDeviceGraphMemTrim(0)
    seen.append(read())
    return seen


@case
def host_alloc_flags():
    out = []
    for flags in range(8):
        pointer, got = ctypes.c_void_p(), ctypes.c_uint(99)
        code = lib.cuMemHostAlloc(ref(pointer), size(4096), flags)
        code2 = lib.cuMemHostGetFlags(ref(got), pointer)
        device = ctypes.c_uint64()
        code3 = lib.cuMemHostGetDevicePointer_v2(ref(device), pointer, 0)
        out.append((flags, code, code2, got.value, code3, device.value == pointer.value))
    buffer = ctypes.create_string_buffer(1 << 14)
    start = (ctypes.addressof(buffer) + 4095) // 4096 * 4096
    for flags in (0, 1, 2, 3, 8):
        code = lib.cuMemHostRegister_v2(ctypes.c_void_p(start), size(4096), flags)
        got = ctypes.c_uint(99)
        code2 = lib.cuMemHostGetFlags(ref(got), ctypes.c_void_p(start))
        code3 = lib.cuMemHostUnregister(ctypes.c_void_p(start))
        out.append(("register", flags, code, code2, got.value, code3))
    got = ctypes.c_uint(99)
    pointer = ctypes.c_void_p(start)
    out.append(("pageable", lib.cuMemHostGetFlags(ref(got), pointer), lib.cuMemHostUnregister(pointer),
                lib.cuMemHostAlloc(ref(ctypes.c_void_p()), size(16), 64)))
    return out


@case
def other_streams_while_capturing():
    """For each mode: an allocation and a free on another stream, on the legacy one, a plain free; with the status."""
    out = []
    for flags in (0, 1):
        for mode in range(3):
            for name in ("alloc other", "free other", "alloc legacy", "free legacy", "free"):
                plain = made("cuStreamCreate", flags)
                _, address = allocate()
                lib.cuStreamSynchronize(stream)
                begin(mode, plain)
                on = other if "other" in name else ctypes.c_void_p(1)
                if name == "free":
                    code = lib.cuMemFree_v2(address)
                else:
                    code = allocate(on=on)[0] if "alloc" in name else free(address, on)
                out.append((flags, mode, name, code, status(plain), end(plain)[0]))
    return out


@case
def set_of_memory_outside_before_a_launch():
    graph, address = captured(False)
    return set_memory(address), lib.cuStreamSynchronize(stream)


def main():
    print("# CUresult of calls around memory nodes of graphs: an H200, driver 13.0. Recorded by",
          "tests/gpu/graph_memory_codes.py.")
    for function in CASES:
        try:
            print(function.__name__, function(), sep="\t", flush=True)
        except Exception as error:
            print(function.__name__, f"{type(error).__name__}: {error}", sep="\t", flush=True)
        while status() > 0:
            end()


if __name__ == "__main__":
    main()

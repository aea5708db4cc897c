"""Import hook of the judge: `numba[.x]` gives warploom's modules, `numba.cuda.tests` and `.testing` the unpacked suite.

Names that the test files import but that Warploom does not have (compiler internals, the extension API, NVIDIA's Python
bindings) become placeholders, so that a file's other tests can run; using a placeholder raises NotImplementedError.
"""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import types

SUITE = os.environ.get("WARPLOOM_JUDGE_SUITE", "")
# Served when they are not installed: the last two are NVIDIA's bindings and LLVM's, which only internals need.
OPTIONAL = ("filecheck", "cuda", "llvmlite")
ABSENT = ("cuda.bindings.nvjitlink",)  # whose absence the suite understands


class _PlaceholderType(type):
    """A class that answers any attribute with another placeholder."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = placeholder(f"{cls.__qualname__}.{name}")
        setattr(cls, name, made)
        return made


def placeholder(name):
    """A class called `name`: usable as decorator, base class or constant while files are imported."""

    def new(cls, *arguments, **keywords):
        if "_placeholder" not in cls.__dict__:  # a test's own class derived from a placeholder
            return super(made, cls).__new__(cls)
        return _Refusal(name)

    base = Exception if name.endswith(("Error", "Exception", "Warning")) else object
    made = _PlaceholderType(name, (base,), {"__new__": new, "_placeholder": name, "__module__": __name__})
    return made


class _Refusal:
    """What calling a placeholder gives: it may decorate, but a test that uses what it decorated fails."""

    def __init__(self, name):
        self._name = name

    def __call__(self, *arguments, **keywords):
        if len(arguments) == 1 and not keywords and isinstance(arguments[0], (types.FunctionType, type)):
            return self
        raise NotImplementedError(f"{self._name} is not part of Warploom")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(f"{self._name}.{name} is not part of Warploom")


class _NoAllocations:
    """The statistics of Numba's allocator of arrays inside kernels: Warploom has none, so nothing is ever allocated."""

    @staticmethod
    def memsys_enable_stats():
        """Nothing to enable."""

    memsys_disable_stats = memsys_enable_stats

    @staticmethod
    def get_allocation_stats():
        """No allocations, none freed."""
        return types.SimpleNamespace(alloc=0, free=0, mi_alloc=0, mi_free=0)


def _known(module, name):
    """Values that the suite reads while it is imported."""
    table = {
        ("cuda.pathfinder", "find_nvidia_binary_utility"): lambda *_: None,
        ("cuda.core", "__version__"): "0.7.0",
        ("cuda.bindings", "__version__"): "13.0.0",
        ("numba.cuda.cuda_paths", "get_conda_ctk_libdir"): lambda: None,
        ("numba.cuda.typing.cffi_utils", "SUPPORTED"): False,
        ("numba.cuda._compat", "CUDA_CORE_GE_1_0"): False,
        ("numba.cuda.utils", "PYVERSION"): sys.version_info[:2],
    }
    if module.startswith("numba.cuda.memory_management") and name == "rtsys":
        return _NoAllocations
    if (module, name) in table:
        return table[module, name]
    if module == "cuda.core" and name in ("Device", "LaunchConfig", "Stream", "launch"):
        return getattr(importlib.import_module("judge_cuda_core"), name)
    if module == "cuda.core" and name == "ObjectCode":
        return importlib.import_module("warploom.cuda.cudadrv.driver").Module
    if module == "cuda.bindings.driver" and name in ("cuLibraryGetGlobal", "cuMemcpyHtoD"):
        return getattr(importlib.import_module("judge_cuda_core"), name)
    if module.startswith("cuda.core") and name in ("CUDAError", "NVRTCError"):
        # The error that a launch or the driver reports: Warploom's own.
        return importlib.import_module("warploom.cuda.cudadrv.driver").CudaAPIError
    raise KeyError(name)


def _imports():
    """{module: names} that the suite imports, listed by judge.py."""
    path = os.environ.get("WARPLOOM_JUDGE_IMPORTS")
    if not path:
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves every name under `numba`, and the optional modules that are not installed."""

    def __init__(self):
        self.imports = _imports()
        self.modules = set(self.imports)  # names of modules, which must not be hidden by placeholders
        for name in list(self.imports):
            while "." in name:
                name = name.rpartition(".")[0]
                self.modules.add(name)
        self.own_specs = {}
        self.placed = []

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if name == "numba.cuda.testing":
            return importlib.util.spec_from_file_location(name, os.path.join(SUITE, "testing.py"))
        if name == "numba.cuda.tests":
            folder = os.path.join(SUITE, "tests")
            return importlib.util.spec_from_file_location(name, os.path.join(folder, "__init__.py"),
                                                          submodule_search_locations=[folder])
        if name.startswith("numba.cuda.tests."):
            return importlib.machinery.PathFinder.find_spec(name, path, target)
        if top == "numba":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if name in ABSENT:
            return None
        if top in OPTIONAL:
            return importlib.machinery.PathFinder.find_spec(name, path, target) or importlib.machinery.ModuleSpec(
                name, self, is_package=True)
        return None

    def create_module(self, spec):
        name = spec.name
        product = self._product(name)
        if product:
            module = importlib.import_module(product)
            self.own_specs[name] = module.__spec__
            if name == "numba.cuda":
                module.HAS_NUMBA = True  # runs the tests that upstream keeps for an installation beside Numba
            self._add_missing(module, name)
            return module
        module = types.ModuleType(name)
        module.__path__ = []
        module.__getattr__ = lambda attribute: self._missing(module, name, attribute)
        return module

    def exec_module(self, module):
        own = self.own_specs.get(module.__spec__.name)
        if own is not None:
            module.__spec__ = own  # warploom's module stays itself, under a second name

    @staticmethod
    def _product(name):
        """The module of Warploom's that `name` stands for, as warploom.install() has it, or None."""
        aliases = importlib.import_module("warploom._install")
        product = aliases._target_of(name)
        return product if product and aliases._exists(product) else None

    def _is_module(self, name):
        return name in self.modules or name in ("numba.cuda.tests", "numba.cuda.testing") or bool(self._product(name))

    def _add_missing(self, module, name):
        for attribute in self.imports.get(name, ()):
            if not self._has(module, attribute) and not self._is_module(f"{name}.{attribute}"):
                try:
                    setattr(module, attribute, _known(name, attribute))
                except KeyError:
                    self.placed.append(f"{name}.{attribute}")
                    setattr(module, attribute, placeholder(attribute))

    @staticmethod
    def _has(module, attribute):
        try:
            return hasattr(module, attribute)
        except ImportError:  # a lazy attribute whose module is not there
            return False

    def _missing(self, module, name, attribute):
        try:
            return _known(name, attribute)
        except KeyError:
            pass
        if attribute.startswith("__") or f"{name}.{attribute}" in ABSENT or self._is_module(f"{name}.{attribute}"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        made = placeholder(attribute)
        setattr(module, attribute, made)
        return made


def install():
    """Puts the hook in front of the import system."""
    sys.meta_path.insert(0, Finder())

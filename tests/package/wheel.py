"""The source distribution builds, and installed into a fresh environment it runs alone: wheel.py SOURCE WORK_FOLDER."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import venv

PROGRAM = """
import os, pathlib, warploom
from warploom import _core
here = pathlib.Path(warploom.__file__).parent
device = _core.Device.open("cpu", threads=1)
assert warploom.__version__ == _core.version, (warploom.__version__, _core.version)
# No library of the build or of LLVM comes from outside the package.
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
outside = [path for path in loaded if ("LLVM" in path or "warploom" in path) and not path.startswith(str(here))]
assert not outside, outside
assert (here / "py.typed").exists() and (here / "_core.pyi").exists()
print("warploom", warploom.__version__, "runs on", device.properties["name"])
"""


def run(*command: str, **options) -> None:
    print("+", " ".join(command), flush=True)
    subprocess.run(command, check=True, **options)


def main() -> int:
    source, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    # The package index is left alone: what builds is what built the package under test, and so is NumPy.
    run(sys.executable, "-c", "from scikit_build_core.build import build_sdist; import sys; build_sdist(sys.argv[1])",
        str(work), cwd=source)
    archive, = work.glob("warploom-*.tar.gz")
    shutil.unpack_archive(archive, work)
    unpacked = work / archive.name.replace(".tar.gz", "")
    # Below its base folder the tree looks to ccache as the repository does, which has been compiled before.
    environment = dict(os.environ, CCACHE_BASEDIR=str(unpacked), CCACHE_NOHASHDIR="1")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-build-isolation", "--no-deps",
        "--config-settings", "build-dir=build", "-w", str(work), ".", cwd=unpacked, env=environment)
    wheel, = work.glob("warploom-*.whl")
    print(f"{wheel.name}: {wheel.stat().st_size >> 20} MiB", flush=True)

    venv.create(work / "venv", with_pip=True)
    python = work / "venv" / "bin" / "python"
    run(str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", str(wheel))
    packages, = (work / "venv" / "lib").glob("python*/site-packages")
    numpy = pathlib.Path(importlib.util.find_spec("numpy").origin).parents[1]
    (packages / "numpy.pth").write_text(f"{numpy}\n")
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    run(str(python), "-c", PROGRAM, cwd=work, env=environment)
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())

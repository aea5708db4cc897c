"""The generated table of device math functions follows libdevice.sig."""
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def test_generated_module_is_current():
    script = SOURCE / "tools/devicelib_signatures"
    result = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_numbas_table_has_all_functions():
    text = (SOURCE / "src/frontend/python/devicelib/libdevice.sig").read_text()
    numba, extra = text.split("[extra]")
    names = [line.split()[0] for line in numba.splitlines() if line and not line.startswith("#")]
    assert len(names) == len(set(names)) == 317
    assert {"sin", "sinf", "sincos", "frexp", "double2ull_ru", "ynf"} <= set(names)
    assert "norm3d" in extra

"""What agree.py and counters.py run, and on which GPU."""
import glob
import os
import subprocess

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def lessons_in_cpp(build):
    """Name and program of each, as built."""
    return [(os.path.basename(program), program)
            for program in sorted(glob.glob(os.path.join(build, "bin", "examples", "[0-9]*")))]


def lessons_in_python():
    """Name and file of each."""
    return [("python/" + os.path.basename(os.path.dirname(lesson)), lesson)
            for lesson in sorted(glob.glob(os.path.join(SOURCE, "examples", "python", "*", "main.py")))]


def gpu_name(otherwise):
    """The first GPU and its driver's version, as nvidia-smi says."""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True, check=False)
    except OSError:
        return otherwise
    lines = done.stdout.strip().splitlines() if done.returncode == 0 else []
    return lines[0] if lines else otherwise

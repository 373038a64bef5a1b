# The Spack recipe. Copy it to packages/smallbatch/ of your own repository, and put the address in `git`. Then run
# `spack install smallbatch +cuda cuda_arch=90`.
from spack.package import *


class Smallbatch(CMakePackage, CudaPackage):
    """Solves many small symmetric positive definite systems, and computes electrostatic potentials of charges, on GPUs and
    CPUs. A program works on HDF5 files; libraries work on arrays."""

    # git = "https://..."
    # version("0.2.0", commit="...")
    version("main", branch="main")

    variant("app", default=True, description="The program, and the library that reads and writes its files")
    variant("mpi", default=False, when="+app", description="Let mpirun start several processes for a run")
    variant("shared", default=True, description="Shared libraries")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("eigen@3.4:", type="build")
    with when("+app"):
        depends_on("hdf5@1.10:")
        depends_on("mimalloc")
        depends_on("libpng")
        depends_on("zlib-api")
        depends_on("libdeflate")
        depends_on("zstd")
        depends_on("libseccomp")
        depends_on("xxhash", type="build")
        depends_on("cli11", type="build")
        depends_on("spdlog")
        depends_on("nlohmann-json@3.10:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12:", when="+cuda")

    conflicts("%gcc@:11", msg="C++20 is needed")
    conflicts("platform=darwin", msg="the sandbox that reads files needs Linux")

    def cmake_args(self):
        arguments = [
            self.define("SMALLBATCH_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("SMALLBATCH_MPI", "ON" if self.spec.satisfies("+mpi") else "OFF"),
            self.define_from_variant("SMALLBATCH_APP", "app"),
            self.define_from_variant("SMALLBATCH_IO", "app"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define("SMALLBATCH_TESTS", False),
            self.define("SMALLBATCH_BENCH", False),
        ]
        if self.spec.satisfies("+cuda") and self.spec.variants["cuda_arch"].value[0] != "none":
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return arguments

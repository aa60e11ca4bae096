"""The simulated libraries: the real library each replaces, and results of unmodelled functions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Policy(Enum):
    """The result of a function that the headers declare and no source defines."""

    REFUSE = "refuse"  # an error and one line on stderr
    COMPUTE = "compute"  # success: it would only compute, and kernels compute nothing


@dataclass(frozen=True)
class Library:
    """One simulated library."""

    name: str
    file_pattern: str  # of the real library in the wheels
    headers: tuple[str, ...]
    sources: tuple[str, ...]
    policy: Policy
    not_supported: str  # the enum constant that unmodelled functions return
    status_types: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # other simulated libraries that it calls
    flags: tuple[str, ...] = ()  # for its headers


# Makes cuda.h and cuda_runtime_api.h declare every version of every function.
ALL_VERSIONS = ("-D__CUDA_API_VERSION_INTERNAL",)

RUNTIME = Library(
    name="cudart",
    file_pattern="libcudart.so.*",
    headers=("cuda_runtime_api.h",),
    sources=("runtime/*.cpp",),
    policy=Policy.REFUSE,
    not_supported="cudaErrorNotSupported",
    flags=ALL_VERSIONS,
)

LIBRARIES = (
    RUNTIME,
    Library(
        name="cublas",
        file_pattern="libcublas.so.*",
        headers=("cublas_v2.h",),
        sources=("libraries/blas.cpp",),
        policy=Policy.COMPUTE,
        not_supported="CUBLAS_STATUS_NOT_SUPPORTED",
        status_types=("cublasStatus_t",),
        needs=("cudart",),
    ),
    Library(
        name="cublasLt",
        file_pattern="libcublasLt.so.*",
        headers=("cublasLt.h",),
        sources=("libraries/blas_lt.cpp",),
        policy=Policy.COMPUTE,
        not_supported="CUBLAS_STATUS_NOT_SUPPORTED",
        status_types=("cublasStatus_t",),
    ),
    Library(
        name="cudnn",
        file_pattern="libcudnn.so.*",
        headers=("cudnn.h",),
        sources=("libraries/dnn*.cpp",),
        policy=Policy.COMPUTE,
        not_supported="CUDNN_STATUS_NOT_SUPPORTED",
        status_types=("cudnnStatus_t",),
        needs=("cudart",),
    ),
    Library(
        name="nccl",
        file_pattern="libnccl.so.*",
        headers=("nccl.h",),
        sources=("libraries/collectives*.cpp",),
        policy=Policy.REFUSE,
        not_supported="ncclInvalidUsage",
        needs=("cudart",),
    ),
    Library(
        name="cusparse",
        file_pattern="libcusparse.so.*",
        headers=("cusparse.h",),
        sources=("libraries/sparse.cpp",),
        policy=Policy.COMPUTE,
        not_supported="CUSPARSE_STATUS_NOT_SUPPORTED",
        status_types=("cusparseStatus_t",),
    ),
    Library(
        name="cusolver",
        file_pattern="libcusolver.so.*",
        headers=("cusolverDn.h", "cusolverSp.h", "cusolverRf.h"),
        sources=(),
        policy=Policy.COMPUTE,
        not_supported="CUSOLVER_STATUS_NOT_SUPPORTED",
        status_types=("cusolverStatus_t",),
    ),
    Library(
        name="cufft",
        file_pattern="libcufft.so.*",
        headers=("cufft.h", "cufftXt.h"),
        sources=("libraries/fft.cpp",),
        policy=Policy.COMPUTE,
        not_supported="CUFFT_NOT_SUPPORTED",
        status_types=("cufftResult",),
    ),
    Library(
        name="curand",
        file_pattern="libcurand.so.*",
        headers=("curand.h",),
        sources=(),
        policy=Policy.COMPUTE,
        not_supported="CURAND_STATUS_NOT_INITIALIZED",
        status_types=("curandStatus_t",),
    ),
    Library(
        name="cupti",
        file_pattern="libcupti.so.*",
        headers=("cupti.h",),
        sources=("libraries/profiling.cpp",),
        policy=Policy.REFUSE,
        not_supported="CUPTI_ERROR_NOT_SUPPORTED",
    ),
)

# NVIDIA's driver, not a wheel, has the driver library and NVML: their names are given here.
DRIVER_FILE = "libcuda.so.1"
NVML_FILE = "libnvidia-ml.so.1"

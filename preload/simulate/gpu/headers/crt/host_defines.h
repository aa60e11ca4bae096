// The markers of declarations in CUDA's headers, for a host compiler. CUDA's own file of this name
// is in its compiler's package, which PyTorch for CUDA 13 lacks. Meanings: CUDA C++ Programming
// Guide, "C++ Language Extensions".

#ifndef PEAKLINE_CRT_HOST_DEFINES_H
#define PEAKLINE_CRT_HOST_DEFINES_H

#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDAAPI_CDECL

#ifndef __align__
#    define __align__(n) __attribute__((aligned(n)))
#endif
#define __builtin_align__(n) __align__(n)
#ifndef __forceinline__
#    define __forceinline__ __inline__ __attribute__((always_inline))
#endif

// For the device's compiler alone.
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __grid_constant__
#define __cluster_dims__(...)
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __location__(x)
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__

#endif  // PEAKLINE_CRT_HOST_DEFINES_H

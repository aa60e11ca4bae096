// Replaces CUDA's own file of this name for a host compiler. CUDA's headers only need these
// standard headers from it. See host_defines.h beside this.

#ifndef PEAKLINE_CRT_HOST_CONFIG_H
#define PEAKLINE_CRT_HOST_CONFIG_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#endif  // PEAKLINE_CRT_HOST_CONFIG_H

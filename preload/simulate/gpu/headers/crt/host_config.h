// What CUDA's own file of this name does for a host compiler that its headers need: nothing beyond
// the standard headers they count on. See host_defines.h beside this.

#ifndef PEAKLINE_CRT_HOST_CONFIG_H
#define PEAKLINE_CRT_HOST_CONFIG_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#endif  // PEAKLINE_CRT_HOST_CONFIG_H

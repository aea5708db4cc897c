// printf of kernels: a C format and CUDA's packed argument buffer (CUDA C++ Programming Guide, "Formatted Output").
#pragma once

#include <cstddef>

namespace warploom::device {

// Writes to stdout, one call at a time. Gives the number of arguments, -1 for a null format.
int device_printf(const char* format, const std::byte* arguments);

}  // namespace warploom::device

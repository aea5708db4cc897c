// Names of C++ kernels as people write them.
#pragma once

#include <string>

namespace warploom {

// "void scale<float, 16>(float*, int)" for "_Z5scaleIfLi16EEvPfi"; the name itself when it is not a mangled one.
std::string demangle(const std::string& name);

}  // namespace warploom

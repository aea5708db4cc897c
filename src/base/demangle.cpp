// Demangling by the C++ runtime.
#include "base/demangle.hpp"

#include <cstdlib>
#include <cxxabi.h>

namespace warploom {

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (status != 0 || text == nullptr) return name;
  std::string out(text);
  std::free(text);
  return out;
}

}  // namespace warploom

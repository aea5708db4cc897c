// Puts an object that compile() made, or the disk cache kept, into the memory of this process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "codegen/context.hpp"

namespace warploom::codegen {

// Address of a symbol that is not part of the C library, nullptr when there is none.
using SymbolResolver = std::function<void*(const std::string&)>;

// Code in memory; it is freed with this object.
struct LinkedCode {
  LinkedCode() = default;
  virtual ~LinkedCode() = default;
  LinkedCode(const LinkedCode&) = delete;
  LinkedCode& operator=(const LinkedCode&) = delete;

  CodeEntry entry = nullptr;
};

struct LinkError {
  std::string missing;  // a symbol without address, if that is the reason
  std::string what;
};

// nullptr after an error. The object need not be one that compile() made: whatever it holds, this does not crash.
std::unique_ptr<LinkedCode> link(const std::string& object, const SymbolResolver& resolver, LinkError& error);

}  // namespace warploom::codegen

// Diag: the one error type; every error has a stable id, a CUDA error code, what, where and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warploom {

// A place in a source or PTX text; line and column count from 1, 0 means unknown.
struct SourceLoc {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  [[nodiscard]] bool known() const { return line != 0; }
};

enum class ErrorId : std::uint16_t {
#define WL_ERROR(id, name, cuda_code, title) name = id,
#include "base/errors.def"
#undef WL_ERROR
};

struct ErrorInfo {
  ErrorId id;
  std::string_view name;   // stable, for instance "ptx_syntax"
  int cuda_code;           // CUresult, CUDA Driver API section 6.1
  std::string_view title;  // one line, no details
};

const ErrorInfo& error_info(ErrorId id);

struct Diag {
  ErrorId id{};
  std::string what;     // one sentence: what is wrong
  SourceLoc loc;        // file, line, column when there is one
  std::string where;    // kernel, block, thread, allocation ...
  std::string remedy;   // what to do
  std::string excerpt;  // source line and caret, may be empty
  ErrorId cause{};      // of context_poisoned: the error that poisoned it; 0 elsewhere
  int driver_code = 0;  // of driver_error: the code that has no id; 0 elsewhere

  // Several lines, as shown to a user: "error WL1002 ptx_syntax: ...".
  [[nodiscard]] std::string to_string() const;
  // Of the cause, when there is one: CUDA repeats the first sticky error. A code of the driver without an id is itself.
  [[nodiscard]] int cuda_code() const;
};

// Stops the process: an invariant of the named pass is broken. Never for user input.
[[noreturn]] void internal_error(std::string_view pass, std::string_view what);

#define WL_INTERNAL(pass, cond, what)                    \
  do {                                                   \
    if (!(cond)) ::warploom::internal_error(pass, what); \
  } while (false)

}  // namespace warploom

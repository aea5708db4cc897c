// Formatting of Diag and the error table.
#include "base/diag.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace warploom {
namespace {

constexpr std::array kErrors = {
#define WL_ERROR(id, name, cuda_code, title) ErrorInfo{ErrorId::name, #name, cuda_code, title},
#include "base/errors.def"
#undef WL_ERROR
};

}  // namespace

const ErrorInfo& error_info(ErrorId id) {
  for (const ErrorInfo& info : kErrors)
    if (info.id == id) return info;
  internal_error("base", "error id outside the table");
}

std::string Diag::to_string() const {
  const ErrorInfo& info = error_info(id);
  std::string out;
  if (loc.known()) {
    out += loc.file + ":" + std::to_string(loc.line);
    if (loc.column != 0) out += ":" + std::to_string(loc.column);
    out += ": ";
  }
  out += "error WL" + std::to_string(static_cast<int>(id)) + " " + std::string(info.name) + ": " + what;
  if (!excerpt.empty()) out += "\n" + excerpt;
  if (!where.empty()) out += "\n  where: " + where;
  if (!remedy.empty()) out += "\n  to do: " + remedy;
  return out;
}

int Diag::cuda_code() const {
  if (driver_code != 0) return driver_code;
  return error_info(cause == ErrorId{} ? id : cause).cuda_code;
}

void internal_error(std::string_view pass, std::string_view what) {
  std::fprintf(stderr, "warploom: internal error in %.*s: %.*s\n", static_cast<int>(pass.size()), pass.data(),
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace warploom

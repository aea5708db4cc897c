// Makes an error of its parts.
#pragma once

#include <string>
#include <utility>

#include "base/diag.hpp"

namespace warploom {

inline Diag diag_of(ErrorId id, std::string what, std::string remedy = {}, std::string where = {}) {
  Diag diag;
  diag.id = id;
  diag.what = std::move(what);
  diag.where = std::move(where);
  diag.remedy = std::move(remedy);
  return diag;
}

}  // namespace warploom

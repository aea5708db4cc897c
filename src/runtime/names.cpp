// Matching of C++ names against mangled ones.
#include "runtime/names.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "base/demangle.hpp"

namespace warploom::runtime {
namespace {

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Drops spaces that do not separate words, casts before template integers "(E)1" and their suffixes "16u".
std::string normalised(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ') {
      out += text[i];
    } else if (!out.empty() && word_char(out.back()) && i + 1 < text.size() && word_char(text[i + 1])) {
      out += ' ';
    }
  }
  std::string plain;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool in_list = i > 0 && (out[i - 1] == '<' || out[i - 1] == ',');
    if (in_list && out[i] == '(') {
      const std::size_t end = out.find(')', i);
      if (end != std::string::npos && end + 1 < out.size() &&
          (std::isdigit(static_cast<unsigned char>(out[end + 1])) != 0 || out[end + 1] == '-')) {
        i = end;
        continue;
      }
    }
    plain += out[i];
    if (std::isdigit(static_cast<unsigned char>(out[i])) == 0) continue;
    std::size_t begin = plain.size() - 1;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(plain[begin - 1])) != 0) --begin;
    if (begin > 0 && word_char(plain[begin - 1])) continue;
    while (i + 1 < out.size() && (out[i + 1] == 'u' || out[i + 1] == 'l')) ++i;
  }
  return plain;
}

// The parts of a normalised function name: return type is gone, "(anonymous namespace)" stays in `scope`.
struct Parts {
  std::string scope;       // "ns::" or empty
  std::string base;        // "scale"
  std::string arguments;   // "<float,16>" or empty
  std::string parameters;  // "(float*,int)" or empty
};

// Position of the first character in `set` outside <>, () and []; npos when there is none.
std::size_t find_outside(std::string_view text, std::string_view set) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && set.find(c) != std::string_view::npos && text.substr(i, 11) != "(anonymous ") return i;
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
  }
  return std::string_view::npos;
}

Parts split(std::string_view name) {
  Parts parts;
  std::size_t open = find_outside(name, "(");
  if (open != std::string_view::npos) {
    parts.parameters = name.substr(open);
    name = name.substr(0, open);
  }
  // A template's demangled name starts with its return type.
  for (std::size_t space = find_outside(name, " "); space != std::string_view::npos; space = find_outside(name, " "))
    name = name.substr(space + 1);
  for (std::size_t colon = find_outside(name, ":"); colon != std::string_view::npos; colon = find_outside(name, ":")) {
    parts.scope += std::string(name.substr(0, colon)) + "::";
    name = name.substr(std::min(colon + 2, name.size()));
  }
  open = find_outside(name, "<");
  parts.base = name.substr(0, open);
  if (open != std::string_view::npos) parts.arguments = name.substr(open);
  return parts;
}

// A part that `wanted` leaves out fits anything; "b::" fits the scope "a::b::".
bool fits(const Parts& wanted, const Parts& have) {
  if (wanted.base != have.base) return false;
  if (!wanted.arguments.empty() && wanted.arguments != have.arguments) return false;
  if (!wanted.parameters.empty() && wanted.parameters != have.parameters) return false;
  if (wanted.scope.size() > have.scope.size()) return false;
  const std::size_t rest = have.scope.size() - wanted.scope.size();
  return have.scope.compare(rest, std::string::npos, wanted.scope) == 0 &&
         (rest == 0 || wanted.scope.empty() || have.scope[rest - 1] == ':');
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 8;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < shown; ++i) out += (i == 0 ? "" : ", ") + demangle(names[i]);
  if (names.size() > shown) out += " and " + std::to_string(names.size() - shown) + " more";
  return out;
}

}  // namespace

Result<std::string> find_name(const std::vector<std::string>& names, std::string_view wanted, std::string_view kind,
                              std::string_view module) {
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return std::string(wanted);
  const Parts parts = split(normalised(wanted));
  std::vector<std::string> found;
  const std::string* nearest = nullptr;
  std::size_t nearest_distance = std::max<std::size_t>(2, parts.base.size() / 3) + 1;
  for (const std::string& name : names) {
    const Parts have = split(normalised(demangle(name)));
    if (fits(parts, have)) found.push_back(name);
    const std::size_t distance = edit_distance(parts.base, have.base);
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = &name;
    }
  }
  if (found.size() == 1) return found.front();

  Diag diag;
  diag.id = ErrorId::not_found;
  diag.where = "module " + std::string(module);
  if (found.size() > 1) {
    diag.what = std::string(kind) + " \"" + std::string(wanted) + "\" is ambiguous: it fits " + listed(found);
    diag.remedy = "add template arguments, parameter types or the namespace, or use the name in PTX";
    return diag;
  }
  diag.what = "no " + std::string(kind) + " \"" + std::string(wanted) + "\"";
  if (names.empty())
    diag.remedy = "the module has none; check that the source defines one and that it is not optimised away";
  else if (nearest != nullptr)
    diag.remedy = "did you mean \"" + demangle(*nearest) + "\"?";
  else
    diag.remedy = "there are: " + listed(names);
  return diag;
}

}  // namespace warploom::runtime

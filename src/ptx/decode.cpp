// Matches mnemonics against the modifier positions and types of the table's forms.
#include "ptx/decode.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace warploom::ptx {
namespace {

using isa::Mod;
using isa::ModSet;

struct GroupMask {
  ModSet choices;
  bool required;
};

struct FormMask {
  ModSet all;
  std::vector<GroupMask> groups;
};

// Bit sets of each form, made once from the table.
struct RowMasks {
  std::vector<FormMask> forms;
  std::vector<Mod> compound;  // modifiers of two words, longest first
};

const RowMasks& masks(const isa::Row& row) {
  static const std::vector<RowMasks> table = [] {
    std::vector<RowMasks> all(isa::kOpCount);
    for (const isa::Row& r : isa::rows()) {
      RowMasks& out = all[static_cast<std::size_t>(r.op)];
      for (const isa::Form& form : r.forms) {
        FormMask& mask = out.forms.emplace_back();
        for (const isa::ModGroup& group : form.groups) {
          GroupMask& g = mask.groups.emplace_back();
          g.required = group.required;
          for (const Mod mod : group.choices) {
            g.choices.set(static_cast<std::size_t>(mod));
            if (isa::name(mod).find('.') != std::string_view::npos &&
                std::find(out.compound.begin(), out.compound.end(), mod) == out.compound.end())
              out.compound.push_back(mod);
          }
          mask.all |= g.choices;
        }
      }
      std::sort(out.compound.begin(), out.compound.end(),
                [](Mod a, Mod b) { return isa::name(a).size() > isa::name(b).size(); });
    }
    return all;
  }();
  return table[static_cast<std::size_t>(row.op)];
}

// Insertions, deletions, substitutions, and exchanges of neighbours, that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  constexpr std::size_t kLongest = 40;
  if (a.size() > kLongest || b.size() > kLongest) return limit;
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit;
  std::array<std::array<std::size_t, kLongest + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto &above = rows[(i + 2) % 3], &second = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], second[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string dotted_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "." : ", .") + n;
  return out;
}

bool types_fit(const isa::Form& form, const Decoded& d) {
  if (form.types.size() != d.type_count) return false;
  for (std::size_t i = 0; i < form.types.size(); ++i)
    if (std::find(form.types[i].begin(), form.types[i].end(), d.types[i]) == form.types[i].end()) return false;
  return true;
}

// Empty when the modifiers fit the form, else what is wrong and how wrong: larger is nearer to fitting.
int modifiers_fit(const isa::Form& form, const FormMask& mask, const ModSet& mods, std::string* why,
                  std::string* part = nullptr) {
  if (const ModSet foreign = mods & ~mask.all; foreign.any()) {
    if (why != nullptr) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < isa::kModCount; ++i)
        if (foreign.test(i)) names.emplace_back(isa::name(static_cast<Mod>(i)));
      *why = "takes no " + dotted_list(names);
      if (part != nullptr) *part = names.front();
    }
    return 50 - static_cast<int>(std::min<std::size_t>(foreign.count(), 40));
  }
  for (std::size_t i = 0; i < mask.groups.size(); ++i) {
    const ModSet present = mods & mask.groups[i].choices;
    if (present.none() ? !mask.groups[i].required : present.count() == 1) continue;
    if (why != nullptr) {
      std::vector<std::string> names;
      for (const Mod mod : form.groups[i].choices) names.emplace_back(isa::name(mod));
      *why = (present.none() ? "needs " : "takes only one of ") + dotted_list(names);
    }
    return 60;
  }
  return 100;
}

void explain(std::string_view mnemonic, const Decoded& d, Complaint& why) {
  const RowMasks& row = masks(*d.row);
  int best = -1;
  const isa::Form* nearest = nullptr;
  for (std::size_t i = 0; i < row.forms.size(); ++i) {
    const isa::Form& form = d.row->forms[i];
    std::string text, part;
    int score = modifiers_fit(form, row.forms[i], d.mods, &text, &part);
    if (types_fit(form, d)) {
      score += 60;
    } else if (score == 100) {
      text = form.types.size() == d.type_count
                 ? "does not take this type"
                 : "needs " + std::to_string(form.types.size()) + (form.types.size() == 1 ? " type" : " types");
      if (form.types.size() == d.type_count)
        for (std::size_t t = form.types.size(); t-- > 0;)
          if (std::find(form.types[t].begin(), form.types[t].end(), d.types[t]) == form.types[t].end())
            part = isa::name(d.types[t]);
    }
    if (score <= best) continue;
    best = score;
    nearest = &form;
    why.part = std::move(part);
    why.what = "'" + std::string(mnemonic) + "': " + std::string(d.row->name);
    if (types_fit(form, d))
      for (std::size_t t = 0; t < d.type_count; ++t) (why.what += '.') += isa::name(d.types[t]);
    why.what += " " + text;
  }
  why.id = ErrorId::ptx_invalid;
  if (nearest != nullptr) why.remedy = "nearest form: " + std::string(nearest->text);
}

// A vector has 128 bits at most; 256 in global memory, as eight of 32 or four of 64, which L2 eviction hints ask for.
bool vector_fits(std::string_view mnemonic, const Decoded& d, Complaint& why) {
  const auto has = [&](Mod mod) { return d.mods.test(static_cast<std::size_t>(mod)); };
  const bool is_move = d.row->op == isa::Op::mov;
  if ((d.row->flow != isa::Flow::load && d.row->flow != isa::Flow::store && !is_move) || d.type_count != 1) return true;
  const unsigned width = has(Mod::v8) ? 8 : has(Mod::v4) ? 4 : has(Mod::v2) ? 2 : 1;
  const unsigned element = isa::bits(d.types[0]), total = width * element;
  const bool elsewhere = has(Mod::shared) || has(Mod::shared__cta) || has(Mod::shared__cluster) || has(Mod::local) ||
                         has(Mod::const_) || has(Mod::param) || has(Mod::param__entry) || has(Mod::param__func);
  const bool memory = d.row->op == isa::Op::ld || d.row->op == isa::Op::st;
  const bool wide = !elsewhere && total == 256 && (element == 32 || element == 64) && memory;
  const bool hint = has(Mod::L2__evict_first) || has(Mod::L2__evict_last) || has(Mod::L2__evict_normal);
  if (wide || (total <= 128 && (width < 8 || memory) && !(hint && memory))) return true;
  why = {ErrorId::ptx_invalid,
         "'" + std::string(mnemonic) +
             "': " + (hint && memory ? "an L2 eviction hint needs .v8.b32 or .v4.b64" : "the vector is too large"),
         {},
         -1,
         {}};
  return false;
}

}  // namespace

void Nearest::offer(std::string_view candidate) {
  const std::size_t limit = std::min(distance_, wanted_.size() / 2 + 1);
  if (candidate == wanted_) return;
  const std::size_t d = edit_distance(wanted_, candidate, limit);
  if (d >= limit) return;
  distance_ = d;
  best_ = candidate;
}

std::string Nearest::hint() const { return best_.empty() ? "" : "did you mean '" + std::string(best_) + "'?"; }

namespace {

// "did you mean 'add.sat.s32'?" when the nearest word makes an instruction of it, else the word alone.
std::string corrected(std::string_view mnemonic, std::string_view part, const Nearest& nearest) {
  if (nearest.best().empty()) return {};
  const auto at = static_cast<std::size_t>(part.data() - mnemonic.data());
  const std::string whole = std::string(mnemonic.substr(0, at)) + std::string(nearest.best()) +
                            std::string(mnemonic.substr(at + part.size()));
  // A text with two mistakes is not worth more attempts.
  static thread_local bool correcting = false;
  if (correcting) return nearest.hint();
  correcting = true;
  Decoded decoded;
  Complaint ignored;
  const bool fits = decode(whole, decoded, ignored);
  correcting = false;
  return fits ? "did you mean '" + whole + "'?" : nearest.hint();
}

}  // namespace

bool decode(std::string_view mnemonic, Decoded& out, Complaint& why) {
  std::array<std::string_view, 24> parts;
  std::size_t count = 0;
  for (std::size_t begin = 0; begin <= mnemonic.size();) {
    const std::size_t end = std::min(mnemonic.find('.', begin), mnemonic.size());
    if (count == parts.size()) {
      why = {ErrorId::ptx_invalid, "'" + std::string(mnemonic) + "' has too many modifiers", {}, -1, {}};
      return false;
    }
    parts[count++] = mnemonic.substr(begin, end - begin);
    begin = end + 1;
  }
  out.row = isa::find_row(parts[0]);
  if (out.row == nullptr) {
    Nearest nearest(parts[0]);
    for (const isa::Row& row : isa::rows()) nearest.offer(row.name);
    why = {ErrorId::ptx_unknown_instruction,
           "unknown instruction '" + std::string(mnemonic) + "'",
           corrected(mnemonic, parts[0], nearest),
           -1,
           {}};
    return false;
  }
  const RowMasks& row = masks(*out.row);
  for (std::size_t i = 1; i < count; ++i) {
    bool joined = false;
    for (const Mod mod : row.compound) {
      const std::string_view spelling = isa::name(mod);
      const std::size_t begin = static_cast<std::size_t>(parts[i].data() - mnemonic.data());
      const std::string_view rest = mnemonic.substr(begin);
      if (!rest.starts_with(spelling) || (rest.size() > spelling.size() && rest[spelling.size()] != '.')) continue;
      out.mods.set(static_cast<std::size_t>(mod));
      i += static_cast<std::size_t>(std::count(spelling.begin(), spelling.end(), '.'));
      joined = true;
      break;
    }
    if (joined) continue;
    if (const isa::Type type = isa::type_from_name(parts[i]); type != isa::Type::none) {
      if (out.type_count == std::size(out.types)) {
        why = {ErrorId::ptx_invalid, "'" + std::string(mnemonic) + "' has too many types", {}, -1, {}};
        return false;
      }
      out.types[out.type_count++] = type;
      continue;
    }
    Mod mod;
    if (!isa::find_mod(parts[i], mod)) {
      Nearest nearest(parts[i]);
      for (const isa::Form& form : out.row->forms) {
        for (const isa::ModGroup& group : form.groups)
          for (const Mod known : group.choices) nearest.offer(isa::name(known));
        for (const auto& position : form.types)
          for (const isa::Type known : position) nearest.offer(isa::name(known));
      }
      why = {ErrorId::ptx_invalid,
             "unknown modifier '." + std::string(parts[i]) + "' in '" + std::string(mnemonic) + "'",
             corrected(mnemonic, parts[i], nearest), -1, std::string(parts[i])};
      return false;
    }
    out.mods.set(static_cast<std::size_t>(mod));
  }
  for (std::size_t i = 0; i < row.forms.size(); ++i)
    if (types_fit(out.row->forms[i], out) && modifiers_fit(out.row->forms[i], row.forms[i], out.mods, nullptr) == 100)
      out.forms.push_back(&out.row->forms[i]);
  if (!out.forms.empty()) return vector_fits(mnemonic, out, why);
  explain(mnemonic, out, why);
  return false;
}

}  // namespace warploom::ptx

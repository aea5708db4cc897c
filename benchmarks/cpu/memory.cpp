// Contents of buffers, and comparison of results.
#include "memory.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

namespace warploom::bench {
namespace {

std::vector<Word> contents(const CaseArgument& argument, Word seed) {
  std::vector<Word> words(argument.count);
  if (argument.kind == CaseArgument::Kind::output_floats || argument.kind == CaseArgument::Kind::output_words)
    return words;
  for (Word& word : words) {
    seed = seed * 1664525u + 1013904223u;
    word = seed >> 8;
    if (argument.has_floats()) word = std::bit_cast<Word>(static_cast<float>(word) * 0x1p-23f - 1.0f);
  }
  return words;
}

double float_difference(const std::vector<Word>& a, const std::vector<Word>& b) {
  double squares = 0, worst = 0;
  for (const Word word : a) squares += std::pow(std::bit_cast<float>(word), 2);
  const double scale = std::sqrt(squares / static_cast<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const double x = std::bit_cast<float>(a[i]), y = std::bit_cast<float>(b[i]);
    const double relative = std::abs(x - y) / (std::abs(x) + scale);
    if (!(relative <= worst)) worst = std::isnan(relative) ? INFINITY : relative;
  }
  return worst;
}

}  // namespace

Memory::Memory(const Device& device, const Case& c) : case_(c), device_(device), pointers_(c.arguments.size()) {
  for (std::size_t i = 0; i < pointers_.size(); ++i) {
    arrays_.emplace_back();
    images_.emplace_back();
    if (!c.arguments[i].is_buffer()) continue;
    arrays_.back().emplace(device, c.arguments[i].count);
    pointers_[i] = arrays_.back()->data();
    fill(i);
    if (c.arguments[i].kind == CaseArgument::Kind::image) images_[i].emplace(device, arrays_[i]->to_vector());
  }
}

Memory::Image::Image(const Device& device, const std::vector<Word>& texels)
    : array(device, TexelFormat::of<float>(),
            {static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(texels.size())))),
             static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(texels.size())))), 0}),
      texture([&] {
        array.copy_from(std::span<const Word>(texels));
        return Texture(array, {.filter = TextureOptions::Filter::linear});
      }()),
      handle(texture.handle()) {}

void Memory::fill(std::size_t index) {
  arrays_[index]->copy_from(contents(case_.arguments[index], static_cast<Word>(12345 + index)));
}

void Memory::reset_results() {
  for (std::size_t i = 0; i < pointers_.size(); ++i)
    if (case_.arguments[i].is_result()) fill(i);
}

Results Memory::results() const {
  Results results(pointers_.size());
  for (std::size_t i = 0; i < pointers_.size(); ++i)
    if (case_.arguments[i].is_result()) results[i] = arrays_[i]->to_vector();
  return results;
}

std::vector<Argument> Memory::arguments() const {
  std::vector<Argument> list;
  for (std::size_t i = 0; i < pointers_.size(); ++i) {
    const CaseArgument& argument = case_.arguments[i];
    if (images_[i])
      list.push_back({&images_[i]->handle, sizeof(std::uint64_t)});
    else if (argument.is_buffer())
      list.push_back({&pointers_[i], sizeof(void*), &arrays_[i]->memory()});
    else if (argument.kind == CaseArgument::Kind::integer)
      list.push_back({&argument.integer, sizeof(int)});
    else
      list.push_back({&argument.real, sizeof(float)});
  }
  return list;
}

double difference(const Case& c, const Results& reference, const Results& other) {
  double worst = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const std::vector<Word>&a = reference[i], &b = other[i];
    if (a.empty()) continue;
    if (c.arguments[i].has_floats()) {
      worst = std::max(worst, float_difference(a, b));
      continue;
    }
    const auto unequal = std::inner_product(a.begin(), a.end(), b.begin(), std::size_t{0}, std::plus<>(),
                                            [](Word x, Word y) { return x == y ? std::size_t{0} : std::size_t{1}; });
    worst = std::max(worst, static_cast<double>(unequal) / static_cast<double>(a.size()));
  }
  return worst;
}

}  // namespace warploom::bench

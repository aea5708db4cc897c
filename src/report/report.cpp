// Makes the report model from what the explain observer gathered.
#include "report/report.hpp"

#include <fstream>

namespace warploom::report {

Report make_report(const observe::explain::Explain& explain) {
  return {explain.profile(), explain.analyse(), explain.managed(), explain.releases()};
}

std::string SourceText::line(const std::string& file, std::uint32_t number) {
  const auto [found, fresh] = files_.try_emplace(file);
  if (fresh) {
    std::ifstream in(file);
    for (std::string text; std::getline(in, text);) found->second.push_back(text);
  }
  if (number == 0 || number > found->second.size()) return "";
  const std::string& text = found->second[number - 1];
  const auto start = text.find_first_not_of(" \t");
  return start == std::string::npos ? "" : text.substr(start);
}

}  // namespace warploom::report

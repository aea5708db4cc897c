// Reads tab-separated tables whose first line names the columns.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace tsv {

using Row = std::map<std::string, std::string>;

inline std::vector<Row> read(const std::string& path) {
  std::ifstream in(path);
  std::string line, cell;
  std::vector<std::string> columns;
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    if (columns.empty()) {
      while (std::getline(cells, cell, '\t')) columns.push_back(cell);
      continue;
    }
    Row row;
    for (const std::string& column : columns) {
      std::getline(cells, cell, '\t');
      row[column] = cell;
    }
    rows.push_back(row);
  }
  return rows;
}

inline long long number(const Row& row, const std::string& column) { return std::stoll(row.at(column)); }

}  // namespace tsv

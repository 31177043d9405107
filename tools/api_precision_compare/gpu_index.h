// The GPU's rows by name, each kept in about a hundred bytes beside its name.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/api_precision_compare/details_file.h"

namespace msrun::api_precision_compare {

class GpuIndex {
 public:
  // Reads the file to its end. problem is told what is wrong with single rows.
  GpuIndex(DetailsFile& file, const std::function<void(const std::string&)>& problem);

  enum class Found : std::uint8_t { none, one, several, damaged };
  // Marks the rows of this name as seen; fills the cells and the status of row if there is one that can be used.
  Found find(const std::string& name, OutputRow& row);

  // The names that were never looked for, in file order.
  std::vector<std::string_view> unseen() const;

 private:
  struct Entry {
    std::array<double, 8> values{};
    std::array<InputCell::Kind, 8> kinds{};
    std::uint8_t status = 0;
    bool damaged = false;
    bool repeated = false;
    bool seen = false;
    const std::string* name = nullptr;
  };

  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<Entry> entries_;
};

}  // namespace msrun::api_precision_compare

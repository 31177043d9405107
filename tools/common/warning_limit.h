// Warnings that may come once for every file or operator: the first few of each kind are printed, the others counted,
// so that a million alike do not bury what else there is to read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace msrun {

class WarningLimit {
 public:
  static constexpr std::uint64_t printed_of_a_kind = 5;

  // all: every warning is printed.
  explicit WarningLimit(bool all) : all_(all) {}

  // Whether the next warning of this kind is to be printed. kind names it in the counts, a plural noun. A text
  // that comes twice in a row is one warning.
  bool admits(const std::string& kind, const std::string& text) {
    Kind& known = kinds_[kind];
    if (known.count > 0 && known.last == text) return false;
    known.last = text;
    return ++known.count <= printed_of_a_kind || all_;
  }

  // A sentence for each kind of which some were not printed; counting begins anew.
  std::vector<std::string> held_back() {
    std::vector<std::string> sentences;
    for (const auto& [name, kind] : std::exchange(kinds_, {})) {
      if (all_ || kind.count <= printed_of_a_kind) continue;
      sentences.push_back("and " + std::to_string(kind.count - printed_of_a_kind) + " more " + name +
                          " (--verbose names all)");
    }
    return sentences;
  }

 private:
  struct Kind {
    std::uint64_t count = 0;
    std::string last;
  };
  bool all_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace msrun

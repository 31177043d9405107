// The two tables that close a run in the old layout (att_layout.md 11).
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/view/console.h"
#include "runner/results/result.h"

namespace msrun {

class AttCounts {
 public:
  // raw: as the old tool counted.
  explicit AttCounts(bool raw) : raw_(raw) {}

  void add(const ApiResult& result);

  bool raw() const { return raw_; }
  std::uint64_t passed() const { return passed_; }
  // The old tool only counted calls that failed both ways.
  std::uint64_t failed() const { return raw_ ? both_failed_ : forward_failed_ + backward_failed_ + both_failed_; }
  // As Python prints it: "0.8666666666666667", "1.0", and "0" if nothing was compared.
  std::string passing_rate() const;
  std::uint64_t skipped() const { return skipped_; }
  std::uint64_t forward_failed() const { return forward_failed_; }
  std::uint64_t backward_failed() const { return backward_failed_; }
  std::uint64_t both_failed() const { return both_failed_; }

 private:
  bool raw_;
  std::uint64_t passed_ = 0;
  std::uint64_t compared_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t forward_failed_ = 0;  // and the backward did not
  std::uint64_t backward_failed_ = 0;
  std::uint64_t both_failed_ = 0;
};

std::string att_tables(const AttCounts& counts, const Paint& paint = Paint());

}  // namespace msrun

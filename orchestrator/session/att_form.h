// The form of a run in the old layout: names without a time stamp that must be free, a directory that must be there,
// the old log lines, call by call in the order of the recording, and the two closing tables (att_layout.md 2, 11 to
// 13).
#pragma once

#include "orchestrator/session/run_form.h"

namespace msrun {

class AttForm final : public RunForm {
 public:
  explicit AttForm(bool raw) : raw_(raw) {}

  const char* title() const override { return "UT test"; }
  void check(const Options& options, const Config& config) const override;
  void check_output(const Options& options) const override;
  void prepare(const Options& options) const override;
  RunFiles fresh_files(const Options& options, const std::function<bool(const RunFiles& files)>& claim) const override;
  std::string error_data_place(const Config& config, const Options& options, const RunFiles& files) const override;
  bool has_pair_per_device() const override { return false; }
  ShownNames shown_names(const Plan& plan) const override;
  std::unique_ptr<ProgressView> wrap(const Plan& plan, const ShownNames& names, ProgressView& other,
                                     const std::function<bool(std::uint32_t task)>& is_done) const override;
  std::optional<std::string> tables(const ResultStore& results, const Paint& paint) const override;
  const char* last_line() const override { return "UT task completed."; }

 private:
  bool raw_;
};

}  // namespace msrun

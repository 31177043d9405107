// What the log of the old layout says of calls, in the order of the recording (att_layout.md 6, 7, 15).
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "orchestrator/output/csv.h"
#include "orchestrator/view/progress_view.h"
#include "runner/shared/plan_view.h"

namespace msrun {

class AttLog final : public ProgressView {
 public:
  // Everything is passed on to other. No results come of the calls that is_done says. What is given by reference must
  // outlive the log.
  AttLog(const PlanView& plan, const ShownNames& names, ProgressView& other,
         std::function<bool(std::uint32_t task)> is_done, bool raw)
      : plan_(plan), names_(names), other_(other), is_done_(std::move(is_done)), raw_(raw) {}

  void run_started(const RunStarted& event) override { other_.run_started(event); }
  void api_result(const ApiResult& result) override;
  void runner_died(const RunnerDied& event) override { other_.runner_died(event); }
  void progress(const ProgressState& state) override { other_.progress(state); }
  // Says first what waits for calls that have no result.
  void run_finished(const RunFinished& event) override;

 private:
  void say(const ApiResult& result) const;
  void say_rest();

  const PlanView& plan_;
  const ShownNames& names_;
  ProgressView& other_;
  std::function<bool(std::uint32_t task)> is_done_;
  bool raw_;
  std::map<std::uint32_t, ApiResult> waiting_;  // for the calls before them
  std::uint32_t next_ = 0;
};

}  // namespace msrun

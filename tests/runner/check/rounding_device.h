// A device that says how it rounds half types on the way, and whose results a test computes.
#pragma once

#include <functional>
#include <utility>

#include "tests/runner/check/support.h"

namespace msrun::testing::rounding_device {

inline constexpr HalfRounding processor = HalfRounding::every_step;
inline constexpr HalfRounding accelerator = HalfRounding::between_kernels;

using Change = std::function<void(const MaterialisedCall&, DeviceResult&)>;

class RoundingDevice final : public Device {
 public:
  RoundingDevice(HalfRounding rounding, EvaluationOptions options, Change change)
      : rounding_(rounding), computing_({}, std::move(options)), change_(std::move(change)) {}

  DeviceResult run(const DeviceCall& call) override {
    DeviceResult result = computing_.run(call);
    if (change_) change_(call.materialised, result);
    return result;
  }
  DeviceArithmetic arithmetic() const override { return {.half_rounding = rounding_}; }

 private:
  HalfRounding rounding_;
  ComputingDevice computing_;
  Change change_;
};

inline ApiResult check_on(HalfRounding rounding, const ApiCall& call, const EvaluationOptions& options,
                          const Change& change) {
  RoundingDevice device(rounding, options, change);
  return check_api(call, 0, device, 0, {});
}

// To bfloat16.
inline double rounded(double value) { return static_cast<double>(as_bfloat16(static_cast<float>(value))); }

}  // namespace msrun::testing::rounding_device

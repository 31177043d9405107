// The quantities that the standards of a script share, element by element, with the roundings of torch's operators
// (op_generate_and_code_mapping.md A.5).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/tensor/tensor.h"
#include "tools/op_generate/metric_limits.h"

namespace msrun::op_generate {

// A floating output and its benchmark.
class FloatPair {
 public:
  // computed_in is the dtype whose limits hold.
  FloatPair(const Tensor& device, const Tensor& bench, DType computed_in);

  // Most numbers leave out what is not finite. NaN on both sides and equal infinities agree; anything else does not,
  // unless one side is just inside of the dtype's range and the other just outside.
  std::int64_t agreements() const;
  std::int64_t disagreements() const { return disagreements_; }
  // Elements that are NaN on both sides: they agree, and say nothing of the device.
  std::int64_t unknown() const { return unknown_; }

  // The share of small values whose error is too large; nothing where there are none.
  std::optional<double> small_errors() const;
  // The same of the other values, and their relative errors.
  std::optional<double> relative_errors() const;
  // also: of elements that count beside those.
  double within_a_thousandth(std::int64_t also) const;
  double balance() const;

  struct Ulp {
    double largest = 0;
    double mean = 0;
    double proportion = 0;
  };
  Ulp ulp() const;
  // What is judged: where the numbers are not finite, as plain says, they say nothing.
  Ulp judged_ulp(const Ulp& plain) const;

  struct Errors {
    double largest;
    double mean;
    double root_mean_square;
  };
  // The errors of the normal values; nothing if there are none.
  std::optional<Errors> errors() const;

 private:
  struct UlpErrors {
    DType dtype;  // in which they are computed
    std::vector<double> values;
  };

  UlpErrors ulp_errors(DType wide) const;
  Ulp ulp_of(const UlpErrors& errors) const;
  double root_mean_square(const std::vector<double>& errors) const;
  bool just_overflows(std::size_t i) const;
  double count() const { return static_cast<double>(device_.size()); }
  std::optional<double> share(const std::vector<bool>& of, const std::function<bool(std::size_t)>& is) const;

  DType device_type_;
  DType bench_type_;
  DType wide_;
  const MetricLimits& limits_;
  std::vector<double> device_;
  std::vector<double> bench_;
  std::vector<double> narrow_;  // the benchmark in the device's dtype
  std::vector<double> abs_err_;
  std::vector<double> rel_err_;
  std::vector<bool> small_;
  std::vector<bool> normal_;
  std::vector<bool> agree_;
  std::int64_t disagreements_ = 0;
  std::int64_t unknown_ = 0;
};

}  // namespace msrun::op_generate

// The tensors of a recorded call, built as a script builds them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/evaluate/materialise.h"
#include "kernels/tensor/masked_random.h"
#include "tools/op_generate/recorded_case.h"

namespace msrun::op_generate {

// stream: random data as the script builds them, from torch's one stream. per_api: as a pre-check does, from a stream
// of every argument's own.
enum class SeedMode : std::uint8_t { stream, per_api };

struct BuiltCall {
  MaterialisedCall call;
  // Of the tensors in the order of for_each_input: what each is called, and what it was before it was made to fit.
  std::vector<std::string> names;
  std::vector<Tensor> unfitted;
};

// Where a random tensor has masked places, and how a script chooses them: of the numbers between low and high those
// below limit are masked, but never a whole row.
struct MaskedDraw {
  MaskedRange range;
  double limit;
};

// Nothing for a tensor without masked places.
std::optional<MaskedDraw> masked_draw(const TensorSpec& spec);

class DrawnInputs {
 public:
  // report gets a sentence for each thing that is odd about the recording.
  DrawnInputs(const RecordedCase& recorded, SeedMode mode, std::function<void(const std::string&)> report);

  // The call of the iteration that is next. Throws UserError for a tensor that cannot be built.
  BuiltCall next();

 private:
  Value value(const Value& recorded, const std::string& name, std::vector<bool>& requires_grad, BuiltCall& drawn);
  Tensor build(const TensorSpec& spec, const std::string& name);
  Tensor random(const TensorSpec& spec, DType dtype, const std::string& name);
  Tensor load(const TensorSpec& spec, std::optional<DType> dtype) const;
  std::pair<double, double> numbers(double low, double high, DType dtype, const std::string& name) const;
  double finite(double bound, double instead, const std::string& name) const;
  double bound(double value, DType dtype, double limit, const std::string& name) const;
  void fit(BuiltCall& drawn) const;

  const RecordedCase& recorded_;
  SeedMode mode_;
  std::function<void(const std::string&)> report_;
  MersenneTwister stream_;
  std::int64_t iteration_ = 0;
};

}  // namespace msrun::op_generate

// The one call that is reproduced, as an extraction describes it (op_generate_and_code_mapping.md A.3, A.4).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/compare/metrics/standards.h"
#include "tools/op_generate/call_precision.h"
#include "tools/op_generate/configuration.h"

namespace msrun::op_generate {

enum class Framework : std::uint8_t { pytorch, mindspore, mindtorch };

// Elements of a random tensor that become one value, a Python expression: `count` of them, from the first on.
struct FittedRun {
  std::int64_t first;
  std::int64_t step;
  std::int64_t count;
  std::string value;
};

struct FittedTensor {
  std::vector<std::vector<FittedRun>> iterations;  // one for each
  bool is_changed = false;                         // in any of them
};

struct RecordedCase {
  std::string name;  // "Functional.softmax.0"
  std::string type;  // "Functional"
  std::string api;   // "softmax", "fft.fft"
  Framework framework = Framework::pytorch;
  Direction propagation = Direction::forward;
  DataMode data_mode = DataMode::random_data;
  std::int64_t seed = 0;
  std::int64_t iterations = 1;
  Standard standard = Standard::benchmark;  // of floating outputs
  bool raises = true;                       // the benchmark's inputs are raised
  CallPrecision precision;
  std::string not_compared;  // why its results are not, a sentence; empty: they are
  List args;                 // tensor leaves are TensorSpecs, whose files have absolute paths
  Dict kwargs;
  List gradients;  // of the outputs; only for backward
  // Arguments by their names in the script, those that random data are changed in (fitted_values.h).
  std::map<std::string, FittedTensor> fitted;

  // "Functional.softmax.0.forward"
  std::string key() const { return name + "." + direction_text(propagation); }
};

// text is that of the extraction, which need not be written yet. Throws UserError in the documented words if it does
// not hold what the configuration asks for, is of an API that is not known, or has an argument that cannot be rebuilt.
// natively: fused NPU operators, which no script can call everywhere, are taken as well.
RecordedCase read_case(const Configuration& configuration, const std::string& text, bool natively);

// Throws UserError if real data are asked for, but the recording has tensors and the data of none.
void check_data(const Configuration& configuration, const RecordedCase& recorded);

// Throws UserError if the call can be run by a script alone.
void check_native_run(const Configuration& configuration, const RecordedCase& recorded);

// The bytes that the file of an extraction may have.
inline constexpr std::uint64_t max_extraction_bytes = std::uint64_t{64} << 20;

// The operator that is called; null if msrun has none.
const Operator* operator_of(const std::string& type, const std::string& api);

// Whether a script can call it.
bool has_script(const RecordedCase& recorded);

}  // namespace msrun::op_generate

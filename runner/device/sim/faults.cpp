#include "runner/device/sim/faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "runner/device/sim/damage.h"

namespace msrun {
namespace {

// More than any device has.
constexpr std::int64_t most_blocks = 65536;
// The longest that a fault may delay one call.
constexpr double most_seconds = 3600;

bool read_factor(std::string_view text, SimFault& fault) {
  const std::optional<double> factor = parse_number<double>(text);
  if (!factor || !std::isfinite(*factor)) return false;
  fault.factor = *factor;
  return true;
}

bool read_blocks(std::string_view text, SimFault& fault) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::optional<std::int64_t> every = parse_number<std::int64_t>(text.substr(0, slash));
  const std::optional<std::int64_t> blocks = parse_number<std::int64_t>(text.substr(slash + 1));
  if (!every || !blocks || *every < 1 || *every > *blocks || *blocks > most_blocks) return false;
  fault.every = *every;
  fault.blocks = *blocks;
  return true;
}

bool read_chance(std::string_view text, SimFault& fault) {
  const std::optional<double> chance = parse_number<double>(text);
  if (!chance || !(*chance > 0) || *chance > 1) return false;
  fault.chance = *chance;
  return true;
}

bool read_seconds(std::string_view text, SimFault& fault) {
  const std::optional<double> seconds = parse_number<double>(text);
  if (!seconds || !(*seconds > 0) || *seconds > most_seconds) return false;
  fault.seconds = *seconds;
  return true;
}

bool read_device(std::string_view text, SimFault& fault) {
  const std::optional<std::int32_t> device = parse_number<std::int32_t>(text);
  if (!device || *device < 0) return false;
  fault.device = *device;
  return true;
}

using Kind = SimFault::Kind;

constexpr std::array kinds{
    SimFaultKind{.kind = Kind::fp16_accumulation,
                 .name = "acc-fp16",
                 .effect = "sums of products and reductions are rounded to float16 after every addition",
                 .arithmetic = [](Arithmetic& a) { a.summation.accumulator = Accumulator::float16; }},
    SimFaultKind{.kind = Kind::bf16_accumulation,
                 .name = "acc-bf16",
                 .effect = "sums of products and reductions are rounded to bfloat16 after every addition",
                 .arithmetic = [](Arithmetic& a) { a.summation.accumulator = Accumulator::bfloat16; }},
    SimFaultKind{.kind = Kind::dropped_term,
                 .name = "dropped-term",
                 .effect = "the last term of every matrix product, convolution and sum of two or more is missing",
                 .arithmetic = [](Arithmetic& a) { a.summation.drops_last = true; }},
    SimFaultKind{.kind = Kind::hf32_inputs,
                 .name = "hf32",
                 .effect = "float32 operands of matrix products and convolutions keep 11 fraction bits",
                 .arithmetic =
                     [](Arithmetic& a) {
                       a.operands = {OperandRounding::hf32, OperandRounding::hf32};
                     }},
    SimFaultKind{.kind = Kind::flush_subnormals,
                 .name = "ftz",
                 .effect = "subnormal results become zero",
                 .arithmetic = [](Arithmetic& a) { a.flush_subnormals = true; }},
    SimFaultKind{.kind = Kind::rounding_to_zero,
                 .name = "round-to-zero",
                 .effect = "float32 sums after every addition, and results stored in a narrower dtype, are truncated "
                           "in place of rounded to nearest",
                 .arithmetic = [](Arithmetic& a) { a.rounds_to_zero = true; }},
    SimFaultKind{.kind = Kind::wrong_element,
                 .name = "wrong-element",
                 .effect = "one element is off",
                 .damage = damage::wrong_element,
                 .reach = FaultReach::first_tensors},
    SimFaultKind{.kind = Kind::wrong_block,
                 .name = "wrong-block",
                 .effect = "one eighth of the elements, in one piece, is off",
                 .damage = damage::wrong_block,
                 .reach = FaultReach::first_tensors},
    SimFaultKind{.kind = Kind::wrong_once,
                 .name = "wrong-once",
                 .parameter = "P",
                 .is_optional = true,
                 .effect = "as wrong-element, but only in the first run of the call; with P in any of its runs, each "
                           "with that probability (0 < P <= 1)",
                 .read = read_chance,
                 .damage = damage::wrong_element,
                 .reach = FaultReach::first_tensors},
    SimFaultKind{.kind = Kind::wrong_on_device,
                 .name = "wrong-on-device",
                 .parameter = "ID",
                 .effect = "as wrong-element, but only on the device of that id",
                 .read = read_device,
                 .damage = damage::wrong_element,
                 .reach = FaultReach::first_tensors},
    SimFaultKind{.kind = Kind::wrong_tail,
                 .name = "wrong-tail",
                 .effect = "the last tile of 128 elements in memory order, as a rule a partial one, is off",
                 .damage = damage::wrong_tail},
    SimFaultKind{.kind = Kind::wrong_core,
                 .name = "wrong-core",
                 .parameter = "K/N",
                 .effect = "every K-th of N equal blocks in memory order is off; 1 <= K <= N <= 65536",
                 .read = read_blocks,
                 .damage = damage::wrong_core},
    SimFaultKind{.kind = Kind::scaled,
                 .name = "scale",
                 .parameter = "FACTOR",
                 .effect = "every element is multiplied by the factor, a finite number such as 1.001",
                 .read = read_factor,
                 .damage = damage::scaled},
    SimFaultKind{.kind = Kind::transposed,
                 .name = "transposed",
                 .effect = "matrices along the last two axes are stored column by column",
                 .damage = damage::transposed},
    SimFaultKind{.kind = Kind::swapped_rows,
                 .name = "swapped-rows",
                 .effect = "two neighbouring rows along the last axis, or elements of a vector, are exchanged",
                 .damage = damage::swapped_rows},
    SimFaultKind{.kind = Kind::nan_tail,
                 .name = "nan-tail",
                 .effect = "the last tile of 128 elements is NaN",
                 .damage = damage::nan_tail},
    SimFaultKind{.kind = Kind::uninitialised,
                 .name = "uninitialised",
                 .effect = "one eighth of the elements, in one piece, holds foreign bytes",
                 .damage = damage::uninitialised},
    SimFaultKind{
        .kind = Kind::stale,
        .name = "stale",
        .effect = "the result is that of other inputs: every floating input's elements drawn anew from its own"},
    SimFaultKind{.kind = Kind::gradient_sign,
                 .name = "gradient-sign",
                 .effect = "the gradient has the opposite sign",
                 .damage = damage::opposite_sign,
                 .reach = FaultReach::first_float_gradient},
    SimFaultKind{.kind = Kind::missing_gradient_term,
                 .name = "missing-gradient-term",
                 .effect =
                     "the first gradient that is a sum over the batch lacks its last index; without one, the part "
                     "of that index is zero",
                 .reach = FaultReach::first_float_gradient},
    SimFaultKind{.kind = Kind::slow,
                 .name = "slow",
                 .parameter = "SECONDS",
                 .effect = "the device is busy with the call for so long, with one call at a time; at most 3600",
                 .read = read_seconds},
    SimFaultKind{.kind = Kind::hang, .name = "hang", .effect = "the call never returns"},
    SimFaultKind{.kind = Kind::crash, .name = "crash", .effect = "the process dies of SIGSEGV"},
    SimFaultKind{.kind = Kind::out_of_memory,
                 .name = "oom",
                 .effect = "the process is killed from outside, as the kernel does when memory runs out"},
};

const SimFaultKind* find_kind(std::string_view name) {
  const auto* const found =
      std::find_if(kinds.begin(), kinds.end(), [&](const SimFaultKind& k) { return k.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

// PATTERN=NAME or PATTERN=NAME=PARAMETER in pieces; a pattern may hold '=' itself.
struct Written {
  std::string_view pattern;
  const SimFaultKind* kind = nullptr;
  std::optional<std::string_view> parameter;
};

std::optional<Written> taken_apart(std::string_view text) {
  const std::size_t last = text.rfind('=');
  if (last == std::string_view::npos || last == 0) return std::nullopt;
  if (const SimFaultKind* kind = find_kind(text.substr(last + 1))) return Written{text.substr(0, last), kind, {}};
  const std::size_t middle = text.rfind('=', last - 1);
  if (middle == std::string_view::npos || middle == 0) return std::nullopt;
  const SimFaultKind* kind = find_kind(text.substr(middle + 1, last - middle - 1));
  if (kind == nullptr) return std::nullopt;
  return Written{text.substr(0, middle), kind, text.substr(last + 1)};
}

}  // namespace

std::span<const SimFaultKind> sim_fault_kinds() { return kinds; }

const SimFaultKind& kind_of(const SimFault& fault) {
  return *std::find_if(kinds.begin(), kinds.end(), [&](const SimFaultKind& kind) { return kind.kind == fault.kind; });
}

std::string spelled(const SimFaultKind& kind) {
  if (kind.parameter.empty()) return std::string(kind.name);
  const std::string parameter = "=" + std::string(kind.parameter);
  return std::string(kind.name) + (kind.is_optional ? "[" + parameter + "]" : parameter);
}

SimFault parse_sim_fault(std::string_view text) {
  const std::string begin = "--sim-fault " + std::string(text) + ": ";
  const std::optional<Written> written = taken_apart(text);
  if (!written) {
    std::string known;
    for (const SimFaultKind& kind : kinds) known += (known.empty() ? "" : ", ") + spelled(kind);
    throw UserError(begin + "expected PATTERN=FAULT, for example 'Torch.matmul.*=acc-fp16'; faults are " + known + ".");
  }
  const SimFaultKind& kind = *written->kind;
  SimFault fault{.pattern = std::string(written->pattern), .kind = kind.kind};
  if (kind.read == nullptr) {
    if (written->parameter) throw UserError(begin + std::string(kind.name) + " takes no parameter.");
    return fault;
  }
  if (!written->parameter && kind.is_optional) return fault;
  if (!written->parameter || !kind.read(*written->parameter, fault)) {
    throw UserError(begin + "expected " + spelled(kind) + "; " + std::string(kind.effect) + ".");
  }
  return fault;
}

}  // namespace msrun

// What the errors of outputs say beside those of the inputs, and those of gradients of parameters, of which no inputs
// are known.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tools/dump_compare/equal_inputs.h"
#include "tools/dump_compare/rows.h"
#include "tools/graph/verdict.h"

namespace msrun::graph {
namespace {

// A number in a cell of tensor metrics, negative if it is a word.
double number_of(const dump_compare::TensorMetrics* metrics, dump_compare::Metric metric) {
  if (metrics == nullptr || metrics->cells[metric].word != nullptr) return -1;
  return metrics->cells[metric].number;
}

// Of the norms: infinite where the benchmark's is 0 and this one is not, negative where it counts for nothing.
double norm_share(const Judged& judged) {
  const Difference& difference = judged.differences[norm_place];
  return difference.of_nothing() ? std::numeric_limits<double>::infinity() : difference.fraction();
}

// A share that double precision hardly tells from none.
constexpr double hardly_seen = 1e-14;

// "linear" of "Functional.linear.0.forward".
std::string_view second_part(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view rest = name.substr(dot + 1);
  return rest.substr(0, rest.find('.'));
}

bool is_whole(const std::string& dtype) {
  const std::string name = dump_compare::canonical_dtype(dtype);
  return name.find("int") != std::string::npos || name.find("bool") != std::string::npos;
}

bool is_gradient(const Parameter& parameter) { return parameter.group == Group::parameters_grad; }

// The largest or smallest number of the outputs, or of what a call reads.
template <class Number>
std::optional<double> extreme(std::span<const Parameter> parameters, const std::vector<Judged>& judged, bool outputs,
                              bool largest, const Number& number) {
  std::optional<double> found;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    if (parameters[i].output != outputs || is_gradient(parameters[i])) continue;
    const double value = number(i);
    if (value < 0 || std::isnan(value)) continue;
    found = !found ? value : largest ? std::max(*found, value) : std::min(*found, value);
  }
  return found;
}

}  // namespace

double Judge::error_of(const Judged& judged) const {
  if (rules_.mode == Mode::summary) return norm_share(judged);
  if (judged.tensors == nullptr || number_of(judged.tensors, dump_compare::one_thousandth) >= 0) return -1;
  if (judged.tensors->names_no_files) return norm_share(judged);
  return number_of(judged.tensors, dump_compare::max_relative_error);
}

double Judge::noise_of(const Parameter& parameter) const {
  return dump_compare::rounding_noise(npu_.side.value_text(npu_.side.role(parameter, Role::dtype)));
}

double Judge::output_ratio(const Parameter& parameter, const Judged& judged) const {
  const double ratio = number_of(judged.tensors, dump_compare::one_thousandth);
  if (ratio < 0 || rules_.compat) return ratio;
  return dump_compare::agreeing_share(*judged.tensors, npu_.side.value_text(npu_.side.role(parameter, Role::dtype)));
}

void Judge::find_faults_of_outputs(const Entry& entry, std::vector<Judged>& judged) const {
  const std::span<const Parameter> parameters = std::span(npu_.side.parameters).subspan(entry.first, judged.size());
  const auto first =
      static_cast<std::size_t>(std::ranges::find(parameters, true, &Parameter::output) - parameters.begin());
  if (first == judged.size()) return;
  const double before =
      extreme(parameters, judged, false, true, [&](std::size_t i) { return norm_share(judged[i]); }).value_or(0);
  bool jumped = false;
  for (std::size_t i = first; i < judged.size(); ++i) {
    const double error = parameters[i].output ? error_of(judged[i]) : -1;
    if (before < 0.1 && error > 0.5) judged[i].findings.push_back(Finding::norm_of_output);
    if (error > noise_of(parameters[i])) jumped = jumped || (before == 0 ? error > 0.1 : error > 10 * before);
  }
  if (jumped) judged[first].findings.push_back(Finding::norm_jump);
  if (rules_.mode == Mode::summary) return;
  const auto ratio = [&](std::size_t i) { return number_of(judged[i].tensors, dump_compare::one_thousandth); };
  const auto own_ratio = [&](std::size_t i) { return output_ratio(parameters[i], judged[i]); };
  const auto cosine = [&](std::size_t i) { return number_of(judged[i].tensors, dump_compare::cosine); };
  const std::optional<double> after = extreme(parameters, judged, true, false, own_ratio);
  if (extreme(parameters, judged, false, false, ratio).value_or(1) > 0.9 && after && *after < 0.6) {
    judged[first].findings.push_back(Finding::ratio_of_output);
  }
  const std::optional<double> before_cosine = extreme(parameters, judged, false, false, cosine);
  const std::optional<double> after_cosine = extreme(parameters, judged, true, false, cosine);
  if (before_cosine && after_cosine && *before_cosine > 0.9 && *before_cosine - *after_cosine > 0.1) {
    judged[first].findings.push_back(Finding::cosine_drop);
  }
}

bool Judge::same_statistics(const Parameter& mine, const Parameter& theirs) const {
  constexpr std::array<Role, statistic_count> all{Role::max, Role::min, Role::mean, Role::norm};
  return std::ranges::all_of(all, [&](Role role) {
    return same_value(npu_.side, npu_.side.role(mine, role), bench_.side, bench_.side.role(theirs, role));
  });
}

void Judge::find_other_whole_numbers(const Entry& entry, std::vector<Judged>& judged) const {
  const std::span<const Parameter> parameters = std::span(npu_.side.parameters).subspan(entry.first, judged.size());
  const auto same = [&](std::size_t i) {
    return judged[i].bench != no_index && same_statistics(parameters[i], bench_.side.parameters[judged[i].bench]);
  };
  for (std::size_t i = 0; i < judged.size(); ++i) {
    if (!parameters[i].output && !same(i)) return;
  }
  const std::string_view name = npu_.side.text(entry.name);
  const bool exact = dump_compare::gives_one_result(name.substr(0, name.find('.')), second_part(name));
  for (std::size_t i = 0; i < judged.size(); ++i) {
    if (!parameters[i].output || judged[i].bench == no_index || same(i)) continue;
    if (!is_whole(npu_.side.value_text(npu_.side.role(parameters[i], Role::dtype)))) continue;
    // Of a call that may give several results it is a finding where statistics do not show it.
    const bool shows =
        std::ranges::any_of(judged[i].differences, [](const Difference& one) { return one.fraction() > hardly_seen; });
    if (exact || !shows) judged[i].findings.push_back(Finding::values);
  }
}

// By the limits that compare has for them.
void Judge::find_faults_of_gradients(const Entry& entry, std::vector<Judged>& judged) const {
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const Parameter& parameter = npu_.side.parameters[entry.first + i];
    if (!is_gradient(parameter) || judged[i].bench == no_index) continue;
    const auto add = [&](Finding finding) { judged[i].findings.push_back(finding); };
    const double error = error_of(judged[i]);
    const double ratio = output_ratio(parameter, judged[i]);
    const double cosine = number_of(judged[i].tensors, dump_compare::cosine);
    if (error > 0.5) {
      add(Finding::norm_of_gradient);
    } else if (error > 0.1) {
      add(Finding::norm_of_gradient_slight);
    } else if (ratio >= 0 && ratio < 0.6) {
      add(Finding::ratio_of_gradient);
    } else if (ratio >= 0 && cosine != -1 && cosine < 0.9) {
      add(Finding::cosine_of_gradient);
    }
  }
}

double Judge::worst_relative(const Entry& entry, const std::vector<Judged>& judged) const {
  double worst = 0;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const Parameter& parameter = npu_.side.parameters[entry.first + i];
    if (!parameter.output && (rules_.compat || !is_gradient(parameter))) continue;
    for (const Difference& difference : judged[i].differences) {
      const double value = difference.fraction();
      if (value > worst) worst = value;
    }
  }
  return worst;
}

Index Judge::ratio_index(const Entry& entry, const std::vector<Judged>& judged) const {
  std::optional<double> least_input;
  std::optional<double> least_output;
  // Numbers, tensors without files and gradients have no ratios or no inputs: what they lack in agreement.
  double own = 0;
  double own_input = 0;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const Parameter& parameter = npu_.side.parameters[entry.first + i];
    const double error = error_of(judged[i]);
    if (!rules_.compat && error >= 0) {
      if (parameter.output || is_gradient(parameter)) {
        if (error > noise_of(parameter)) own = std::max(own, error);
      } else {
        own_input = std::max(own_input, error);
      }
    }
    if (npu_.side.value_text(npu_.side.role(parameter, Role::shape)) == "[]") continue;
    const bool output = parameter.output || (!rules_.compat && is_gradient(parameter));
    const double ratio =
        output ? output_ratio(parameter, judged[i]) : number_of(judged[i].tensors, dump_compare::one_thousandth);
    if (ratio < 0) continue;
    std::optional<double>& least = output ? least_output : least_input;
    least = std::min(least.value_or(ratio), ratio);
  }
  const double beside = std::clamp(own - own_input, 0.0, 1.0);
  if (!rules_.compat && least_output) least_input = least_input.value_or(1);
  if (!least_input || !least_output) return beside > 0 ? Index{true, false, beside} : Index{true, true, 0};
  return {true, false, std::max(beside, std::clamp(*least_input - *least_output, 0.0, 1.0))};
}

}  // namespace msrun::graph

#include "tools/graph/verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/base/error.h"
#include "tools/dump_compare/rows.h"
#include "tools/recordings/call_rules.h"
#include "tools/recordings/devices.h"
#include "tools/recordings/overflowed_sum.h"

namespace msrun::graph {

using recordings::has_buffers;
using recordings::is_uninitialised;
using recordings::is_without_rules;
using recordings::NotFinite;

namespace {

// "linear" of "Functional.linear.0.forward": the second segment.
std::string_view api_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view rest = name.substr(dot + 1);
  return rest.substr(0, rest.find('.'));
}

constexpr std::array<Role, statistic_count> statistics{Role::max, Role::min, Role::mean, Role::norm};

bool is_input(const Parameter& parameter) { return !parameter.output; }

// An empty text: what should be there and says nothing.
bool has_empty_checksum(const Side& side, const Parameter& parameter) {
  const Value value = side.role(parameter, Role::md5);
  return value.kind == Kind::text && side.text(value.text).empty();
}

// A combination of the words of the data by XOR, for which of a tensor of one number that number itself stands.
bool is_xor_sum(const Side& side, const Value& sum) {
  return sum.is_number() || (sum.kind == Kind::text && side.text(sum.text).starts_with("0x"));
}

Difference difference_of(const Side& mine, const Value& value, const Side& theirs, const Value& other) {
  Difference difference;
  if (!value.is_number() || !other.is_number()) return difference;
  difference.real = value.number() - other.number();
  if (value.is_whole() && other.is_whole()) {
    // With all digits, which double precision rounds.
    difference.real = static_cast<double>(*recordings::exact_number_of(mine.texts, value) -
                                          *recordings::exact_number_of(theirs.texts, other));
  }
  if (std::isnan(difference.real)) {
    difference.form = Difference::Form::nan;
    return difference;
  }
  difference.form = Difference::Form::real;
  const bool whole = value.kind == Kind::integer && other.kind == Kind::integer;
  if (whole && !__builtin_sub_overflow(value.integer, other.integer, &difference.integer)) {
    difference.form = Difference::Form::integer;
  }
  difference.has_relative = other.number() != 0;
  if (difference.has_relative) difference.relative = std::abs(difference.real / other.number() * 100);
  return difference;
}

}  // namespace

std::string_view mode_text(Mode mode) {
  constexpr std::array<std::string_view, 4> texts{"summary", "md5", "all", "structure"};
  return texts[static_cast<std::size_t>(mode)];
}

Mode mode_of(const Side& npu, const Side& bench) {
  if (npu.task.empty() || npu.task != bench.task) {
    throw UserError("Please check the dump task is consistent. (" + npu.folder + ": '" + npu.task + "', " +
                    bench.folder + ": '" + bench.task + "')");
  }
  if (npu.task == "tensor") return Mode::tensors;
  if (npu.task == "structure") return Mode::structure;
  if (npu.task != "statistics") {
    throw UserError("Compare applies only to task is tensor, statistics or structure, not to '" + npu.task + "' of " +
                    npu.folder);
  }
  if (npu.has_md5 != bench.has_md5) {
    throw UserError(
        "Please check the dump task is consistent, dump mode of npu and bench should both be statistics or md5.");
  }
  return npu.has_md5 ? Mode::md5 : Mode::summary;
}

namespace {

// What .vis.db says of a finding, in which the level stands once more, and the level that it gives a parameter.
struct FindingWords {
  Finding finding;
  Level level;
  std::string_view text;
};

constexpr auto finding_words = std::to_array<FindingWords>({
    {Finding::not_finite, Level::error, "error: There is nan/inf/-inf in the maximum or minimum value of NPU."},
    {Finding::norm_of_output, Level::error, "error: The NormRelativeErr of output is greater than 0.5."},
    {Finding::ratio_of_output, Level::error,
     "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6."},
    {Finding::requires_grad, Level::error, "error: The Required_Grad of NPU and Bench are inconsistent"},
    {Finding::scalar, Level::error, "error: The scalar parameters of NPU and Bench are inconsistent."},
    {Finding::dtype, Level::error, "error: The dtype of NPU and Bench are inconsistent."},
    {Finding::shape, Level::error, "error: The shape of NPU and Bench are inconsistent."},
    {Finding::norm_jump, Level::warning, "warning: The norm relative error of output is 10 times that of input."},
    {Finding::cosine_drop, Level::warning,
     "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1"},
    {Finding::checksum, Level::error, "error: The CRC-32 value of NPU differs from that of the bench."},
    {Finding::no_counterpart, Level::warning, "warning: The parameter of NPU does not match the bench."},
    {Finding::not_finite_apart, Level::error, "error: NaN or infinities are in other statistics of NPU than of Bench."},
    {Finding::values, Level::error, "error: The values of NPU and Bench differ."},
    {Finding::tensor_file, Level::error, "error: Dump file not found or read failed."},
    {Finding::tensor_places, Level::error, "error: The position of inf or nan in NPU and bench Tensor do not match."},
    {Finding::tensor_empty, Level::error, "error: The recorded tensor has elements, its file has none."},
    {Finding::norm_of_gradient, Level::error, "error: The NormRelativeErr of the gradient is greater than 0.5."},
    {Finding::ratio_of_gradient, Level::error, "error: The One Thousandth Err Ratio of the gradient is below 0.6."},
    {Finding::norm_of_gradient_slight, Level::warning,
     "warning: The NormRelativeErr of the gradient is greater than 0.1."},
    {Finding::cosine_of_gradient, Level::warning, "warning: The Cosine of the gradient is below 0.9."},
    {Finding::no_values, Level::warning, "warning: Neither NPU nor bench has values of the tensor."},
    {Finding::xor_checksum, Level::error, "error: The XOR checksum of NPU differs from that of the bench."},
});

constexpr bool are_in_order() {
  for (std::size_t i = 0; i < finding_words.size(); ++i) {
    if (static_cast<std::size_t>(finding_words[i].finding) != i) return false;
  }
  return true;
}
static_assert(are_in_order());

Level finding_level(Finding finding) { return finding_words[static_cast<std::size_t>(finding)].level; }

}  // namespace

std::string_view finding_text(Finding finding) { return finding_words[static_cast<std::size_t>(finding)].text; }

std::string_view level_text(Level level) {
  constexpr std::array<std::string_view, 3> texts{"pass", "warning", "error"};
  return texts[static_cast<std::size_t>(level)];
}

std::optional<Finding> unmeasured(const dump_compare::TensorMetrics& metrics) {
  if (!metrics.problem.empty()) return Finding::tensor_file;
  // A tensor that was recorded without elements is not looked for in files.
  if (metrics.empty) return Finding::tensor_empty;
  const char* const word = metrics.cells[dump_compare::max_absolute_error].word;
  if (word != nullptr && std::string_view(word) == "shape unmatched") return Finding::shape;
  if (metrics.unequal_integers > 0) return Finding::values;
  using dump_compare::MetricMessage;
  const bool apart = std::ranges::any_of(
      metrics.messages, [](const MetricMessage& message) { return message.weight == dump_compare::Weight::error; });
  if (apart) return Finding::tensor_places;
  return std::nullopt;
}

std::vector<std::uint32_t> paired(const Side& mine, const Entry& entry, const Side& theirs, const Entry& other) {
  std::vector<std::uint32_t> partners(entry.last - entry.first, no_index);
  std::array<std::uint32_t, 4> next{};
  next.fill(other.first);
  for (std::uint32_t i = entry.first; i < entry.last; ++i) {
    const Group group = mine.parameters[i].group;
    std::uint32_t& at = next[static_cast<std::size_t>(group)];
    while (at < other.last && theirs.parameters[at].group != group) ++at;
    if (at < other.last) partners[i - entry.first] = at++;
  }
  return partners;
}

NotFinite Judge::kind_of(const Side& side, const Parameter& parameter, Role role) const {
  const Value value = side.role(parameter, role);
  double number = 0;
  if (value.kind == Kind::real) {
    number = value.real;
  } else if (value.kind == Kind::text && !rules_.compat) {
    number = recordings::not_finite_of(side.text(value.text)).value_or(0);
  }
  if (!std::isfinite(number) && is_overflowed_sum(side, parameter, role, number)) return NotFinite::none;
  return recordings::not_finite_kind(number);
}

bool Judge::is_overflowed_sum(const Side& side, const Parameter& parameter, Role role, double number) const {
  if (rules_.compat || (role != Role::mean && role != Role::norm)) return false;
  const auto text = [&](Role which) {
    const Value value = side.role(parameter, which);
    return value.kind == Kind::text || value.kind == Kind::nested ? side.text(value.text) : std::string_view();
  };
  const Value max = side.role(parameter, Role::max);
  const Value min = side.role(parameter, Role::min);
  if (!max.is_number() || !min.is_number()) return false;
  return recordings::is_overflowed_sum(role == Role::mean ? recordings::mean_value : recordings::norm_value, number,
                                       {max.number(), min.number(), recordings::elements_of(text(Role::shape)),
                                        recordings::is_float16(text(Role::dtype))});
}

bool Judge::not_finite(const Side& side, const Parameter& parameter) const {
  return kind_of(side, parameter, Role::max) != NotFinite::none ||
         kind_of(side, parameter, Role::min) != NotFinite::none;
}

bool Judge::not_finite_apart(const Parameter& mine, const Parameter& theirs) const {
  return std::ranges::any_of(
      statistics, [&](Role role) { return kind_of(npu_.side, mine, role) != kind_of(bench_.side, theirs, role); });
}

bool Judge::other_values(const Parameter& mine, const Parameter& theirs) const {
  return std::ranges::any_of(statistics, [&](Role role) {
    const Value value = npu_.side.role(mine, role);
    const Value other = bench_.side.role(theirs, role);
    if (value.is_number() && other.is_number()) return false;
    const bool finite =
        kind_of(npu_.side, mine, role) == NotFinite::none && kind_of(bench_.side, theirs, role) == NotFinite::none;
    return finite && !same_value(npu_.side, value, bench_.side, other);
  });
}

bool Judge::name_devices(const Parameter& mine, const Parameter& theirs) const {
  const Value value = npu_.side.role(mine, Role::value);
  const Value other = bench_.side.role(theirs, Role::value);
  return value.kind == Kind::text && other.kind == Kind::text && recordings::is_device(npu_.side.text(value.text)) &&
         recordings::is_device(bench_.side.text(other.text));
}

bool Judge::has_no_values(const Parameter& mine, const Parameter& theirs, const Judged& judged) const {
  const auto is_tensor = [](const Side& side, const Parameter& parameter) {
    const std::int8_t place = side.form(parameter).field_of[static_cast<std::size_t>(Role::dtype)];
    return place >= 0 && side.form(parameter).fields[static_cast<std::size_t>(place)].place >= 0;
  };
  if (!is_tensor(npu_.side, mine) || !is_tensor(bench_.side, theirs)) return false;
  if (recordings::elements_of(npu_.side.value_text(npu_.side.role(mine, Role::shape))) == 0) return false;
  if (judged.tensors != nullptr && !judged.tensors->names_no_files) return false;
  return std::ranges::all_of(statistics, [&](Role role) {
    return npu_.side.role(mine, role).kind == Kind::none && bench_.side.role(theirs, role).kind == Kind::none;
  });
}

bool Judge::differs_unmeasured(const Parameter& mine, const Parameter& theirs) const {
  const Difference norm =
      difference_of(npu_.side, npu_.side.role(mine, Role::norm), bench_.side, bench_.side.role(theirs, Role::norm));
  return norm.of_nothing() || not_finite_apart(mine, theirs) || other_values(mine, theirs);
}

void Judge::compare(const Entry& entry, std::uint32_t place, Judged& judged) const {
  if (judged.bench == no_index) return;
  const std::uint32_t at = entry.first + place;
  const Parameter& mine = npu_.side.parameters[at];
  const Parameter& theirs = bench_.side.parameters[judged.bench];
  const auto same = [&](Role role) {
    return same_value(npu_.side, npu_.side.role(mine, role, rules_.dialect), bench_.side,
                      bench_.side.role(theirs, role, rules_.dialect));
  };
  if (rules_.dialect == Dialect::db) judged.same_requires_grad = same(Role::requires_grad);
  switch (rules_.mode) {
    case Mode::summary: {
      const bool texts =
          rules_.dialect == Dialect::db && (npu_.side.form(mine).named_rank || bench_.side.form(theirs).named_rank);
      if (texts) return;
      for (std::size_t i = 0; i < statistic_count; ++i) {
        const Role role = static_cast<Role>(static_cast<std::size_t>(Role::max) + i);
        judged.differences[i] =
            difference_of(npu_.side, npu_.side.role(mine, role), bench_.side, bench_.side.role(theirs, role));
      }
      return;
    }
    case Mode::md5:
      judged.equal_checksums = same(Role::md5) && (rules_.compat || !has_empty_checksum(npu_.side, mine));
      if (!rules_.compat && name_devices(mine, theirs)) judged.equal_checksums = true;
      return;
    case Mode::tensors:
      judged.differences[norm_place] =
          difference_of(npu_.side, npu_.side.role(mine, Role::norm), bench_.side, bench_.side.role(theirs, Role::norm));
      if (const auto found = tensors_.find({at, judged.bench}); found != tensors_.end())
        judged.tensors = &found->second;
      return;
    case Mode::structure:
      return;
  }
}

std::vector<Judged> Judge::judged(std::uint32_t node) const {
  std::vector<Judged> all;
  const std::uint32_t partner = matches_.bench_of[node];
  if (partner == no_index || rules_.mode == Mode::structure) return all;
  const Entry* entry = npu_.entry(node);
  const Entry* other = bench_.entry(partner);
  if (entry == nullptr || other == nullptr) return all;
  const std::vector<std::uint32_t> partners = paired(npu_.side, *entry, bench_.side, *other);
  all.resize(partners.size());
  for (std::size_t i = 0; i < partners.size(); ++i) {
    all[i].bench = partners[i];
    compare(*entry, static_cast<std::uint32_t>(i), all[i]);
  }
  if (rules_.dialect == Dialect::db) find_faults(node, all);
  return all;
}

void Judge::find_faults(std::uint32_t node, std::vector<Judged>& judged) const {
  const Entry& entry = *npu_.entry(node);
  const std::string_view api = api_of(npu_.side.text(entry.name));
  const bool call = npu_.tree.nodes[node].type == NodeType::api;
  if (!call || !is_without_rules(api)) {
    const bool buffers = call && has_buffers(api);
    for (std::uint32_t i = 0; i < judged.size(); ++i) find_faults_alone(node, i, buffers, judged[i]);
    if (!buffers && rules_.mode != Mode::md5) find_faults_of_outputs(entry, judged);
    if (rules_.mode != Mode::md5) find_faults_of_gradients(entry, judged);
    if (rules_.mode == Mode::summary && !buffers) find_other_whole_numbers(entry, judged);
  }
  find_unmeasured(node, judged);
  for (Judged& one : judged) {
    std::ranges::sort(one.findings);
    one.findings.erase(std::unique(one.findings.begin(), one.findings.end()), one.findings.end());
    for (const Finding finding : one.findings) one.level = std::max(one.level, finding_level(finding));
  }
}

void Judge::find_unmeasured(std::uint32_t node, std::vector<Judged>& judged) const {
  const Entry& entry = *npu_.entry(node);
  const std::string_view api = api_of(npu_.side.text(entry.name));
  const bool call = npu_.tree.nodes[node].type == NodeType::api;
  if (call && is_uninitialised(api)) return;
  for (std::uint32_t i = 0; i < judged.size(); ++i) {
    if (judged[i].bench == no_index || rules_.mode == Mode::md5) continue;
    const Parameter& mine = npu_.side.parameters[entry.first + i];
    if (has_no_values(mine, bench_.side.parameters[judged[i].bench], judged[i])) {
      judged[i].findings.push_back(Finding::no_values);
    }
    if (judged[i].tensors == nullptr) continue;
    const std::optional<Finding> finding = unmeasured(*judged[i].tensors);
    if (!finding) continue;
    // A buffer that is filled may hold anything before, but its file can be read.
    const bool buffer = call && has_buffers(api) && is_input(mine);
    if (!buffer || *finding == Finding::tensor_file) judged[i].findings.push_back(*finding);
  }
}

// What shows in a parameter itself.
void Judge::find_faults_alone(std::uint32_t node, std::uint32_t place, bool outputs_only, Judged& judged) const {
  const Parameter& mine = npu_.side.parameters[npu_.entry(node)->first + place];
  if (outputs_only && is_input(mine)) return;
  const auto add = [&](Finding finding) { judged.findings.push_back(finding); };
  if (judged.bench == no_index) return add(Finding::no_counterpart);
  const Parameter& theirs = bench_.side.parameters[judged.bench];
  const auto value = [&](Role role) { return npu_.side.role(mine, role, Dialect::db); };
  const auto other = [&](Role role) { return bench_.side.role(theirs, role, Dialect::db); };
  const auto differs = [&](Role role) { return !same_value(npu_.side, value(role), bench_.side, other(role)); };
  if (rules_.mode == Mode::md5) {
    if (judged.equal_checksums) return;
    const bool missing = value(Role::md5).kind == Kind::none || other(Role::md5).kind == Kind::none ||
                         has_empty_checksum(npu_.side, mine) || has_empty_checksum(bench_.side, theirs);
    const bool xor_sums = is_xor_sum(npu_.side, value(Role::md5)) && is_xor_sum(bench_.side, other(Role::md5));
    return add(missing ? Finding::no_counterpart : xor_sums ? Finding::xor_checksum : Finding::checksum);
  }
  if (not_finite(npu_.side, mine) && !not_finite(bench_.side, theirs)) {
    add(Finding::not_finite);
  } else if (not_finite_apart(mine, theirs)) {
    add(Finding::not_finite_apart);
  }
  if (mine.output && other_values(mine, theirs)) add(Finding::values);
  const auto is_set = [](const Value& flag) { return flag.kind != Kind::none; };
  if (is_set(value(Role::requires_grad)) && is_set(other(Role::requires_grad)) && differs(Role::requires_grad)) {
    add(Finding::requires_grad);
  }
  const auto text = [](const Side& side, const Value& of) {
    return of.kind == Kind::text ? side.text(of.text) : std::string_view();
  };
  const std::string_view dtype = text(npu_.side, value(Role::dtype));
  const bool scalar = dtype.find("class") != std::string_view::npos;
  if (!outputs_only && is_input(mine) && scalar && differs(Role::max) && !name_devices(mine, theirs)) {
    add(Finding::scalar);
  }
  if (differs(Role::dtype)) {
    const std::string name = bench_.side.name_of(*bench_.entry(matches_.bench_of[node]), theirs);
    const bool fused = name.find("qkv") != std::string::npos || name.find("gate_up") != std::string::npos;
    const std::string_view bench_dtype = text(bench_.side, other(Role::dtype));
    const bool one_framework = npu_.side.framework == bench_.side.framework;
    if (!fused &&
        (one_framework || dump_compare::canonical_dtype(dtype) != dump_compare::canonical_dtype(bench_dtype))) {
      add(Finding::dtype);
    }
  }
  if (differs(Role::shape)) add(Finding::shape);
}

Index Judge::vis_index(std::uint32_t node, const std::vector<Judged>& judged) const {
  const Entry& entry = *npu_.entry(node);
  const bool repaired = !rules_.compat;
  const bool call = npu_.tree.nodes[node].type == NodeType::api;
  const bool neutral = repaired && call && is_uninitialised(api_of(npu_.side.text(entry.name)));
  if (rules_.mode == Mode::md5) {
    const bool same = std::ranges::all_of(judged, &Judged::equal_checksums);
    return {true, true, same || neutral ? 1.0 : 0.0};
  }
  if (neutral) return {true, true, 0};
  bool bad_output = false;
  bool bad_input = false;
  for (std::size_t i = 0; repaired && i < judged.size(); ++i) {
    const Parameter& parameter = npu_.side.parameters[entry.first + i];
    if (judged[i].bench == no_index) continue;
    if (not_finite(npu_.side, parameter)) (parameter.output ? bad_output : bad_input) = true;
    if (parameter.output && differs_unmeasured(parameter, bench_.side.parameters[judged[i].bench])) bad_output = true;
    const std::optional<Finding> finding = judged[i].tensors == nullptr ? std::nullopt : unmeasured(*judged[i].tensors);
    // Of an input that holds other values its producer is bad; nobody knows that of a file that cannot be read.
    if (finding && (parameter.output || *finding == Finding::tensor_file)) bad_output = true;
  }
  if (bad_output) return {true, true, 1};
  if (rules_.mode == Mode::tensors) return bad_input ? Index{true, true, 0} : ratio_index(entry, judged);
  const double worst = worst_relative(entry, judged);
  return {true, worst == 0 || worst > 1, std::min(worst, 1.0)};
}

bool Judge::lacks_parameters(std::uint32_t node, const std::vector<Judged>& judged) const {
  const Entry& other = *bench_.entry(matches_.bench_of[node]);
  const auto compared = std::ranges::count_if(judged, [](const Judged& one) { return one.bench != no_index; });
  return static_cast<std::size_t>(compared) < other.last - other.first;
}

Index Judge::index_of(std::uint32_t node, const std::vector<Judged>& judged) const {
  const bool compared = std::ranges::any_of(judged, [](const Judged& one) { return one.bench != no_index; });
  if (!compared) return {};
  if (rules_.dialect == Dialect::vis) return vis_index(node, judged);
  constexpr std::array<double, 3> numbers{0, 0.5, 1};
  const std::string_view name = npu_.tree.nodes[node].name;
  if (npu_.tree.nodes[node].type == NodeType::api && is_uninitialised(api_of(name))) return {true, true, 0};
  Level worst = Level::pass;
  for (const Judged& one : judged) worst = std::max(worst, one.level);
  if (lacks_parameters(node, judged)) worst = std::max(worst, Level::warning);
  return {true, worst != Level::warning, numbers[static_cast<std::size_t>(worst)]};
}

void Judge::add_collections(std::vector<Index>& indices) const {
  const bool least = rules_.dialect == Dialect::vis && rules_.mode == Mode::md5;
  for (const std::uint32_t child : npu_.tree.nodes[0].children) {
    if (npu_.tree.nodes[child].type != NodeType::collection) continue;
    Index index{true, true, least ? 1.0 : 0.0};
    const bool counted = rules_.dialect == Dialect::db || rules_.mode != Mode::tensors || !rules_.compat;
    for (const std::uint32_t call : npu_.tree.nodes[child].children) {
      const Index& one = indices[call];
      if (!counted || !one.set) continue;
      if (least ? one.value < index.value : one.value > index.value) index = one;
    }
    indices[child] = index;
  }
}

std::vector<Index> Judge::indices() const {
  std::vector<Index> indices(npu_.tree.nodes.size());
  if (rules_.mode == Mode::structure) return indices;
  for (std::uint32_t node = 0; node < indices.size(); ++node) indices[node] = index_of(node, judged(node));
  add_collections(indices);
  return indices;
}

}  // namespace msrun::graph

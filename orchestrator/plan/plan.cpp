#include "orchestrator/plan/plan.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <boost/interprocess/anonymous_shared_memory.hpp>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "kernels/api/call_codec.h"
#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/evaluate/materialise.h"
#include "kernels/io/dump/dump_json.h"

namespace msrun {
namespace {

using SpecPtr = std::shared_ptr<const TensorSpec>;

// FNV-1a with a final spread.
std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t hash) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  hash ^= hash >> 32;
  return hash * 0x9E3779B97F4A7C15U;
}

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '_' : c;
  return result;
}

// Names that a spreadsheet would take for a formula abort the run (acc_check_pytorch.md 5.1, row 1).
bool is_formula(std::string_view name) {
  static constexpr std::array<std::string_view, 10> starts{"＋", "－", "＝", "％", "＠", "+", "-", "=", "%", "@"};
  const auto starts_formula = [](std::string_view text) {
    return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return text.starts_with(start); });
  };
  if (starts_formula(name)) return true;
  for (std::size_t at = name.find(';'); at != std::string_view::npos; at = name.find(';', at + 1)) {
    if (starts_formula(name.substr(at + 1))) return true;
  }
  return false;
}

Value without_statistics(const Value& tree) {
  return transform_leaves(tree, [](const Value& leaf) -> Value {
    const SpecPtr* spec = leaf.get<SpecPtr>();
    if (spec == nullptr) return leaf;
    auto bare = std::make_shared<TensorSpec>();
    bare->dtype = (*spec)->dtype;
    bare->shape = (*spec)->shape;
    bare->requires_grad = (*spec)->requires_grad;
    bare->data_name = (*spec)->data_name;
    bare->data_path = (*spec)->data_path;
    return SpecPtr(std::move(bare));
  });
}

// What must be equal for two calls of an API to count as repeated: everything but the statistics (DEV-7).
std::string signature_of(ApiCall call, const List& gradients, bool has_backward) {
  call.name.clear();
  call.output_dtype.clear();
  call.args = *without_statistics(call.args).get<List>();
  call.kwargs = *without_statistics(call.kwargs).get<Dict>();
  std::string signature = encode(call);
  signature += has_backward ? '1' : '0';
  encode_value(without_statistics(gradients), signature);
  return signature;
}

// msProbe's rule: the top-level tensors and values of args without Max and Min, kwargs as they are.
std::string compat_signature_of(ApiCall call) {
  call.name.clear();
  call.output_dtype.clear();
  List top;
  for (const Value& arg : call.args) {
    if (arg.is<List>() || arg.is_none()) continue;
    const SpecPtr* spec = arg.get<SpecPtr>();
    if (spec == nullptr) {
      top.push_back(arg);
      continue;
    }
    auto changed = std::make_shared<TensorSpec>(**spec);
    changed->max.reset();
    changed->min.reset();
    top.emplace_back(SpecPtr(std::move(changed)));
  }
  call.args = std::move(top);
  return encode(call);
}

// Collects tasks and their bytes while the dump streams by.
class Builder {
 public:
  Builder(const std::string& path, const PlanOptions& options) : path_(path), options_(options) {}

  void add(std::string_view entry, DumpEntry&& content) {
    std::string_view base;
    const std::optional<Direction> direction = split_direction(entry, base);
    if (!direction) {
      ++unknown_directions_;
      if (first_unknown_.empty()) first_unknown_ = printable(entry);
      return;
    }
    if (*direction == Direction::forward) {
      add_forward(base, std::move(content));
    } else if (!options_.forward_only) {
      Backward& backward = backward_[std::string(base)];
      if (options_.keep_results) backward.results = put_list(std::move(content.outputs));
      backward.gradients = put_gradients(std::move(content));
    }
  }

  void finish(bool real_data) {
    pair_backward();
    if (options_.filter_duplicates) drop_duplicates();
    for (PlanRecord& record : records_) {
      if (record.skip_size == 0) finish_record(record, real_data);
    }
  }

  std::vector<PlanRecord>& records() { return records_; }
  const std::string& bytes() const { return bytes_; }
  std::size_t filtered() const { return filtered_; }
  std::vector<std::string> warnings() const {
    std::vector<std::string> result;
    if (unknown_directions_ > 0) {
      result.push_back("Entries of " + path_ + " that are neither forward nor backward and are left out: " +
                       std::to_string(unknown_directions_) + "; the first is '" + first_unknown_ + "'.");
    }
    if (duplicates_ > 0) {
      result.push_back("Entries of " + path_ + " that occur again, the later in place of the earlier: " +
                       std::to_string(duplicates_) + "; the first is '" + first_duplicate_ + "'.");
    }
    return result;
  }

 private:
  struct Piece {
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
  };

  Piece put(std::string_view text) {
    if (text.size() > UINT32_MAX) throw UserError(path_ + ": an entry is larger than 4 GiB.");
    const Piece piece{bytes_.size(), static_cast<std::uint32_t>(text.size())};
    bytes_ += text;
    return piece;
  }

  struct Backward {
    Piece gradients;
    Piece results;
  };

  Piece put_list(List&& list) {
    std::string encoded;
    encode_value(std::move(list), encoded);
    return put(encoded);
  }

  Piece put_gradients(DumpEntry&& content) {
    if (!content.problem.empty()) content.grad_inputs = List{Unsupported{content.problem}};
    return put_list(std::move(content.grad_inputs));
  }

  bool is_wanted(const std::string& name) const {
    return options_.only.empty() ||
           std::any_of(options_.only.begin(), options_.only.end(),
                       [&](const std::string& pattern) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
  }

  void add_forward(std::string_view base, DumpEntry&& content) {
    if (is_formula(base)) {
      throw UserError(path_ + ": api name contains special characters, please check! The entry is '" + printable(base) +
                      "'.");
    }
    const std::string name = printable(base);
    if (!is_wanted(name)) return;
    PlanRecord record;
    std::string reason = name == base ? options_.skip_reason(name) : "The API name contains control characters.";
    if (reason.empty() && !content.problem.empty()) reason = content.problem;
    if (reason.empty()) {
      ApiCall call;
      call.name = name;
      call.args = std::move(content.args);
      call.kwargs = std::move(content.kwargs);
      call.output_dtype = std::move(content.output_dtype);
      const Piece piece = put(encode(call));
      record.call_offset = piece.offset;
      record.call_size = piece.size;
      if (options_.keep_results) {
        const Piece results = put_list(std::move(content.outputs));
        record.output_offset = results.offset;
        record.output_size = results.size;
      }
    } else {
      const Piece piece = put(reason);
      record.skip_offset = piece.offset;
      record.skip_size = piece.size;
    }
    const auto [position, fresh] = index_.try_emplace(name, static_cast<std::uint32_t>(records_.size()));
    if (fresh) {
      const Piece piece = put(name);
      record.name_offset = piece.offset;
      record.name_size = piece.size;
      records_.push_back(record);
    } else {
      // The last entry of a name wins, at the position of the first.
      PlanRecord& earlier = records_[position->second];
      record.name_offset = earlier.name_offset;
      record.name_size = earlier.name_size;
      earlier = record;
      ++duplicates_;
      if (first_duplicate_.empty()) first_duplicate_ = printable(name);
    }
  }

  void pair_backward() {
    for (const auto& [name, backward] : backward_) {
      const auto found = index_.find(name);
      if (found == index_.end()) continue;
      PlanRecord& record = records_[found->second];
      record.grad_offset = backward.gradients.offset;
      record.grad_size = backward.gradients.size;
      record.output_grad_offset = backward.results.offset;
      record.output_grad_size = backward.results.size;
    }
    backward_ = {};
    index_ = {};
  }

  std::string_view text(std::uint64_t offset, std::uint32_t size) const {
    return std::string_view(bytes_).substr(offset, size);
  }

  ApiCall call_of(const PlanRecord& record) const {
    ApiCall call = decode_call(text(record.call_offset, record.call_size));
    call.has_backward = record.grad_size > 0;
    if (call.has_backward) {
      std::string_view gradients = text(record.grad_offset, record.grad_size);
      call.grad_inputs = *decode_value(gradients).get<List>();
    }
    return call;
  }

  void drop_duplicates() {
    std::unordered_map<std::string, std::unordered_set<std::string>> kept;  // API without index -> signatures
    const auto is_repeated = [&](const PlanRecord& record) {
      if (record.skip_size > 0) return false;
      const ApiCall call = call_of(record);
      const std::string group = call.name.substr(0, call.name.rfind('.'));
      const std::string signature =
          options_.filter_compat ? compat_signature_of(call) : signature_of(call, call.grad_inputs, call.has_backward);
      return !kept[group].insert(signature).second;
    };
    const auto end = std::remove_if(records_.begin(), records_.end(), is_repeated);
    filtered_ = static_cast<std::size_t>(records_.end() - end);
    records_.erase(end, records_.end());
  }

  void finish_record(PlanRecord& record, bool real_data) {
    const ApiCall call = call_of(record);
    const CostEstimate estimate = estimate_cost(call);
    record.cost = static_cast<float>(estimate.work);
    record.memory = estimate.memory;
    if (!options_.stream_words) return;
    record.stream_word = next_word_;
    next_word_ += stream_words(call, real_data);
  }

  const std::string& path_;
  const PlanOptions& options_;
  std::vector<PlanRecord> records_;
  std::string bytes_;
  std::unordered_map<std::string, std::uint32_t> index_;
  std::unordered_map<std::string, Backward> backward_;
  std::size_t filtered_ = 0;
  std::size_t unknown_directions_ = 0;
  std::string first_unknown_;
  std::size_t duplicates_ = 0;
  std::string first_duplicate_;
  std::uint64_t next_word_ = 0;
};

// Watches the entries of the older tool's two files go by: what makes each of them that file, and what makes them a
// pair.
class AttPair {
 public:
  AttPair(const std::string& forward, const std::string& backward) : forward_(forward), backward_(backward) {}

  void see(std::string_view entry, const DumpEntry& content) {
    std::string_view base;
    if (split_direction(entry, base) == Direction::forward) {
      forward_.see(base, content.has_args || content.has_kwargs);
      names_.emplace(base);
    } else {
      backward_.see(base, content.has_grad_inputs);
      if (names_.contains(std::string(base))) return;
      ++unpaired_;
      if (first_unpaired_.empty()) first_unpaired_ = printable(base);
    }
  }

  // What is wrong with the files as a whole; a wrong entry among good ones is a SKIP.
  void check() const {
    forward_.check("is no object with args and kwargs, so this is no forward_info file");
    backward_.check("is no list of gradients, so this is no backward_info file");
    if (unpaired_ > 0 && unpaired_ == backward_.entries) {
      throw UserError(backward_.path + ": entry '" + first_unpaired_ + "' and all others have no forward entry in " +
                      forward_.path + "; the two files are not of one recording.");
    }
  }

  std::vector<std::string> warnings() const {
    if (unpaired_ == 0) return {};
    return {"Entries of " + backward_.path + " that have no forward entry in " + forward_.path +
            " and are left out: " + std::to_string(unpaired_) + "; the first is '" + first_unpaired_ + "'."};
  }

 private:
  struct File {
    explicit File(const std::string& file) : path(file) {}

    void see(std::string_view base, bool well_formed) {
      if (entries++ == 0) first = printable(base);
      any_well_formed = any_well_formed || well_formed;
    }
    void check(const char* problem) const {
      if (entries > 0 && !any_well_formed) throw UserError(path + ": entry '" + first + "' " + problem + ".");
    }

    const std::string& path;
    std::size_t entries = 0;
    bool any_well_formed = false;
    std::string first;
  };

  File forward_;
  File backward_;
  std::unordered_set<std::string> names_;  // of the forward entries
  std::size_t unpaired_ = 0;
  std::string first_unpaired_;
};

// Elements and bytes of recorded tensors; in double, because recorded shapes may be absurd.
struct Volume {
  double elements = 0;
  double bytes = 0;
  double float_bytes = 0;  // of those that are raised and have gradients
};

void add_volume(const Value& tree, Volume& volume) {
  for_each_leaf(tree, [&](const Value& leaf) {
    const SpecPtr* spec = leaf.get<SpecPtr>();
    if (spec == nullptr) return;
    const double elements = recorded_elements(**spec);
    volume.elements += elements;
    const DType dtype = parse_dtype((*spec)->dtype).value_or(DType::float32);
    const double bytes = elements * static_cast<double>(size_of(dtype));
    volume.bytes += bytes;
    if (is_floating(dtype)) volume.float_bytes += bytes;
  });
}

// acc_check_pytorch.md 1.1; framework is in lower case.
void require_pytorch(const std::string& framework, const std::string& path) {
  if (framework == "pytorch" || framework == "pt") return;
  const bool mindspore = framework == "mindspore" || framework == "ms" || framework == "mindtorch";
  throw UserError(path + ": " +
                  (mindspore ? "The dump is of MindSpore, which cannot be checked yet; there is PyTorch."
                             : "Unsupported framework in api_info: " + printable(framework)));
}

}  // namespace

CostEstimate estimate_cost(const ApiCall& call) {
  Volume inputs;
  Volume gradients;
  for (const Value& arg : call.args) add_volume(arg, inputs);
  for (const auto& [key, value] : call.kwargs) add_volume(value, inputs);
  for (const Value& gradient : call.grad_inputs) add_volume(gradient, gradients);
  const std::optional<ApiName> name = ApiName::parse(call.name);
  const OperatorTraits& traits = name ? traits_of(*name) : ordinary_traits;
  const double products = traits.multiply_adds == nullptr ? 0 : traits.multiply_adds(call.args);
  const double passes = call.has_backward ? 3 : 1;
  CostEstimate estimate;
  // Some twenty nanoseconds per element for data, two runs and the comparison; 0.02 ns per multiply-add and run.
  estimate.work = std::min(20000 + 20 * (inputs.elements + gradients.elements) + 0.04 * products * passes, 1e30);
  // The inputs in both precisions with gradients, outputs about as large as their gradients or the inputs, and the
  // float32 copies that half operands are computed in.
  const double outputs = gradients.bytes > 0 ? gradients.bytes : inputs.bytes;
  const double bytes = (call.has_backward ? 7 : 4) * inputs.float_bytes + (inputs.bytes - inputs.float_bytes) +
                       (call.has_backward ? 6 : 4) * outputs;
  estimate.memory = static_cast<std::uint64_t>(std::min(bytes, 0x1p62)) + (1U << 20);
  return estimate;
}

Plan Plan::read(const std::string& path, const PlanOptions& options) {
  Builder builder(path, options);
  DumpReader reader(path);
  if (options.keep_results) reader.keep_outputs();
  const DumpHeader header =
      reader.read([&](std::string_view entry, DumpEntry&& content) { builder.add(entry, std::move(content)); });
  require_pytorch(header.framework, path);
  builder.finish(header.real_data);

  Plan plan;
  plan.real_data_ = header.real_data;
  plan.filtered_ = builder.filtered();
  plan.warnings_ = builder.warnings();
  plan.lay_out(builder.records(), builder.bytes(), path);
  return plan;
}

Plan Plan::read_att(const std::string& forward, const std::string& backward, const PlanOptions& options) {
  Builder builder(forward, options);
  AttPair pair(forward, backward);
  const DumpHeader header = read_att_pair(forward, backward, [&](std::string_view entry, DumpEntry&& content) {
    pair.see(entry, content);
    builder.add(entry, std::move(content));
  });
  pair.check();
  builder.finish(header.real_data);

  Plan plan;
  plan.real_data_ = header.real_data;
  plan.filtered_ = builder.filtered();
  plan.warnings_ = builder.warnings();
  for (std::string& warning : pair.warnings()) plan.warnings_.push_back(std::move(warning));
  plan.lay_out(builder.records(), builder.bytes(), forward);
  return plan;
}

void Plan::lay_out(const std::vector<PlanRecord>& records, const std::string& bytes, const std::string& path) {
  if (records.size() >= UINT32_MAX) throw UserError(path + ": more calls than can be planned.");
  const std::size_t record_bytes = records.size() * sizeof(PlanRecord);
  region_ = boost::interprocess::anonymous_shared_memory(std::max<std::size_t>(record_bytes + bytes.size(), 1));
  auto* at = static_cast<char*>(region_.get_address());
  std::copy(records.begin(), records.end(), reinterpret_cast<PlanRecord*>(at));
  std::copy(bytes.begin(), bytes.end(), at + record_bytes);
  view_.tasks = {reinterpret_cast<const PlanRecord*>(at), records.size()};
  view_.bytes = at + record_bytes;

  fingerprint_ = 0xCBF29CE484222325U;
  for (std::uint32_t task = 0; task < records.size(); ++task) {
    for (const std::string_view part :
         {view_.name(task), view_.call(task), view_.gradients(task), view_.skip_reason(task)}) {
      fingerprint_ = hash_bytes(part, fingerprint_);
    }
  }
}

std::vector<std::uint32_t> Plan::order(const std::vector<bool>& finished, bool dump_order) const {
  std::vector<std::uint32_t> order;
  for (std::uint32_t task = 0; task < size(); ++task) {
    if (!finished[task] && view_.tasks[task].skip_size == 0) order.push_back(task);
  }
  if (!dump_order) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return view_.tasks[a].cost > view_.tasks[b].cost; });
  }
  return order;
}

}  // namespace msrun

#include "tools/api_precision_compare/comparison.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/csv.h"
#include "tools/api_precision_compare/api_name.h"
#include "tools/api_precision_compare/gpu_index.h"
#include "tools/api_precision_compare/output_files.h"

namespace msrun::api_precision_compare {

namespace {

constexpr const char* unsupported_message = "This data type does not support benchmark compare.";
constexpr const char* topk_chinese =
    "在npu上，topk的入参sorted=False时不生效，会返回有序tensor，而cpu上会返回无序tensor。 "
    "如果topk精度不达标，请检查是否是该原因导致的。";
constexpr const char* topk_english =
    "On the NPU, sorted=False of topk has no effect and the tensor comes sorted, on the CPU it does not. If topk "
    "fails, "
    "check whether this is why.";

// The verdicts of an API's outputs in one direction.
struct Tally {
  std::array<std::uint32_t, 4> with{};

  void add(Status status) { ++with[static_cast<std::size_t>(status)]; }
  std::optional<Status> verdict() const {
    const auto has = [&](Status status) { return with[static_cast<std::size_t>(status)] > 0; };
    if (has(Status::error)) return Status::error;
    if (has(Status::warning)) return Status::warning;
    if (has(Status::pass)) return Status::pass;
    return has(Status::skip) ? std::optional(Status::skip) : std::nullopt;
  }
};

struct Api {
  std::string call;  // "Functional.relu.0"; for a row whose name is no output's the whole name
  Tally forward;
  Tally backward;
  std::string skip_message;  // of the last forward output, if it is SKIP
  std::string note;          // the first reason that upstream would have kept to itself
  bool is_topk = false;
  bool is_unsupported = true;  // so are the dtypes of all outputs, or of the last one as upstream has it
};

class Comparison {
 public:
  // The GPU's file is read and let go.
  Comparison(DetailsFile& npu, std::unique_ptr<DetailsFile> gpu, const std::string& directory, const Rules& rules)
      : npu_(npu),
        rules_(rules),
        gpu_(*gpu, [this](const std::string& text) { add_problem(text); }),
        gpu_path_(gpu->path()),
        files_(directory, rules.english) {
    note_torn_row(*gpu);
  }

  Report run() {
    if (rules_.compat_msprobe) {
      run_as_upstream();
    } else {
      run_carefully();
    }
    note_torn_row(npu_);
    files_.finish();
    report_.details_path = files_.details_path();
    report_.result_path = files_.result_path();
    sort_findings();
    return std::move(report_);
  }

 private:
  void run_as_upstream() {
    std::optional<Api> api;
    while (npu_.next(row_)) {
      if (is_missing_value(row_.name) || is_formula(row_.name)) {
        return stop("the name " + sanitised(bounded(row_.name)) + " is not allowed");
      }
      const std::optional<OutputName> name = parse_output_name(row_.name);
      if (!name) {
        give_up("The API name " + row_.name + " is invalid.");
        continue;
      }
      const GpuIndex::Found found = gpu_.find(row_.name, gpu_row_);
      if (found == GpuIndex::Found::none) {
        ++report_.only_npu;
        continue;
      }
      if (found == GpuIndex::Found::several)
        return stop(gpu_path_ + " has several rows " + sanitised(bounded(row_.name)));
      judge(name->api, row_, gpu_row_, rules_, judgement_);
      ++report_.compared;
      if (judgement_.row_error) {
        give_up(judgement_.message);
        continue;
      }
      write_details(row_.name);
      if (api && api->call != name->call) {
        write_result(*api);
        api.reset();
      }
      if (!api) api = new_api(*name);
      api->is_unsupported = is_unsupported_dtype(row_.dtype);
      if (!api->is_unsupported) collect(*api, *name);
    }
    if (api) write_result(*api);
  }

  void run_carefully() {
    places_.reserve(npu_.expected_rows());
    apis_.reserve(npu_.expected_rows());
    while (npu_.next(row_)) {
      judgement_.clear();
      const bool formula = is_formula(row_.name);
      const std::optional<OutputName> name = formula ? std::nullopt : output_name(row_.name);
      // An output that both files have is listed once, whatever its name.
      if (!name) gpu_.find(row_.name, gpu_row_);
      if (formula) {
        judgement_.message = "The API name begins like a formula of a spreadsheet.";
        add_row_problem("the name " + sanitised(bounded(row_.name)) + " begins like a formula");
      } else if (!name) {
        judgement_.message = "The API name " + row_.name + " is invalid.";
      } else {
        judge_carefully(*name);
      }
      add(name, row_.name, is_unsupported_dtype(row_.dtype));
    }
    for (const std::string_view only : gpu_.unseen()) {
      ++report_.only_gpu;
      judgement_.clear();
      judgement_.message = "Only the GPU file has this output.";
      judgement_.beyond_upstream = true;
      add(is_formula(only) ? std::nullopt : output_name(only), only, false);
    }
    for (const Api& api : apis_) write_result(api);
  }

  static std::optional<OutputName> output_name(std::string_view text) {
    const std::optional<OutputName> name = parse_output_name(text);
    const bool known = name && (name->direction == "forward" || name->direction == "backward");
    return known ? name : std::nullopt;
  }

  void judge_carefully(const OutputName& name) {
    const GpuIndex::Found found = gpu_.find(row_.name, gpu_row_);
    if (row_.damage.empty() && found == GpuIndex::Found::one) {
      judge(name.api, row_, gpu_row_, rules_, judgement_);
      ++report_.compared;
      if (judgement_.status != Status::skip) ++report_.judged;
      if (!judgement_.unreadable.empty() && report_.unreadable++ == 0) {
        report_.first_unreadable = bounded(row_.name) + " (" + judgement_.unreadable + ")";
      }
      return;
    }
    judgement_.beyond_upstream = true;
    if (!row_.damage.empty()) {
      judgement_.message = "The row of the NPU file cannot be used: " + row_.damage + ".";
      add_row_problem(row_.damage);
    } else if (found == GpuIndex::Found::none) {
      ++report_.only_npu;
      judgement_.message = "The GPU file has no row of this output.";
    } else if (found == GpuIndex::Found::several) {
      judgement_.message = "The GPU file has several rows of this output.";
      add_problem(gpu_path_ + ": there are several rows " + sanitised(bounded(row_.name)) + ".");
    } else {
      judgement_.message = "The row of the GPU file cannot be used.";
    }
  }

  // Takes the judgement of an output into the details file and into the verdict of its API. One without a name of an
  // output has a row of its own in the result file, too.
  void add(const std::optional<OutputName>& name, std::string_view text, bool is_unsupported) {
    write_details(name ? text : harmless_name(text));
    if (!name) {
      Api& own = apis_.emplace_back();
      own.call = harmless_name(text);
      own.forward.add(Status::skip);
      own.backward.add(Status::skip);
      own.skip_message = judgement_.message;
      own.is_unsupported = false;
      return;
    }
    const auto [place, fresh] = places_.try_emplace(std::string(name->call), apis_.size());
    if (fresh) apis_.push_back(new_api(*name));
    Api& api = apis_[place->second];
    api.is_unsupported = api.is_unsupported && is_unsupported;
    collect(api, *name);
    if (judgement_.beyond_upstream && api.note.empty()) {
      api.note = std::string(text.substr(name->call.size() + 1)) + ": " + judgement_.message;
    }
  }

  static Api new_api(const OutputName& name) {
    Api api;
    api.call = name.call;
    api.is_topk = name.api == "topk";
    return api;
  }

  void collect(Api& api, const OutputName& name) {
    if (judgement_.status == Status::error) add_finding(name);
    if (name.direction == "forward") {
      api.forward.add(judgement_.status);
      api.skip_message = judgement_.status == Status::skip ? judgement_.message : "";
    } else if (name.direction == "backward") {
      api.backward.add(judgement_.status);
    }
  }

  // A row that upstream gives up is in both files under its own name.
  void give_up(std::string reason) {
    judgement_.clear();
    judgement_.message = std::move(reason);
    write_details(row_.name);
    write_result(row_.name, Status::skip, Status::skip, judgement_.message);
  }

  // Names and messages are those of the input files.
  std::string cell(std::string_view text) const {
    return rules_.compat_msprobe ? std::string(text) : bounded(std::string(text));
  }

  void write_details(std::string_view name) {
    std::string& out = files_.details();
    append_csv_field(out, cell(name));
    for (const std::string& column : judgement_.columns) {
      out += ',';
      append_csv_field(out, column);
    }
    out += ',';
    out += status_text(judgement_.status);
    out += ',';
    out += judgement_.standard ? algorithm_text(*judgement_.standard, rules_.english) : " ";
    out += ',';
    append_csv_text(out, cell(judgement_.message));
    files_.details_row_ends();
    ++report_.outputs;
  }

  void write_result(const Api& api) {
    if (api.is_unsupported) return write_result(api.call, Status::skip, Status::skip, unsupported_message);
    const std::optional<Status> forward = api.forward.verdict();
    std::string message;
    if (forward == Status::error && api.is_topk) message = rules_.english ? topk_english : topk_chinese;
    if (forward == Status::skip) message = api.skip_message;
    if (message.empty()) message = api.note;
    write_result(api.call, forward, api.backward.verdict(), message);
  }

  void write_result(const std::string& name, std::optional<Status> forward, std::optional<Status> backward,
                    const std::string& message) {
    const auto text = [](std::optional<Status> status) { return status ? status_text(*status) : " "; };
    files_.result(cell(name), text(forward), text(backward), cell(message));
    count(report_.forward, forward);
    count(report_.backward, backward);
  }

  static void count(DirectionCounts& counts, std::optional<Status> status) {
    ++(status ? counts.with[static_cast<std::size_t>(*status)] : counts.none);
  }

  void add_finding(const OutputName& name) {
    const auto [place, fresh] = findings_.try_emplace(std::string(name.family), report_.findings.size());
    if (fresh) report_.findings.emplace_back();
    Finding& finding = report_.findings[place->second];
    if (finding.outputs++ > 0 && !(judgement_.excess > finding.excess)) return;
    finding.output = row_.name;
    finding.reason = judgement_.worst;
    finding.excess = judgement_.excess;
  }

  void sort_findings() {
    std::ranges::stable_sort(report_.findings, [](const Finding& a, const Finding& b) { return a.excess > b.excess; });
  }

  void add_problem(const std::string& text) {
    if (report_.problem_count++ < Report::max_problems) report_.problems.push_back(text);
  }

  void add_row_problem(const std::string& text) {
    add_problem(npu_.path() + ", row " + std::to_string(npu_.row_number()) + ": " + text + ".");
  }

  void stop(const std::string& reason) {
    report_.stopped = true;
    add_row_problem("Analyse csv Error: " + reason);
  }

  void note_torn_row(const DetailsFile& file) {
    if (file.torn_bytes() == 0) return;
    const std::string text =
        file.path() + ": the last row ends within quotes, its " + std::to_string(file.torn_bytes()) + " bytes ";
    if (rules_.compat_msprobe) throw UserError(text + "cannot be read.");
    add_problem(text + "were dropped.");
  }

  Report report_;
  DetailsFile& npu_;
  const Rules& rules_;
  GpuIndex gpu_;
  std::string gpu_path_;
  OutputFiles files_;
  OutputRow row_;
  OutputRow gpu_row_;
  Judgement judgement_;
  std::vector<Api> apis_;
  std::unordered_map<std::string, std::size_t> places_;    // of a call in apis_
  std::unordered_map<std::string, std::size_t> findings_;  // of a family in report_.findings
};

}  // namespace

Report compare(const std::string& npu_path, const std::string& gpu_path, const std::string& directory,
               const Rules& rules) {
  const Reading reading = rules.compat_msprobe ? Reading::msprobe : Reading::careful;
  DetailsFile npu(npu_path, "npu_csv", reading);
  npu.write_with(rules.decimals);
  auto gpu = std::make_unique<DetailsFile>(gpu_path, "gpu_csv", reading);
  return Comparison(npu, std::move(gpu), directory, rules).run();
}

}  // namespace msrun::api_precision_compare

// The files of tensor dumps, pair by pair.
#include <filesystem>

#include "kernels/base/text.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/paths.h"
#include "tools/graph/tasks.h"
#include "tools/graph/verdict.h"

namespace msrun::graph {
namespace {

namespace fs = std::filesystem;
using dump_compare::TensorMetrics;

// The file that a recording names for a tensor: neither path nor problem if it names none.
struct NamedFile {
  std::string path;
  std::string problem;  // why it is not read

  bool is_none() const { return path.empty() && problem.empty(); }
};

// The file of a recording in that folder, which must lie there and not elsewhere.
NamedFile file_in(const std::string& folder, const std::string& name) {
  if (name.empty() || name == "-1") return {};
  const std::string path = (fs::path(folder) / tensor_folder_name / name).string();
  if (!is_of_recording(path, fs::path(folder) / "dump.json")) {
    return {{}, sanitised(bounded(path)) + " lies outside the folder of the dump and is not read."};
  }
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);
  if (error) return {{}, "The file " + sanitised(bounded(path)) + " cannot be read: " + error.message() + "."};
  return {canonical.string(), {}};
}

bool is_empty_shape(const std::string& shape) {
  return shape == "[0]" || shape.find("[0,") != std::string::npos || shape.find(" 0,") != std::string::npos ||
         shape.find(" 0]") != std::string::npos;
}

struct Pair {
  std::uint32_t mine;
  std::uint32_t theirs;
};

class TensorPairs {
 public:
  TensorPairs(const View& npu, const View& bench, MemoryBudget& memory) : npu_(npu), bench_(bench), memory_(memory) {}

  TensorMetrics compare(const Pair& pair) const {
    TensorMetrics metrics;
    const Parameter& mine = npu_.side.parameters[pair.mine];
    const Parameter& theirs = bench_.side.parameters[pair.theirs];
    const NamedFile file = file_of(npu_.side, mine);
    const NamedFile other = file_of(bench_.side, theirs);
    metrics.names_no_files = file.is_none() && other.is_none();
    if (metrics.names_no_files) return metrics;
    metrics.problem = problem_of(file, other);
    if (!metrics.problem.empty()) return metrics;
    const Value shape = npu_.side.role(mine, Role::shape);
    if (is_empty_shape(npu_.side.value_text(shape))) {
      metrics.all_are("0");
      return metrics;
    }
    if (!same_value(npu_.side, shape, bench_.side, bench_.side.role(theirs, Role::shape))) {
      metrics.all_are("shape unmatched");
      return metrics;
    }
    const auto with_size = [](const NamedFile& named, const Side& side, const Parameter& parameter) {
      const std::string shape_text = side.value_text(side.role(parameter, Role::shape));
      return dump_compare::TensorFile{named.path, {}, {}, recordings::elements_of(shape_text)};
    };
    return dump_compare::compare_tensor_files(with_size(file, npu_.side, mine), with_size(other, bench_.side, theirs),
                                              false, memory_);
  }

 private:
  static std::string problem_of(const NamedFile& file, const NamedFile& other) {
    if (!file.problem.empty()) return file.problem;
    if (!other.problem.empty()) return other.problem;
    if (!file.is_none() && !other.is_none()) return {};
    return "Of the tensor in " + sanitised(bounded(file.is_none() ? other.path : file.path)) +
           " the other recording names no file.";
  }

  static NamedFile file_of(const Side& side, const Parameter& parameter) {
    const Value name = side.role(parameter, Role::data_name);
    if (name.kind != Kind::text) return {};
    return file_in(side.folder, std::string(side.text(name.text)));
  }

  const View& npu_;
  const View& bench_;
  MemoryBudget& memory_;
};

}  // namespace

TensorResults compare_tensors(const View& npu, const View& bench, std::span<const Matches* const> matches,
                              std::size_t threads, MemoryBudget& memory) {
  TensorResults results;
  for (const Matches* all : matches) {
    for (std::uint32_t node = 0; node < all->bench_of.size(); ++node) {
      const std::uint32_t partner = all->bench_of[node];
      const Entry* entry = npu.entry(node);
      const Entry* other = partner == no_index ? nullptr : bench.entry(partner);
      if (entry == nullptr || other == nullptr) continue;
      const std::vector<std::uint32_t> partners = paired(npu.side, *entry, bench.side, *other);
      for (std::uint32_t i = 0; i < partners.size(); ++i) {
        if (partners[i] != no_index) results[{entry->first + i, partners[i]}];
      }
    }
  }
  std::vector<TensorResults::iterator> places;
  for (auto place = results.begin(); place != results.end(); ++place) places.push_back(place);
  const TensorPairs pairs(npu, bench, memory);
  for_each_task(places.size(), threads, [&](std::size_t i) {
    places[i]->second = pairs.compare({places[i]->first.first, places[i]->first.second});
  });
  return results;
}

}  // namespace msrun::graph

// Recorded results: which of their wrong elements are needed.
#include <algorithm>
#include <cstring>
#include <deque>

#include "kernels/api/operators.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/paths.h"
#include "tools/shrink/steps.h"

namespace msrun::shrink {
namespace {

// A recorded tensor, and what the benchmark has in its place, of its dtype.
struct Pair {
  std::string file;
  Tensor right;
};

std::vector<Value> files_of(const List& values) { return leaves(values); }

// Recorded gradients are paired by place; where the shapes differ they are those of something else, and stay.
void pair_up(const Recording& recording, const std::vector<Value>& recorded, const std::vector<Value>& bench,
             std::vector<Pair>& pairs) {
  for (std::size_t i = 0; i < std::min(recorded.size(), bench.size()); ++i) {
    const TensorSpec* spec = recorded_tensor(recorded[i]);
    const Tensor* right = bench[i].get<Tensor>();
    if (spec == nullptr || right == nullptr) continue;
    const Tensor& wrong = recording.data.at(spec->data_name);
    if (wrong.shape() == right->shape()) pairs.push_back({spec->data_name, right->to(wrong.dtype()).contiguous()});
  }
}

std::vector<Pair> pairs_of(const Recording& recording, const std::string& folder) {
  const std::optional<ApiName> name = ApiName::parse(recording.call.name);
  const Operator* op = name ? find_operator(name->type, name->api) : nullptr;
  if (op == nullptr) return {};
  MaterialiseOptions options;
  options.data_root = join_path(folder, tensor_folder_name);
  ApiCall call = recording.call;
  call.recorded.reset();
  EvaluationOptions benchmark;
  benchmark.benchmark = true;
  const Evaluation evaluation = evaluate(*op, materialise(call, options), benchmark);
  std::vector<Pair> pairs;
  pair_up(recording, files_of(recording.call.recorded->outputs), leaves({evaluation.output}), pairs);
  std::vector<Value> gradients = leaves(evaluation.gradients);
  std::erase_if(gradients, [](const Value& value) { return value.is_none(); });
  pair_up(recording, files_of(recording.call.recorded->gradients), gradients, pairs);
  return pairs;
}

class Mender {
 public:
  Mender(Best& best, Attempts& attempts, const Pair& pair) : best_(best), attempts_(attempts), pair_(pair) {
    const Tensor& wrong = best_.recording.data.at(pair_.file);
    width_ = msrun::size_of(wrong.dtype());
    for (std::int64_t i = 0; i < wrong.numel(); ++i) {
      if (std::memcmp(at(wrong, i), at(pair_.right, i), width_) != 0) differing_.push_back(i);
    }
  }

  void run() {
    if (differing_.empty() || mend(0, differing_.size())) return;
    std::deque<std::pair<std::size_t, std::size_t>> pieces{{0, differing_.size()}};
    while (!pieces.empty()) {
      const auto [first, last] = pieces.front();
      pieces.pop_front();
      if (last - first < 2) continue;
      const std::size_t middle = (first + last) / 2;
      if (!mend(first, middle)) pieces.emplace_back(first, middle);
      if (!mend(middle, last)) pieces.emplace_back(middle, last);
    }
  }

 private:
  const std::byte* at(const Tensor& tensor, std::int64_t i) const {
    return tensor.raw() + static_cast<std::size_t>(i) * width_;
  }

  // The benchmark's elements for these of the differing ones.
  bool mend(std::size_t first, std::size_t last) {
    Tensor mended = best_.recording.data.at(pair_.file).clone();
    for (std::size_t i = first; i < last; ++i) {
      const std::int64_t place = differing_[i];
      std::memcpy(mended.mutable_data<std::byte>() + static_cast<std::size_t>(place) * width_, at(pair_.right, place),
                  width_);
    }
    Recording candidate = best_.recording;
    replace(candidate, pair_.file, std::move(mended));
    return improve(best_, attempts_, std::move(candidate));
  }

  Best& best_;
  Attempts& attempts_;
  const Pair& pair_;
  std::size_t width_ = 1;
  std::vector<std::int64_t> differing_;
};

}  // namespace

void mend_results(Best& best, Attempts& attempts) {
  const std::string folder = join_path(attempts.output(), best.name);
  std::vector<Pair> pairs;
  try {
    pairs = pairs_of(best.recording, folder);
  } catch (const SkipError&) {
    // What the benchmark cannot compute here it could not in the run either, where that has shown a difference.
    return;
  }
  for (const Pair& pair : pairs) Mender(best, attempts, pair).run();
}

}  // namespace msrun::shrink

// Operators that move elements between channels and space.
#include <string>

#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"

namespace msrun {
namespace {

Var pixel_shuffle(const Var& x, std::int64_t factor) {
  if (x.rank() < 3) throw SkipError("pixel_shuffle expects a tensor of at least three dimensions.");
  const std::int64_t c = x.size(-3);
  const std::int64_t h = x.size(-2);
  const std::int64_t w = x.size(-1);
  if (factor < 1 || factor > 1 << 15 || c % (factor * factor) != 0) {
    throw SkipError("pixel_shuffle expects the channels to be divisible by the square of upscale_factor.");
  }
  Dims batch(x.shape().begin(), x.shape().end() - 3);
  const Var blocks = reshape(x, {element_count(batch), c / (factor * factor), factor, factor, h, w});
  batch.push_back(c / (factor * factor));
  batch.push_back(h * factor);
  batch.push_back(w * factor);
  return reshape(permute(blocks, {0, 1, 4, 2, 5, 3}), batch);
}

Var pixel_unshuffle(const Var& x, std::int64_t factor) {
  if (x.rank() < 3) throw SkipError("pixel_unshuffle expects a tensor of at least three dimensions.");
  const std::int64_t c = x.size(-3);
  const std::int64_t h = x.size(-2);
  const std::int64_t w = x.size(-1);
  if (factor < 1 || factor > 1 << 15 || h % factor != 0 || w % factor != 0) {
    throw SkipError("pixel_unshuffle expects height and width to be divisible by downscale_factor.");
  }
  Dims batch(x.shape().begin(), x.shape().end() - 3);
  const Var blocks = reshape(x, {element_count(batch), c, h / factor, factor, w / factor, factor});
  batch.push_back(c * factor * factor);
  batch.push_back(h / factor);
  batch.push_back(w / factor);
  return reshape(permute(blocks, {0, 1, 3, 5, 2, 4}), batch);
}

Var channel_shuffle(const Var& x, std::int64_t groups) {
  if (x.rank() < 3) throw SkipError("channel_shuffle expects a tensor of at least three dimensions.");
  const std::int64_t c = x.size(1);
  if (groups < 1 || c % groups != 0) throw SkipError("channel_shuffle: the channels must be divisible by groups.");
  return reshape(transpose(reshape(x, {x.size(0), groups, c / groups, -1}), 1, 2), x.shape());
}

}  // namespace

OP("pixel_shuffle(Tensor input, int upscale_factor)",
   [](const Bound& args) -> Value { return pixel_shuffle(args.var("input"), args.integer("upscale_factor")); });
NAMES("pixel_shuffle", "Functional: pixel_shuffle; Torch: pixel_shuffle; Aten: pixel_shuffle");
TRAITS("pixel_shuffle", .copies_only = true);

OP("pixel_unshuffle(Tensor input, int downscale_factor)",
   [](const Bound& args) -> Value { return pixel_unshuffle(args.var("input"), args.integer("downscale_factor")); });
NAMES("pixel_unshuffle", "Functional: pixel_unshuffle; Torch: pixel_unshuffle");
TRAITS("pixel_unshuffle", .copies_only = true);

OP("channel_shuffle(Tensor input, int groups)",
   [](const Bound& args) -> Value { return channel_shuffle(args.var("input"), args.integer("groups")); });
NAMES("channel_shuffle", "Functional: channel_shuffle native_channel_shuffle; Torch: channel_shuffle");
TRY_FIRST("channel_shuffle", Trial::of_sizes);
TRAITS("channel_shuffle", .copies_only = true);

}  // namespace msrun

// Losses, in all three reductions.
#include "tests/kernels/ops/gradient_sweep.h"

namespace msrun::testing {
namespace {

Value reduction(Draw& draw) {
  const std::vector<const char*> all{"none", "mean", "sum"};
  return text(all[static_cast<std::size_t>(draw.integer(0, 2))]);
}

// Input and target never closer than 0.1 to each other, nor 0.1 to a distance of 1.
SweepCall distances(Draw& draw) {
  const Dims shape = draw.shape(0, 3);
  std::vector<double> target = values(draw.uniform(shape));
  std::vector<double> input = target;
  for (double& value : input) value += (draw.flag() ? 1 : -1) * (draw.flag() ? draw.real(0.1, 0.9) : draw.real(1.1, 2));
  return {{float64(shape, input), float64(shape, target)}, {{"reduction", reduction(draw)}}};
}

// 1 or -1.
Tensor signs(Draw& draw, const Dims& shape) {
  Tensor result = draw.integers(shape, 0, 1).to(DType::float32).clone();
  for (std::int64_t k = 0; k < result.numel(); ++k) {
    float& value = result.mutable_data<float>()[k];
    value = 2 * value - 1;
  }
  return result;
}

}  // namespace

SweepTable loss_sweep() {
  SweepTable table;
  for (const char* name : {"l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss"})
    table.push_back({name, "", distances});
  table.push_back({"cross_entropy", "", [](Draw& draw) -> SweepCall {
                     Dict kwargs{{"reduction", reduction(draw)}};
                     if (draw.flag()) kwargs.emplace_back("label_smoothing", draw.real(0, 0.5));
                     if (draw.flag()) kwargs.emplace_back("weight", draw.uniform({4}, 0.5, 2).to(DType::float32));
                     return {{draw.uniform({3, 4, 2}), draw.integers({3, 2}, 0, 3)}, kwargs};
                   }});
  table.push_back({"cross_entropy", "Functional.cross_entropy", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}), draw.uniform({3, 4}, 0.1, 1)}, {{"reduction", reduction(draw)}}};
                   }});
  table.push_back({"nll_loss", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}), draw.integers({3}, 0, 3)}, {{"reduction", reduction(draw)}}};
                   }});
  table.push_back(
      {"binary_cross_entropy", "", [](Draw& draw) -> SweepCall {
         const Dims shape = draw.shape(0, 3);
         return {{draw.uniform(shape, 0.2, 0.8), draw.uniform(shape, 0, 1)}, {{"reduction", reduction(draw)}}};
       }});
  table.push_back(
      {"binary_cross_entropy_with_logits", "", [](Draw& draw) -> SweepCall {
         return {{draw.uniform({3, 2}), draw.uniform({3, 2}, 0, 1)},
                 {{"pos_weight", draw.uniform({2}, 0.5, 2).to(DType::float32)}, {"reduction", reduction(draw)}}};
       }});
  table.push_back({"kl_div", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(1, 3);
                     return {{draw.uniform(shape), draw.uniform(shape, 0.2, 1)},
                             {{"reduction", reduction(draw)}, {"log_target", draw.flag()}}};
                   }});
  table.push_back({"gaussian_nll_loss", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(1, 3);
                     return {{draw.uniform(shape), draw.uniform(shape), draw.uniform(shape, 0.5, 2)},
                             {{"full", draw.flag()}, {"reduction", reduction(draw)}}};
                   }});
  table.push_back({"poisson_nll_loss", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(shape, 0.3, 2), draw.uniform(shape, 1.2, 4), draw.flag()},
                             {{"reduction", reduction(draw)}}};
                   }});
  table.push_back({"soft_margin_loss", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(shape), signs(draw, shape)}, {{"reduction", reduction(draw)}}};
                   }});
  table.push_back({"hinge_embedding_loss", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.off_grid(shape), signs(draw, shape)}, {{"reduction", reduction(draw)}}};
                   }});
  table.push_back({"margin_ranking_loss", "", [](Draw& draw) -> SweepCall {
                     const SweepCall two = distances(draw);
                     return {{two.args[0], two.args[1], signs(draw, two.args[0].get<Tensor>()->shape())}, two.kwargs};
                   }});
  table.push_back({"cosine_embedding_loss", "", [](Draw& draw) -> SweepCall {
                     return {{draw.distinct({3, 4}), draw.distinct({3, 4}), signs(draw, {3}), -1.0},
                             {{"reduction", reduction(draw)}}};
                   }});
  table.push_back({"multi_margin_loss", "", [](Draw& draw) -> SweepCall {
                     // Differences of distinct values are near multiples of 0.2, up to 0.1: the margin lies between.
                     return {{draw.uniform({3, 4}, -0.4, 0.4), draw.integers({3}, 0, 3), i(draw.integer(1, 2))},
                             {{"reduction", reduction(draw)}}};
                   }});
  table.push_back({"multilabel_margin_loss", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({2, 3}, -0.4, 0.4), int64({2, 3}, {2, 0, -1, 1, -1, 0})},
                             {{"reduction", reduction(draw)}}};
                   }});
  table.push_back(
      {"multilabel_soft_margin_loss", "", [](Draw& draw) -> SweepCall {
         return {{draw.uniform({3, 4}), draw.mask({3, 4}).to(DType::float32)}, {{"reduction", reduction(draw)}}};
       }});
  for (const char* name : {"triplet_margin_loss", "triplet_margin_with_distance_loss"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       // The positive is farther than the negative: the hinge is always open.
                       return {
                           {draw.uniform({3, 4}, -1, 1), draw.uniform({3, 4}, 2, 3), draw.uniform({3, 4}, -1.4, -1.1)},
                           {{"margin", 2.0}, {"reduction", reduction(draw)}}};
                     }});
  }
  return table;
}

}  // namespace msrun::testing

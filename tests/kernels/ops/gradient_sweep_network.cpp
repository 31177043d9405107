// Convolutions, pooling, normalisation, resampling, attention and recurrent networks.
#include "tests/kernels/ops/gradient_sweep.h"

namespace msrun::testing {
namespace {

Dims with_space(const Dims& leading, std::size_t axes, std::int64_t size) {
  Dims shape = leading;
  for (std::size_t k = 0; k < axes; ++k) shape.push_back(size);
  return shape;
}

void convolutions(SweepTable& table) {
  for (std::size_t axes = 1; axes <= 3; ++axes) {
    const std::string digit = std::to_string(axes);
    const std::int64_t size = axes == 3 ? 3 : 4;
    table.push_back({"conv" + digit + "d", "", [=](Draw& draw) -> SweepCall {
                       const std::int64_t groups = draw.integer(1, 2);
                       return {{draw.uniform(with_space({1, 2}, axes, size)),
                                draw.uniform(with_space({2, 2 / groups}, axes, 2)), draw.uniform({2}),
                                i(draw.integer(1, 2)), i(draw.integer(0, 1)), i(1), i(groups)}};
                     }});
    table.push_back({"conv_transpose" + digit + "d", "", [=](Draw& draw) -> SweepCall {
                       return {{draw.uniform(with_space({1, 2}, axes, 2)), draw.uniform(with_space({2, 1}, axes, 2)),
                                draw.uniform({1}), i(draw.integer(1, 2)), i(draw.integer(0, 1))}};
                     }});
  }
  table.push_back(
      {"conv_tbc", "", [](Draw& draw) -> SweepCall {
         return {{draw.uniform({4, 2, 2}), draw.uniform({2, 2, 3}), draw.uniform({3}), i(draw.integer(0, 1))}};
       }});
  table.push_back({"convolution", "", [](Draw& draw) -> SweepCall {
                     const bool transposed = draw.flag();
                     return {{draw.uniform({1, 2, 4, 3}), draw.uniform({2, 2, 2, 2}), draw.uniform({2}), ints({2, 1}),
                              ints({1, 0}), ints({1, 1}), transposed, ints({transposed ? 1 : 0, 0}), i(1), false, false,
                              true, true}};
                   }});
}

void pooling(SweepTable& table) {
  for (std::size_t axes = 1; axes <= 3; ++axes) {
    const std::string digit = std::to_string(axes);
    const Dims shape = with_space({1, 2}, axes, axes == 3 ? 4 : 5);
    table.push_back(
        {"avg_pool" + digit + "d", "", [=](Draw& draw) -> SweepCall {
           return {{draw.uniform(shape), i(2), i(draw.integer(1, 2)), i(draw.integer(0, 1)), draw.flag(), draw.flag()}};
         }});
    table.push_back({"max_pool" + digit + "d", "", [=](Draw& draw) -> SweepCall {
                       return {{draw.distinct(shape), i(2), i(draw.integer(1, 2)), i(draw.integer(0, 1)), i(1),
                                draw.flag(), draw.flag()}};
                     }});
    table.push_back(
        {"lp_pool" + digit + "d", "", [=](Draw& draw) -> SweepCall {
           return {{draw.uniform(shape, 0.3, 2), draw.real(1.5, 3), i(2), i(draw.integer(1, 2)), draw.flag()}};
         }});
    table.push_back({"adaptive_avg_pool" + digit + "d", "", [=](Draw& draw) -> SweepCall {
                       return {{draw.uniform(shape), i(draw.integer(1, 4))}};
                     }});
    table.push_back({"adaptive_max_pool" + digit + "d", "", [=](Draw& draw) -> SweepCall {
                       return {{draw.distinct(shape), i(draw.integer(1, 4))}};
                     }});
    table.push_back({"max_unpool" + digit + "d", "", [=](Draw& draw) -> SweepCall {
                       // The first element of every window of two.
                       const Dims pooled = with_space({1, 2}, axes, 2);
                       Tensor index(DType::int64, pooled);
                       const Dims strides = row_major_strides(pooled);
                       const Dims wide = row_major_strides(with_space({1, 2}, axes, 4));
                       for (std::int64_t k = 0; k < index.numel(); ++k) {
                         std::int64_t at = 0;
                         for (std::size_t axis = 2; axis < pooled.size(); ++axis)
                           at += k / strides[axis] % 2 * 2 * wide[axis];
                         index.mutable_data<std::int64_t>()[k] = at;
                       }
                       return {{draw.uniform(pooled), index, i(2)}};
                     }});
  }
  for (std::size_t axes = 2; axes <= 3; ++axes) {
    table.push_back(
        {"fractional_max_pool" + std::to_string(axes) + "d",
         "Functional.fractional_max_pool" + std::to_string(axes) + "d", [=](Draw& draw) -> SweepCall {
           const auto count = static_cast<std::int64_t>(axes);
           const Tensor samples = draw.uniform({1, 2, count}, 0.05, 0.95).to(DType::float32);
           return {{draw.distinct(with_space({1, 2}, axes, 4)), i(2), i(2)}, {{"_random_samples", samples}}};
         }});
  }
}

void normalisation(SweepTable& table) {
  const auto constants = [](Draw& draw, double low, double high) {
    return draw.uniform({2}, low, high).to(DType::float32);
  };
  table.push_back(
      {"layer_norm", "", [](Draw& draw) -> SweepCall {
         return {{draw.distinct({3, 2, 2}), ints({2, 2}), draw.uniform({2, 2}), draw.uniform({2, 2}), 1e-3}};
       }});
  table.push_back({"native_layer_norm", "", [](Draw& draw) -> SweepCall {
                     return {{draw.distinct({3, 4}), ints({4}), draw.uniform({4}), draw.uniform({4}), 1e-3}};
                   }});
  table.push_back({"npu_rms_norm", "", [](Draw& draw) -> SweepCall {
                     return {{draw.distinct({3, 4}), draw.uniform({4})}};
                   }});
  table.push_back({"group_norm", "", [](Draw& draw) -> SweepCall {
                     return {{draw.distinct({2, 4, 3}), i(draw.integer(1, 2)), draw.uniform({4}), draw.uniform({4})}};
                   }});
  table.push_back(
      {"native_group_norm", "", [](Draw& draw) -> SweepCall {
         return {{draw.distinct({2, 4, 3}), draw.uniform({4}), draw.uniform({4}), i(2), i(4), i(3), i(2), 1e-3}};
       }});
  table.push_back({"npu_group_norm_silu", "", [](Draw& draw) -> SweepCall {
                     return {{draw.distinct({2, 4, 3}), draw.uniform({4}), draw.uniform({4}), i(2)}};
                   }});
  table.push_back({"batch_norm", "Functional.batch_norm", [=](Draw& draw) -> SweepCall {
                     return {{draw.distinct({3, 2, 2}), constants(draw, -1, 1), constants(draw, 0.5, 2),
                              draw.uniform({2}), draw.uniform({2}), draw.flag()}};
                   }});
  for (const char* name : {"native_batch_norm", "_batch_norm_impl_index"}) {
    table.push_back({name, "", [=](Draw& draw) -> SweepCall {
                       SweepCall call{{draw.distinct({3, 2, 2}), draw.uniform({2}), draw.uniform({2}),
                                       constants(draw, -1, 1), constants(draw, 0.5, 2), draw.flag(), 0.1, 1e-3}};
                       if (std::string(name) == "_batch_norm_impl_index") call.args.emplace_back(true);
                       return call;
                     }});
  }
  table.push_back({"batch_norm_elemt", "", [=](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 2, 2}), draw.uniform({2}), draw.uniform({2}), draw.uniform({2}),
                              draw.uniform({2}, 0.5, 2), 1e-3}};
                   }});
  for (const char* name : {"batch_norm_stats", "batch_norm_update_stats"}) {
    const bool updates = std::string(name) == "batch_norm_update_stats";
    table.push_back({name, "", [updates](Draw& draw) -> SweepCall {
                       const Tensor x = draw.distinct({3, 2, 2});
                       if (!updates) return {{x, 1e-3}};
                       return {{x, None{}, None{}, 0.1}};
                     }});
  }
  table.push_back({"instance_norm", "Functional.instance_norm", [=](Draw& draw) -> SweepCall {
                     return {{draw.distinct({2, 2, 3}), None{}, None{}, draw.uniform({2}), draw.uniform({2})}};
                   }});
  table.push_back(
      {"local_response_norm", "", [](Draw& draw) -> SweepCall {
         return {{draw.uniform({2, 4, 3}), i(draw.integer(1, 5)), draw.real(0.1, 1), draw.real(0.3, 1), 1.0}};
       }});
}

void resampling(SweepTable& table) {
  for (const char* name : {"interpolate", "upsample"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       const std::vector<const char*> modes{"nearest", "bilinear", "bicubic", "linear", "trilinear"};
                       const std::size_t mode = static_cast<std::size_t>(draw.integer(0, 4));
                       const std::size_t axes = mode == 3 ? 1 : mode == 4 ? 3 : 2;
                       Dict kwargs{{"mode", text(modes[mode])}};
                       if (mode > 0) kwargs.emplace_back("align_corners", draw.flag());
                       // Factors that keep or double a length of 3 have shortcuts in frameworks' kernels, whose
                       // gradients need not be those of their results.
                       if (draw.flag()) {
                         kwargs.emplace_back("scale_factor",
                                             draw.flag() ? draw.real(0.6, 0.99) : draw.real(1.34, 1.99));
                       } else {
                         kwargs.emplace_back("size", i(draw.integer(1, 5)));
                       }
                       return {{draw.uniform(with_space({1, 2}, axes, 3))}, kwargs};
                     }});
  }
  for (const char* name : {"upsample_bilinear", "upsample_nearest"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       return {{draw.uniform({1, 2, 3, 3})}, {{"scale_factor", i(draw.integer(1, 3))}}};
                     }});
  }
  table.push_back({"affine_grid", "", [](Draw& draw) -> SweepCall {
                     if (draw.flag()) return {{draw.uniform({2, 2, 3}), ints({2, 1, 3, 2}), draw.flag()}};
                     return {{draw.uniform({1, 3, 4}), ints({1, 1, 2, 3, 2}), draw.flag()}};
                   }});
  table.push_back({"grid_sample", "Functional.grid_sample", [](Draw& draw) -> SweepCall {
                     // Places between the pixels, where interpolation has no kink: pixel centres of five columns are
                     // at multiples of 0.5 with aligned corners.
                     std::vector<double> grid;
                     for (int k = 0; k < 12; ++k)
                       grid.push_back(0.5 * static_cast<double>(draw.integer(-2, 1)) + draw.real(0.05, 0.45));
                     const std::vector<const char*> modes{"bilinear", "bicubic"};
                     const std::vector<const char*> edges{"zeros", "border", "reflection"};
                     return {{draw.uniform({1, 2, 5, 5}), float64({1, 2, 3, 2}, grid),
                              text(modes[static_cast<std::size_t>(draw.integer(0, 1))]),
                              text(edges[static_cast<std::size_t>(draw.integer(0, 2))]), true},
                             {},
                             {},
                             1e-5};
                   }});
  table.push_back({"stft", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({12}), i(4), i(2)}, {{"return_complex", false}}};
                   }});
}

void attention(SweepTable& table) {
  table.push_back({"scaled_dot_product_attention", "", [](Draw& draw) -> SweepCall {
                     SweepCall call{{draw.uniform({2, 3, 4}), draw.uniform({2, 3, 4}), draw.uniform({2, 3, 4})}};
                     if (draw.flag()) call.kwargs = {{"is_causal", true}};
                     if (call.kwargs.empty() && draw.flag()) call.kwargs = {{"attn_mask", draw.uniform({3, 3})}};
                     return call;
                   }});
  table.push_back({"multi_head_attention_forward", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 2, 4}), draw.uniform({2, 2, 4}), draw.uniform({2, 2, 4}), i(4), i(2),
                              draw.uniform({12, 4}, -1, 1), draw.uniform({12}), None{}, None{}, draw.flag(), 0.0,
                              draw.uniform({4, 4}), draw.uniform({4})},
                             {{"training", false}}};
                   }});
  table.push_back({"npu_fusion_attention", "", [](Draw& draw) -> SweepCall {
                     return {
                         {draw.uniform({1, 3, 4}), draw.uniform({1, 3, 4}), draw.uniform({1, 3, 4}), i(2), text("BSH")},
                         {{"scale", draw.real(0.3, 1)}}};
                   }});
  table.push_back({"npu_rotary_mul", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({1, 2, 3, 4}), draw.uniform({1, 1, 3, 4}), draw.uniform({1, 1, 3, 4})}};
                   }});
  table.push_back({"npu_scaled_masked_softmax", "", [](Draw& draw) -> SweepCall {
                     Tensor mask = draw.mask({1, 1, 3, 4}).clone();
                     for (std::int64_t row = 0; row < 3; ++row) mask.mutable_data<bool>()[row * 4] = false;
                     return {{draw.uniform({1, 2, 3, 4}), mask, draw.real(0.5, 2)}};
                   }});
}

void recurrent(SweepTable& table) {
  const auto layer = [](Draw& draw, std::int64_t gates) {
    return List{draw.uniform({gates * 2, 3}), draw.uniform({gates * 2, 2}), draw.uniform({gates * 2}),
                draw.uniform({gates * 2})};
  };
  table.push_back({"lstm", "", [=](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 2, 3}), List{draw.uniform({1, 2, 2}), draw.uniform({1, 2, 2})},
                              layer(draw, 4), true, i(1), 0.0, false, false, false}};
                   }});
  table.push_back({"gru", "", [=](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 2, 3}), draw.uniform({1, 2, 2}), layer(draw, 3), true, i(1), 0.0, false,
                              false, false}};
                   }});
  table.push_back({"lstm_cell", "", [=](Draw& draw) -> SweepCall {
                     List args{draw.uniform({2, 3}), List{draw.uniform({2, 2}), draw.uniform({2, 2})}};
                     for (const Value& weight : layer(draw, 4)) args.push_back(weight);
                     return {args};
                   }});
  table.push_back({"gru_cell", "", [=](Draw& draw) -> SweepCall {
                     List args{draw.uniform({2, 3}), draw.uniform({2, 2})};
                     for (const Value& weight : layer(draw, 3)) args.push_back(weight);
                     return {args};
                   }});
}

}  // namespace

SweepTable network_sweep() {
  SweepTable table;
  convolutions(table);
  pooling(table);
  normalisation(table);
  resampling(table);
  attention(table);
  recurrent(table);
  return table;
}

}  // namespace msrun::testing

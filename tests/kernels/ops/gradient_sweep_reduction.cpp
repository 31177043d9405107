// Reductions, scans, norms of vectors, sorting and statistics.
#include "tests/kernels/ops/gradient_sweep.h"

namespace msrun::testing {
namespace {

enum class Values : std::uint8_t { smooth, apart, positive };

Tensor drawn(Draw& draw, const Dims& shape, Values values) {
  switch (values) {
    case Values::apart:
      return draw.distinct(shape);
    case Values::positive:
      return draw.uniform(shape, 0.5, 2);
    case Values::smooth:
      break;
  }
  return draw.uniform(shape);
}

// Over all axes, or over one or two with or without keeping them.
std::function<SweepCall(Draw&)> over_axes(Values values, std::int64_t smallest_rank = 0) {
  return [=](Draw& draw) -> SweepCall {
    const Tensor x = drawn(draw, draw.shape(smallest_rank, 3), values);
    if (x.rank() == 0 || draw.flag()) return {{x}};
    if (x.rank() > 1 && draw.flag()) return {{x, ints({0, -1}), draw.flag()}};
    return {{x, i(draw.axis(x.rank())), draw.flag()}};
  };
}

// Along one axis, which is always given.
std::function<SweepCall(Draw&)> along(Values values) {
  return [=](Draw& draw) -> SweepCall {
    const Tensor x = drawn(draw, draw.shape(1, 3), values);
    return {{x, i(draw.axis(x.rank()))}};
  };
}

// At least two elements along every axis.
SweepCall spread(Draw& draw) {
  Dims shape = draw.shape(1, 3);
  for (std::int64_t& size : shape) size += 1;
  const Tensor x = draw.distinct(shape);
  const Dict unbiased{{"unbiased", draw.flag()}};
  if (draw.flag()) return {{x}, unbiased};
  return {{x, i(draw.axis(x.rank()))}, unbiased};
}

}  // namespace

SweepTable reduction_sweep() {
  SweepTable table;
  const auto add = [&](const std::vector<std::string>& names, const std::function<SweepCall(Draw&)>& make) {
    for (const std::string& name : names) table.push_back({name, "", make});
  };
  add({"sum", "mean", "nansum", "nanmean"}, over_axes(Values::smooth));
  add({"amax", "amin"}, over_axes(Values::apart));
  table.push_back({"max", "Tensor.max", along(Values::apart)});
  table.push_back({"min", "Tensor.min", along(Values::apart)});
  add({"cummax", "cummin", "median", "nanmedian", "mode"}, along(Values::apart));
  table.push_back(
      {"median", "Torch.median", [](Draw& draw) -> SweepCall { return {{draw.distinct(draw.shape(0, 3))}}; }});
  add({"cumsum", "cumprod", "logcumsumexp", "logsumexp", "softmax", "log_softmax", "softmin"}, along(Values::smooth));
  add({"prod"}, [](Draw& draw) -> SweepCall {
    const Tensor x = draw.uniform(draw.shape(0, 3));
    if (x.rank() == 0 || draw.flag()) return {{x}};
    return {{x, i(draw.axis(x.rank())), draw.flag()}};
  });
  add({"std", "var", "std_mean", "var_mean"}, spread);
  add({"sort", "msort"}, [](Draw& draw) -> SweepCall { return {{draw.distinct(draw.shape(1, 3))}}; });
  table.push_back({"sort", "Torch.sort", along(Values::apart)});
  for (const char* name : {"topk", "kthvalue"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       const Tensor x = draw.distinct(draw.shape(1, 3));
                       const std::int64_t axis = draw.axis(x.rank());
                       return {{x, i(draw.integer(1, x.size(axis))), i(axis)}};
                     }});
  }
  for (const char* name : {"aminmax", "_aminmax"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       const Tensor x = draw.distinct(draw.shape(1, 3));
                       return {{x}, {{"dim", i(draw.axis(x.rank()))}}};
                     }});
  }
  for (const char* name : {"quantile", "nanquantile"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       const Tensor x = draw.distinct(draw.shape(1, 2));
                       return {{x, draw.real(0.05, 0.95), draw.flag() ? i(draw.axis(x.rank())) : Value(None{})}};
                     }});
  }
  table.push_back({"cumulative_trapezoid", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({2, 4}), draw.flag() ? draw.uniform({4}) : draw.uniform({2, 4})}};
                   }});
  table.push_back({"trapz", "", [](Draw& draw) -> SweepCall {
                     const Tensor y = draw.uniform({2, 4});
                     if (draw.flag()) return {{y}, {{"dx", draw.real(0.5, 2)}}};
                     return {{y, draw.uniform({4})}};
                   }});
  table.push_back({"diff", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}), i(draw.integer(1, 2)), i(draw.axis(2))}};
                   }});
  table.push_back({"cov", "", [](Draw& draw) -> SweepCall { return {{draw.uniform({3, 4})}}; }});
  table.push_back({"corrcoef", "", [](Draw& draw) -> SweepCall { return {{draw.distinct({3, 4})}, {}, {}, 1e-5}; }});
  table.push_back({"norm", "", [](Draw& draw) -> SweepCall {
                     const Tensor x = draw.distinct(draw.shape(1, 3));
                     return {{x, draw.real(1.2, 4), draw.flag() ? ints({draw.axis(x.rank())}) : Value(None{})}};
                   }});
  for (const char* name : {"linalg_norm", "linalg_vector_norm"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       const Tensor x = draw.distinct(draw.shape(1, 3));
                       return {{x, draw.real(1.2, 4), ints({draw.axis(x.rank())}), draw.flag()}};
                     }});
  }
  table.push_back({"norm_except_dim", "", [](Draw& draw) -> SweepCall {
                     return {{draw.distinct({3, 4}), i(2), i(draw.integer(0, 1))}};
                   }});
  table.push_back({"normalize", "", [](Draw& draw) -> SweepCall {
                     return {{draw.distinct({3, 4}), draw.real(1.2, 4), i(draw.integer(0, 1))}};
                   }});
  table.push_back({"renorm", "", [](Draw& draw) -> SweepCall {
                     return {{draw.distinct({3, 4}), 2.0, i(draw.integer(0, 1)), draw.flag() ? 0.1 : 50.0}};
                   }});
  table.push_back({"dist", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}, -2, 0), draw.uniform({4}, 0.1, 2), draw.real(1.2, 4)}};
                   }});
  table.push_back({"trace", "", [](Draw& draw) -> SweepCall { return {{draw.uniform(draw.shape(2, 2))}}; }});
  return table;
}

}  // namespace msrun::testing

// Products, decompositions, solvers and other functions of matrices. Functions that fill the table are as long as it
// has entries: each entry is data that concerns no other.
#include "tests/kernels/ops/gradient_sweep.h"

namespace msrun::testing {
namespace {

using Make = std::function<SweepCall(Draw&)>;

Make square_matrix(std::int64_t batch_rank) {
  return [=](Draw& draw) -> SweepCall { return {{draw.matrix(draw.shape(0, batch_rank), draw.integer(1, 3))}}; };
}

SweepCall positive(Draw& draw) {
  return {{draw.positive_definite(draw.shape(0, 1), draw.integer(1, 3))}, {}, {}, 1e-6, true};
}

// A triangular factor: entries on and below the diagonal are used, so only those are drawn.
Tensor lower_factor(Draw& draw, std::int64_t size) {
  Tensor full = draw.matrix({}, size).contiguous().clone();
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t column = row + 1; column < size; ++column) full.mutable_data<double>()[row * size + column] = 0;
  }
  return full;
}

Dict scaled(Draw& draw) { return {{"beta", draw.real(-2, 2)}, {"alpha", draw.real(-2, 2)}}; }

void products(SweepTable& table) {
  for (const char* name : {"mm", "dsmm", "spmm"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       const std::int64_t k = draw.integer(1, 4);
                       return {{draw.uniform({draw.integer(1, 3), k}), draw.uniform({k, draw.integer(1, 3)})}};
                     }});
  }
  table.push_back({"matmul", "", [](Draw& draw) -> SweepCall {
                     const std::vector<std::pair<Dims, Dims>> shapes{
                         {{3}, {3}}, {{2, 3}, {3}}, {{3}, {3, 2}}, {{2, 3}, {3, 4}}, {{2, 1, 2, 3}, {3, 3, 2}}};
                     const auto& [a, b] = shapes[static_cast<std::size_t>(draw.integer(0, 4))];
                     return {{draw.uniform(a), draw.uniform(b)}};
                   }});
  table.push_back({"bmm", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({2, 3, 2}), draw.uniform({2, 2, draw.integer(1, 4)})}};
                   }});
  table.push_back({"mv", "", [](Draw& draw) -> SweepCall { return {{draw.uniform({3, 4}), draw.uniform({4})}}; }});
  for (const char* name : {"dot", "vdot", "inner"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       const std::int64_t k = draw.integer(1, 5);
                       return {{draw.uniform({k}), draw.uniform({k})}};
                     }});
  }
  table.push_back({"linalg_vecdot", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}), draw.uniform({4})}};
                   }});
  table.push_back({"outer", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(1, 1)), draw.uniform(draw.shape(1, 1))}};
                   }});
  table.push_back({"kron", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(0, 2)), draw.uniform({2, draw.integer(1, 2)})}};
                   }});
  table.push_back({"tensordot", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({2, 3, 4}), draw.uniform({3, 4, 2}), i(2)}};
                   }});
  table.push_back(
      {"einsum", "", [](Draw& draw) -> SweepCall {
         return {{text("bij,bjk,i->bk"), draw.uniform({2, 3, 2}), draw.uniform({2, 2, 3}), draw.uniform({3})}};
       }});
  table.push_back({"bilinear", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({2, 3}), draw.uniform({2, 4}), draw.uniform({2, 3, 4}), draw.uniform({2})}};
                   }});
  for (const char* name : {"linear", "npu_linear"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       return {{draw.uniform({draw.integer(1, 3), 4}), draw.uniform({3, 4}), draw.uniform({3})}};
                     }});
  }
  for (const char* name : {"addmm", "saddmm", "_addmm_activation"}) {
    const bool activated = std::string(name) == "_addmm_activation";
    table.push_back({name, "", [activated](Draw& draw) -> SweepCall {
                       // The activation has a kink at 0: large sums of one sign.
                       const double low = activated ? 0.5 : -2;
                       SweepCall call{{draw.uniform(draw.flag() ? Dims{3} : Dims{2, 3}, low, 2),
                                       draw.uniform({2, 4}, low, 2), draw.uniform({4, 3}, low, 2)},
                                      {{"beta", draw.real(0.5, 2)}, {"alpha", draw.real(0.5, 2)}}};
                       return call;
                     }});
  }
  table.push_back({"addmv", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3}), draw.uniform({3, 4}), draw.uniform({4})}, scaled(draw)};
                   }});
  table.push_back({"addr", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}), draw.uniform({3}), draw.uniform({4})}, scaled(draw)};
                   }});
  table.push_back({"addbmm", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 2}), draw.uniform({2, 3, 4}), draw.uniform({2, 4, 2})}, scaled(draw)};
                   }});
  table.push_back({"baddbmm", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({2, 3, 2}), draw.uniform({2, 3, 4}), draw.uniform({2, 4, 2})}, scaled(draw)};
                   }});
  for (const char* name : {"chain_matmul", "linalg_multi_dot"}) {
    table.push_back({name, "", [name](Draw& draw) -> SweepCall {
                       List all{draw.uniform({2, 3}), draw.uniform({3, 4}), draw.uniform({4, 2})};
                       if (std::string(name) == "chain_matmul") return {all};
                       return {{Value(all)}};
                     }});
  }
  table.push_back({"cross", "Torch.cross", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({2, 3}), draw.uniform({2, 3}), i(1)}};
                   }});
  table.push_back({"cdist", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 2}, -2, 0), draw.uniform({4, 2}, 0.2, 2), draw.real(1.2, 4)}};
                   }});
  table.push_back({"pdist", "", [](Draw& draw) -> SweepCall { return {{draw.distinct({4, 3}), draw.real(1.2, 4)}}; }});
  table.push_back({"pairwise_distance", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 4}, -2, 0), draw.uniform({3, 4}, 0.2, 2), draw.real(1.2, 4)}};
                   }});
  table.push_back({"cosine_similarity", "", [](Draw& draw) -> SweepCall {
                     return {{draw.distinct({3, 4}), draw.distinct({3, 4}), i(draw.integer(0, 1))}};
                   }});
  table.push_back({"vander", "Torch.vander", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3}), i(draw.integer(1, 4)), draw.flag()}};
                   }});
}

void functions_of_matrices(SweepTable& table) {
  const auto add = [&](const std::vector<std::string>& names, const Make& make) {
    for (const std::string& name : names) table.push_back({name, "", make});
  };
  add({"det", "logdet", "slogdet", "inverse", "linalg_inv_ex", "matrix_exp", "pinverse", "lu", "linalg_lu_factor",
       "linalg_lu_factor_ex", "qr", "linalg_svdvals", "linalg_cond"},
      square_matrix(1));
  add({"cholesky", "linalg_cholesky_ex"}, positive);
  table.push_back({"qr", "Torch.linalg.qr", [](Draw& draw) -> SweepCall {
                     return {{draw.distinct({4, 2})}, {}, {}, 1e-5};
                   }});
  table.push_back(
      {"linalg_matrix_power", "", [](Draw& draw) -> SweepCall {
         return {{draw.matrix(draw.shape(0, 1), 3), i(draw.flag() ? draw.integer(1, 3) : draw.integer(-2, -1))}};
       }});
  table.push_back({"linalg_matrix_norm", "", [](Draw& draw) -> SweepCall {
                     const std::vector<Value> orders{text("fro"), text("nuc"), i(1), i(-1), i(2), i(-2)};
                     return {{draw.matrix({}, 3), orders[static_cast<std::size_t>(draw.integer(0, 5))]}};
                   }});
  table.push_back({"cholesky_inverse", "",
                   [](Draw& draw) -> SweepCall { return {.args = {lower_factor(draw, 3)}, .lower = true}; }});
  table.push_back({"cholesky_solve", "", [](Draw& draw) -> SweepCall {
                     return {.args = {draw.uniform({3, 2}), lower_factor(draw, 3)}, .lower = true};
                   }});
  table.push_back({"triangular_solve", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 2}), draw.matrix({}, 3), draw.flag(), draw.flag()}};
                   }});
  for (const char* name : {"linalg_solve", "linalg_solve_ex"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       return {{draw.matrix({}, 3), draw.uniform({3, draw.integer(1, 2)})}};
                     }});
  }
  table.push_back({"solve", "", [](Draw& draw) -> SweepCall { return {{draw.matrix({}, 3), draw.uniform({3, 2})}}; }});
  table.push_back({"linalg_tensorsolve", "", [](Draw& draw) -> SweepCall {
                     return {{draw.matrix({}, 4).reshape(Dims{2, 2, 4}), draw.uniform({2, 2})}};
                   }});
  table.push_back({"lstsq", "Torch.linalg.lstsq", [](Draw& draw) -> SweepCall {
                     return {{draw.matrix({}, 3), draw.uniform({3, 2})}};
                   }});
  table.push_back({"lu_solve", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 2}), draw.matrix({}, 3), int64({3}, {1, 3, 3}).to(DType::int32)}};
                   }});
  table.push_back({"lu_unpack", "", [](Draw& draw) -> SweepCall {
                     return {{draw.matrix({}, 3), int64({3}, {1, 3, 3}).to(DType::int32)}};
                   }});
  table.push_back({"svd", "", [](Draw& draw) -> SweepCall { return {{draw.matrix({}, 3)}, {}, {}, 1e-5}; }});
  table.push_back({"symeig", "", [](Draw& draw) -> SweepCall {
                     // From three rows on, the sign of eigenvectors may turn over between neighbouring matrices.
                     const bool vectors = draw.flag();
                     return {{draw.positive_definite({}, vectors ? 2 : 3), vectors}, {}, {}, 1e-5, true};
                   }});
  table.push_back({"orgqr", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 2}, -1, 1), draw.uniform({2}, 0.2, 1)}};
                   }});
  table.push_back({"ormqr", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform({3, 2}, -1, 1), draw.uniform({2}, 0.2, 1), draw.uniform({3, 2})}};
                   }});
}

}  // namespace

SweepTable matrix_sweep() {
  SweepTable table;
  products(table);
  functions_of_matrices(table);
  return table;
}

}  // namespace msrun::testing

#include "kernels/compare/choices/freedom.h"

#include <Eigen/Core>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "kernels/api/value.h"

namespace msrun {
namespace {

using Complex = std::complex<double>;
using Matrix = Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<const Matrix>;

// What the vectors of a tensor are: its columns or its rows; of values each belongs to one vector.
enum class Role : std::uint8_t { columns, rows, values };

// One output, or the items of a list.
List items_of(const Value& value) {
  if (const List* list = value.get<List>()) return *list;
  return {value};
}

// Matrices of complex128 whose columns are the vectors; values are matrices of one row.
struct Operand {
  Tensor data;
  Role role = Role::columns;

  Operand(const Tensor& tensor, Role role_of) : role(role_of) {
    Tensor oriented = role == Role::rows ? tensor.transpose(-1, -2) : tensor;
    if (role == Role::values) oriented = oriented.unsqueeze(-2);
    data = oriented.to(DType::complex128).contiguous();
  }

  std::int64_t count() const { return data.numel() / std::max<std::int64_t>(data.size(-1) * data.size(-2), 1); }
  View matrix(std::int64_t index) const {
    return {data.data<Complex>() + index * data.size(-1) * data.size(-2), data.size(-2), data.size(-1)};
  }
};

// Vectors first ... first + turn.cols() - 1 times a unitary matrix.
struct Block {
  Eigen::Index first;
  Eigen::MatrixXcd turn;
};

// The turns of one output: per matrix of the batch the order in which its vectors are taken, empty if it does not
// change, and what they are multiplied with then.
struct ItemTurns {
  Role role = Role::columns;
  Dims shape;
  std::vector<std::vector<Eigen::Index>> orders;
  std::vector<std::vector<Block>> blocks;
  bool changes = false;
};

// Larger subspaces of equal values are only turned vector by vector.
constexpr Eigen::Index largest_subspace = 128;
// Turns that are the identity but for rounding are left out.
constexpr double negligible = 1e-6;

// All products here are this one, since each pair of types takes the compiler seconds. a is (m, k), b is (k, n).
Matrix times(const Matrix& a, const Matrix& b) { return a * b; }

Complex phase_of(Complex overlap) {
  const double size = std::abs(overlap);
  return std::isfinite(size) && size > 0 ? overlap / size : Complex{1};
}

// The unitary matrix W for which device W comes closest to bench, from the overlaps device^H bench, of which the
// diagonal is at most `full`.
Eigen::MatrixXcd closest_turn(const Eigen::MatrixXcd& overlaps, double full) {
  const Eigen::Index n = overlaps.cols();
  // A turn of more than rounding shows in the overlaps only by its square.
  const bool one_to_one = (overlaps.diagonal().cwiseAbs().array() > (1 - 1e-7) * full).all();
  if (n == 1 || one_to_one || n > largest_subspace || !overlaps.allFinite()) {
    Eigen::MatrixXcd turn = Eigen::MatrixXcd::Zero(n, n);
    for (Eigen::Index i = 0; i < n; ++i) turn(i, i) = phase_of(overlaps(i, i));
    return turn;
  }
  // Square matrices need no QR decomposition first.
  const Eigen::JacobiSVD<Eigen::MatrixXcd, Eigen::NoQRPreconditioner> factors(
      overlaps, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return times(factors.matrixU(), factors.matrixV().adjoint());
}

bool is_identity(const Eigen::MatrixXcd& turn) {
  return (turn - Eigen::MatrixXcd::Identity(turn.rows(), turn.cols())).cwiseAbs().maxCoeff() <= negligible;
}

double epsilon_of(DType dtype) {
  if (dtype == DType::float64 || dtype == DType::complex128) return epsilon(DType::float64);
  return epsilon(DType::float32);  // also for half outputs: they are rounded once, at the end
}

// Below which difference, relative to the largest, values count as equal: their vectors are not told apart then.
double resolution(DType device, std::int64_t size) { return epsilon_of(device) * static_cast<double>(size); }

// Runs [first, last) of values that are equal; they fall or rise.
std::vector<std::pair<Eigen::Index, Eigen::Index>> runs_of_equal(const View& values, double limit) {
  std::vector<std::pair<Eigen::Index, Eigen::Index>> runs;
  for (Eigen::Index i = 0; i < values.cols(); ++i) {
    const bool same = i > 0 && std::abs(values(0, i) - values(0, i - 1)) <= limit;
    if (same) {
      runs.back().second = i + 1;
    } else {
      runs.emplace_back(i, i + 1);
    }
  }
  return runs;
}

// Collects the turns of one call.
class Search {
 public:
  Search(const std::vector<Operand>& bench, const std::vector<Operand>& device, std::vector<ItemTurns>& items)
      : bench_(bench), device_(device), items_(items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i].orders.resize(static_cast<std::size_t>(device[i].count()));
      items[i].blocks.resize(static_cast<std::size_t>(device[i].count()));
    }
  }

  // Vectors first ... last - 1 of the named items turn together.
  void turn(std::int64_t batch, std::initializer_list<std::size_t> items, Eigen::Index first, Eigen::Index last) {
    const Eigen::Index size = last - first;
    if (size <= 0) return;
    Eigen::MatrixXcd overlaps = Eigen::MatrixXcd::Zero(size, size);
    double full = 0;
    for (const std::size_t item : items) {
      const auto b = bench_[item].matrix(batch).middleCols(first, size);
      const auto d = device_[item].matrix(batch).middleCols(first, size);
      // Scaled, so that the rows of R weigh no more than the columns of Q.
      const double scale = b.norm() * d.norm() / static_cast<double>(size);
      if (!(scale > 0) || !std::isfinite(scale)) continue;
      overlaps += times(d.adjoint(), b) / scale;
      full += 1;
    }
    if (full == 0) return;
    const Eigen::MatrixXcd turn = closest_turn(overlaps, full);
    if (is_identity(turn)) return;
    const bool single = turn.isDiagonal(negligible);
    (single ? turned_vectors_ : turned_subspaces_) +=
        single ? ((turn.diagonal().array() - Complex{1}).abs() > negligible).count() : 1;
    for (const std::size_t item : items) {
      items_[item].blocks[static_cast<std::size_t>(batch)].push_back({first, turn});
      items_[item].changes = true;
    }
  }

  // Eigenvalues in another order: each of the benchmark's takes the nearest of the device's that is left.
  void reorder(std::int64_t batch) {
    const View bench = bench_[0].matrix(batch);
    const View device = device_[0].matrix(batch);
    const Eigen::Index n = bench.cols();
    std::vector<Eigen::Index> order;
    std::vector<bool> used(static_cast<std::size_t>(n), false);
    double in_place = 0;
    double matched = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      Eigen::Index best = -1;
      for (Eigen::Index j = 0; j < n; ++j) {
        if (used[static_cast<std::size_t>(j)]) continue;
        if (best < 0 || std::abs(device(0, j) - bench(0, i)) < std::abs(device(0, best) - bench(0, i))) best = j;
      }
      used[static_cast<std::size_t>(best)] = true;
      order.push_back(best);
      in_place = std::max(in_place, std::abs(device(0, i) - bench(0, i)));
      matched = std::max(matched, std::abs(device(0, best) - bench(0, i)));
    }
    if (!(matched < in_place / 2)) return;
    reordered_ = true;
    for (ItemTurns& item : items_) {
      item.orders[static_cast<std::size_t>(batch)] = order;
      item.changes = true;
    }
  }

  std::string message() const {
    std::vector<std::string> parts;
    if (turned_vectors_ > 0)
      parts.push_back(std::to_string(turned_vectors_) + " vectors were given the benchmark's sign");
    if (turned_subspaces_ > 0) {
      parts.push_back("the vectors of " + std::to_string(turned_subspaces_) +
                      " groups of equal values were rotated to the benchmark's");
    }
    if (reordered_) parts.emplace_back("eigenvalues were put into the benchmark's order");
    std::string text = "A decomposition leaves a choice: before the comparison ";
    for (std::size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? ", " : "") + parts[i];
    return text + ".";
  }

 private:
  const std::vector<Operand>& bench_;
  const std::vector<Operand>& device_;
  std::vector<ItemTurns>& items_;
  std::int64_t turned_vectors_ = 0;
  std::int64_t turned_subspaces_ = 0;
  bool reordered_ = false;
};

// Whether the third output of a singular value decomposition holds the right vectors as rows. Where both forms have one
// name the shape decides, or, for square ones, which of the two gives the input back.
bool right_vectors_are_rows(Freedom freedom, const List& bench, const Tensor* input) {
  if (freedom == Freedom::singular_rows) return true;
  const Tensor& right = *tensor_in(bench[2]);
  if (input == nullptr || input->rank() < 2 || is_complex(input->dtype())) return false;
  if (right.size(-1) != right.size(-2)) return right.size(-2) != input->size(-1);
  if (right.size(-1) != input->size(-1)) return false;
  const Operand u(*tensor_in(bench[0]), Role::columns);
  const Operand s(*tensor_in(bench[1]), Role::values);
  const Operand v(right, Role::columns);
  const Operand a(*input, Role::columns);
  const Eigen::Index count = s.data.size(-1);
  const bool fits = a.data.size(-2) == u.data.size(-2) && u.data.size(-1) >= count && v.data.size(-1) >= count;
  if (!fits || std::min({a.count(), u.count(), s.count(), v.count()}) < 1) return false;
  const Matrix scaled = u.matrix(0).leftCols(count) * s.matrix(0).row(0).transpose().asDiagonal();
  const double as_columns = (times(scaled, v.matrix(0).leftCols(count).transpose()) - a.matrix(0)).norm();
  const double as_rows = (times(scaled, v.matrix(0).topRows(count)) - a.matrix(0)).norm();
  return as_rows < as_columns;
}

// Roles of the outputs; empty if they are not those of the decomposition.
std::vector<Role> roles_of(Freedom freedom, const List& bench, const Tensor* input) {
  const auto is_matrix = [&](std::size_t i) { return tensor_in(bench[i])->rank() >= 2; };
  switch (freedom) {
    case Freedom::singular:
    case Freedom::singular_rows:
      if (bench.size() != 3 || !is_matrix(0) || !is_matrix(2) || tensor_in(bench[1])->rank() < 1) return {};
      return {Role::columns, Role::values, right_vectors_are_rows(freedom, bench, input) ? Role::rows : Role::columns};
    case Freedom::orthogonal:
      // Without Q (mode 'r') its tensor is empty.
      if (bench.size() != 2 || !is_matrix(1) || tensor_in(bench[0])->rank() < 1) return {};
      return {is_matrix(0) ? Role::columns : Role::values, Role::rows};
    case Freedom::symmetric:
      if (bench.size() != 2 || tensor_in(bench[0])->rank() < 1 || !is_matrix(1)) return {};
      return {Role::values, Role::columns};
    case Freedom::none:
    case Freedom::general:
      break;
  }
  // torch.eig of old packs complex numbers into real ones; that form is compared as it is.
  if (bench.empty() || !is_complex(tensor_in(bench[0])->dtype()) || tensor_in(bench[0])->rank() < 1) return {};
  if (bench.size() == 1) return {Role::values};
  if (bench.size() != 2 || !is_matrix(1)) return {};
  return {Role::values, Role::columns};
}

// The outputs belong to the same batch of matrices and have enough vectors each.
bool fit_together(Freedom freedom, const std::vector<Operand>& operands) {
  const Operand& last = operands.back();
  const std::int64_t count = last.count();
  const auto same_batch = [&](const Operand& o) { return o.data.numel() > 0 && o.count() == count; };
  switch (freedom) {
    case Freedom::singular:
    case Freedom::singular_rows:
      return std::ranges::all_of(operands, same_batch) && operands[0].data.size(-1) >= operands[1].data.size(-1) &&
             last.data.size(-1) >= operands[1].data.size(-1);
    case Freedom::orthogonal:
      return operands[0].data.numel() == 0 ||
             (same_batch(operands[0]) && operands[0].data.size(-1) == last.data.size(-1));
    case Freedom::symmetric:
    case Freedom::none:
    case Freedom::general:
      break;
  }
  return std::ranges::all_of(operands, same_batch) && operands[0].data.size(-1) == last.data.size(-1);
}

void search_singular(Search& search, const std::vector<Operand>& bench, DType device, std::int64_t batch) {
  const View values = bench[1].matrix(batch);
  const Eigen::Index most = std::max(bench[0].data.size(-1), bench[2].data.size(-1));
  const double limit = resolution(device, most) * std::abs(values(0, 0));
  Eigen::Index rank = values.cols();
  for (const auto& [first, last] : runs_of_equal(values, limit)) {
    // Vectors of singular value 0 belong to no partner, neither do the further ones of full factors.
    if (std::abs(values(0, first)) <= limit) {
      rank = first;
      break;
    }
    search.turn(batch, {0, 2}, first, last);
  }
  search.turn(batch, {0}, rank, bench[0].data.size(-1));
  search.turn(batch, {2}, rank, bench[2].data.size(-1));
}

void search_orthogonal(Search& search, const std::vector<Operand>& bench, std::int64_t batch) {
  // Columns of Q beyond those of A have rows of zeros in R.
  const Eigen::Index count = bench[1].data.size(-1);
  const Eigen::Index paired = std::min<Eigen::Index>(count, bench[1].data.size(-2));
  const bool with_q = bench[0].data.numel() > 0;
  for (Eigen::Index i = 0; i < paired; ++i) {
    if (with_q) {
      search.turn(batch, {0, 1}, i, i + 1);
    } else {
      search.turn(batch, {1}, i, i + 1);
    }
  }
  if (with_q) search.turn(batch, {0}, paired, count);
}

}  // namespace

struct Alignment::Turns {
  std::vector<ItemTurns> items;
};

Alignment::Alignment(std::unique_ptr<Turns> turns) : turns_(std::move(turns)) {}
Alignment::Alignment(Alignment&&) noexcept = default;
Alignment& Alignment::operator=(Alignment&&) noexcept = default;
Alignment::~Alignment() = default;

bool Alignment::changes(std::size_t item) const { return item < turns_->items.size() && turns_->items[item].changes; }

std::optional<Alignment> Alignment::find(Freedom freedom, const Value& bench, const Value& device,
                                         const Value* first_input) {
  if (freedom == Freedom::none) return std::nullopt;
  const List bench_items = items_of(bench);
  const List device_items = items_of(device);
  if (bench_items.size() != device_items.size()) return std::nullopt;
  for (std::size_t i = 0; i < bench_items.size(); ++i) {
    const Tensor* b = tensor_in(bench_items[i]);
    const Tensor* d = tensor_in(device_items[i]);
    const auto is_number = [](const Tensor& t) { return is_floating(t.dtype()) || is_complex(t.dtype()); };
    if (b == nullptr || d == nullptr || !(b->shape() == d->shape()) || !is_number(*b) || !is_number(*d)) {
      return std::nullopt;
    }
    if (is_complex(b->dtype()) != is_complex(d->dtype())) return std::nullopt;
  }
  const Tensor* input = first_input != nullptr ? tensor_in(*first_input) : nullptr;
  const std::vector<Role> roles = roles_of(freedom, bench_items, input);
  if (roles.empty()) return std::nullopt;
  std::vector<Operand> of_bench;
  std::vector<Operand> of_device;
  auto turns = std::make_unique<Turns>();
  for (std::size_t i = 0; i < roles.size(); ++i) {
    of_bench.emplace_back(*tensor_in(bench_items[i]), roles[i]);
    of_device.emplace_back(*tensor_in(device_items[i]), roles[i]);
    turns->items.push_back({roles[i], tensor_in(device_items[i])->shape(), {}, {}, false});
  }
  if (!fit_together(freedom, of_bench)) return std::nullopt;
  const DType dtype = tensor_in(device_items.back())->dtype();
  Search search(of_bench, of_device, turns->items);
  for (std::int64_t batch = 0; batch < of_bench.back().count(); ++batch) {
    switch (freedom) {
      case Freedom::singular:
      case Freedom::singular_rows:
        search_singular(search, of_bench, dtype, batch);
        break;
      case Freedom::orthogonal:
        search_orthogonal(search, of_bench, batch);
        break;
      case Freedom::symmetric: {
        const View values = of_bench[0].matrix(batch);
        const double limit = resolution(dtype, values.cols()) * values.cwiseAbs().maxCoeff();
        for (const auto& [first, last] : runs_of_equal(values, limit)) search.turn(batch, {1}, first, last);
        break;
      }
      case Freedom::none:
      case Freedom::general:
        search.reorder(batch);
        break;
    }
  }
  Alignment alignment(std::move(turns));
  if (freedom == Freedom::general && roles.size() == 2) {
    // Phases are those of the vectors in their new order.
    const Value ordered = alignment.turned(device);
    of_device[1] = Operand(*tensor_in((*ordered.get<List>())[1]), Role::columns);
    for (std::int64_t batch = 0; batch < of_bench[1].count(); ++batch) {
      for (Eigen::Index i = 0; i < of_bench[1].data.size(-1); ++i) search.turn(batch, {1}, i, i + 1);
    }
  }
  const bool any = std::ranges::any_of(alignment.turns_->items, &ItemTurns::changes);
  if (!any) return std::nullopt;
  alignment.message_ = search.message();
  return alignment;
}

Value Alignment::turned(const Value& outputs) const {
  List items = items_of(outputs);
  for (std::size_t i = 0; i < items.size() && i < turns_->items.size(); ++i) {
    const ItemTurns& turns = turns_->items[i];
    const Tensor* tensor = tensor_in(items[i]);
    if (!turns.changes || tensor == nullptr || !(tensor->shape() == turns.shape)) continue;
    if (!is_floating(tensor->dtype()) && !is_complex(tensor->dtype())) continue;
    const Operand source(*tensor, turns.role);
    Tensor result = source.data.clone();
    for (std::int64_t batch = 0; batch < source.count(); ++batch) {
      const View from = source.matrix(batch);
      Eigen::Map<Matrix> to(result.mutable_data<Complex>() + batch * from.size(), from.rows(), from.cols());
      const auto& order = turns.orders[static_cast<std::size_t>(batch)];
      for (std::size_t column = 0; column < order.size(); ++column) {
        to.col(static_cast<Eigen::Index>(column)) = from.col(order[column]);
      }
      for (const Block& block : turns.blocks[static_cast<std::size_t>(batch)]) {
        auto vectors = to.middleCols(block.first, block.turn.cols());
        vectors = times(vectors, block.turn);
      }
    }
    if (turns.role == Role::rows) result = result.transpose(-1, -2);
    items[i] = result.reshape(turns.shape).to(tensor->dtype()).contiguous();
  }
  if (outputs.is<List>()) return items;
  return items.front();
}

}  // namespace msrun

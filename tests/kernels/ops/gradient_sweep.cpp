#include "tests/kernels/ops/gradient_sweep.h"

#include <numeric>
#include <sstream>

namespace msrun::testing {

std::int64_t Draw::integer(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(generator_);
}

double Draw::real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(generator_); }

Dims Draw::shape(std::int64_t min_rank, std::int64_t max_rank) {
  Dims shape(static_cast<std::size_t>(integer(min_rank, max_rank)));
  for (std::int64_t& size : shape) size = integer(1, 4);
  return shape;
}

Dims Draw::broadcastable(const Dims& shape) {
  Dims result(shape.begin() + (shape.empty() ? 0 : integer(0, 1)), shape.end());
  for (std::int64_t& size : result) size = integer(0, 2) == 0 ? 1 : size;
  return result;
}

Dims Draw::permutation(std::int64_t count) {
  Dims order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), generator_);
  return order;
}

Tensor Draw::laid_out(const Tensor& tensor, bool may_repeat) {
  const std::int64_t rank = tensor.rank();
  if (rank == 0 || tensor.numel() == 0) return tensor;
  switch (integer(0, may_repeat ? 4 : 3)) {
    case 0: {  // permuted in memory
      const Dims order = permutation(rank);
      Dims back(order.size());
      for (std::size_t k = 0; k < order.size(); ++k)
        back[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
      return tensor.permute(order).clone().permute(back);
    }
    case 1: {  // every second element of something larger
      Dims doubled = tensor.shape();
      doubled.back() *= 2;
      Tensor wide = Tensor::full(tensor.dtype(), doubled, 17);
      const std::vector<double> data = values(tensor);
      for (std::size_t k = 0; k < data.size(); ++k) wide.mutable_data<double>()[2 * k] = data[k];
      return wide.slice(-1, 0, tensor.size(-1), 2);
    }
    case 4: {  // one slice, repeated
      const std::int64_t along = integer(0, rank - 1);
      return tensor.slice(along, 0, 1).expand(tensor.shape());
    }
    default:
      return tensor;
  }
}

Tensor Draw::uniform(const Dims& shape, double low, double high) {
  return laid_out(testing::uniform(shape, low, high, generator_()), true);
}

Tensor Draw::off_grid(const Dims& shape) {
  std::vector<double> data(static_cast<std::size_t>(element_count(shape)));
  for (double& value : data) value = 0.5 * static_cast<double>(integer(-8, 7)) + real(0.05, 0.45);
  return laid_out(float64(shape, data), true);
}

Tensor Draw::distinct(const Dims& shape) {
  const std::int64_t count = element_count(shape);
  std::vector<double> data;
  for (std::int64_t k = 0; k < count; ++k)
    data.push_back(0.2 * static_cast<double>(k - count / 2) + 0.1 + real(-0.05, 0.05));
  std::shuffle(data.begin(), data.end(), generator_);
  return laid_out(float64(shape, data), false);
}

Tensor Draw::matrix(const Dims& batch, std::int64_t size) {
  Dims shape = batch;
  shape.push_back(size);
  shape.push_back(size);
  Tensor result = testing::uniform(shape, -0.4, 0.4, generator_()).clone();
  for (std::int64_t b = 0; b < element_count(batch); ++b) {
    for (std::int64_t k = 0; k < size; ++k)
      result.mutable_data<double>()[(b * size + k) * size + k] += 1.5 + static_cast<double>(k);
  }
  return laid_out(result, false);
}

Tensor Draw::positive_definite(const Dims& batch, std::int64_t size) {
  Tensor result = matrix(batch, size).contiguous().clone();
  auto* data = result.mutable_data<double>();
  for (std::int64_t b = 0; b < element_count(batch); ++b) {
    for (std::int64_t row = 0; row < size; ++row) {
      for (std::int64_t column = 0; column < row; ++column)
        data[(b * size + row) * size + column] = data[(b * size + column) * size + row];
    }
  }
  return laid_out(result, false);
}

Tensor Draw::integers(const Dims& shape, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> data(static_cast<std::size_t>(element_count(shape)));
  for (std::int64_t& value : data) value = integer(low, high);
  return int64(shape, data);
}

Tensor Draw::mask(const Dims& shape) { return integers(shape, 0, 1).to(DType::boolean); }

const std::map<std::string, const InventoryOperator*>& differentiable_operators() {
  static const auto all = [] {
    std::map<std::string, const InventoryOperator*> result;
    for (const InventoryOperator& entry : inventory()) {
      if (entry.differentiable) result.emplace(entry.canonical, &entry);
    }
    return result;
  }();
  return all;
}

SweepTable whole_sweep() {
  SweepTable all;
  for (const auto& part :
       {elementwise_sweep(), shape_sweep(), reduction_sweep(), matrix_sweep(), network_sweep(), loss_sweep()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

// "Functional: relu relu_; Torch: relu": Functional and relu.
std::pair<std::string, std::string> first_name(const InventoryOperator& entry) {
  std::istringstream words(entry.names);
  std::string type;
  std::string api;
  words >> type >> api;
  type.pop_back();
  if (api.ends_with(';')) api.pop_back();
  return {type, api};
}

std::pair<std::string, std::string> name_of(const SweepEntry& entry) {
  if (entry.api.empty()) return first_name(*differentiable_operators().at(entry.canonical));
  const std::size_t dot = entry.api.find('.');
  return {entry.api.substr(0, dot), entry.api.substr(dot + 1)};
}

}  // namespace msrun::testing

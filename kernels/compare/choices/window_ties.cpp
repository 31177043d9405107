#include "kernels/compare/choices/window_ties.h"

#include <algorithm>
#include <cmath>

namespace msrun {
namespace {

// A window is only moved for what is more than rounding.
constexpr double least_gain = 1e-3;
constexpr int most_sweeps = 16;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// A window with several elements that equal its maximum.
struct Tied {
  std::int64_t output;  // of its plane
  double gradient;
  std::int64_t at;  // the element that is picked
  std::vector<std::int64_t> elements;
};

// The elements of a window of one plane that equal the picked one, in row-major order.
std::vector<std::int64_t> equal_elements(const Geometry& geometry, const Window& d, const Window& h, const Window& w,
                                         const double* plane, std::int64_t picked) {
  std::vector<std::int64_t> elements;
  for_each_run(geometry, d, h, w, [&](std::int64_t start, std::int64_t count) {
    for (std::int64_t i = start; count > 0; i += geometry.axes[2].step, --count) {
      if (same(plane[i], plane[picked])) elements.push_back(i);
    }
  });
  return elements;
}

// Visits the windows of a plane in which another element may be picked as well: visit(output, elements).
template <class Visit>
void for_each_tied(const Geometry& geometry, const double* plane, const std::int64_t* index, const Visit& visit) {
  for_each_window(geometry, [&](const Window& d, const Window& h, const Window& w, std::int64_t output) {
    const std::int64_t picked = index[output];
    if (picked < 0) return;
    auto elements = equal_elements(geometry, d, h, w, plane, picked);
    if (elements.size() > 1) visit(output, std::move(elements));
  });
}

// What is left of the device's gradient in a plane once every window has given its own to the element it picks.
class Rest {
 public:
  explicit Rest(std::vector<double> rest) : rest_(std::move(rest)) {}

  // By how much moving a gradient from one element to another brings both nearer to the device.
  double gain(std::int64_t from, std::int64_t to, double gradient) const {
    if (from == to) return 0;
    return size(from) + size(to) - std::abs(rest_[index(from)] + gradient) - std::abs(rest_[index(to)] - gradient);
  }
  void move(std::int64_t from, std::int64_t to, double gradient) {
    rest_[index(from)] += gradient;
    rest_[index(to)] -= gradient;
  }
  double total() const {
    double sum = 0;
    for (const double rest : rest_) sum += std::abs(rest);
    return sum;
  }

 private:
  static std::size_t index(std::int64_t element) { return static_cast<std::size_t>(element); }
  double size(std::int64_t element) const { return std::abs(rest_[index(element)]); }

  std::vector<double> rest_;
};

// Moves each window to the best of its elements until none gains by it.
void settle(std::vector<Tied>& windows, Rest& rest) {
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    bool moved = false;
    for (Tied& window : windows) {
      double best = least_gain * std::abs(window.gradient);
      std::int64_t to = window.at;
      for (const std::int64_t element : window.elements) {
        const double gain = rest.gain(window.at, element, window.gradient);
        if (!(gain > best)) continue;
        best = gain;
        to = element;
      }
      if (to == window.at) continue;
      rest.move(window.at, to, window.gradient);
      window.at = to;
      moved = true;
    }
    if (!moved) return;
  }
}

// The better of two beginnings: the benchmark's picks, and the last element of each window.
std::vector<Tied> nearest_picks(const std::vector<Tied>& windows, const std::vector<double>& rest) {
  std::vector<Tied> first = windows;
  Rest of_first(rest);
  settle(first, of_first);
  std::vector<Tied> last = windows;
  Rest of_last(rest);
  for (Tied& window : last) {
    of_last.move(window.at, window.elements.back(), window.gradient);
    window.at = window.elements.back();
  }
  settle(last, of_last);
  return of_last.total() < of_first.total() ? last : first;
}

bool fits(const WindowPicks& picks, const Tensor& input) {
  return picks.index.numel() == picks.geometry.planes * picks.geometry.output_plane() &&
         input.numel() == picks.geometry.planes * picks.geometry.input_plane() && input.numel() > 0 &&
         !is_complex(input.dtype());
}

Tensor in_double(const Tensor& tensor) { return tensor.to(DType::float64).contiguous(); }

}  // namespace

std::optional<WindowChoice> WindowChoice::find(const WindowPicks& picks, const Tensor& input, const Tensor& bench,
                                               const Tensor& device) {
  if (!fits(picks, input) || !picks.gradient.defined() || picks.gradient.numel() != picks.index.numel() ||
      bench.shape() != input.shape() || device.shape() != input.shape()) {
    return std::nullopt;
  }
  const Tensor values = in_double(input);
  const Tensor given = in_double(picks.gradient);
  const Tensor ours = in_double(bench);
  const Tensor theirs = in_double(device);
  const Geometry& geometry = picks.geometry;
  const std::int64_t plane_size = geometry.input_plane();
  WindowChoice choice;
  choice.outputs_ = picks.index.numel();
  for (std::int64_t plane = 0; plane < geometry.planes; ++plane) {
    const double* from = ours.data<double>() + plane * plane_size;
    const double* to = theirs.data<double>() + plane * plane_size;
    if (std::equal(from, from + plane_size, to)) continue;
    const std::int64_t first_output = plane * geometry.output_plane();
    std::vector<Tied> windows;
    for_each_tied(geometry, values.data<double>() + plane * plane_size, picks.index.data<std::int64_t>() + first_output,
                  [&](std::int64_t output, std::vector<std::int64_t> elements) {
                    const double gradient = given.data<double>()[first_output + output];
                    const std::int64_t at = picks.index.data<std::int64_t>()[first_output + output];
                    if (gradient != 0) windows.push_back({output, gradient, at, std::move(elements)});
                  });
    if (windows.empty()) continue;
    std::vector<double> rest(to, to + plane_size);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= from[i];
    const std::vector<Tied> picked = nearest_picks(windows, rest);
    for (std::size_t i = 0; i < picked.size(); ++i) {
      if (picked[i].at != windows[i].at) choice.picks_.push_back({first_output + picked[i].output, picked[i].at});
    }
  }
  return choice.picks_.empty() ? std::nullopt : std::optional(std::move(choice));
}

Tensor WindowChoice::applied(const Tensor& gradient, const WindowPicks& picks) const {
  // A part of the call has other windows.
  if (!picks.gradient.defined() || picks.gradient.numel() != picks.index.numel() || picks.index.numel() != outputs_ ||
      gradient.numel() != picks.geometry.planes * picks.geometry.input_plane()) {
    return gradient;
  }
  const Tensor given = in_double(picks.gradient);
  const std::int64_t of_plane = picks.geometry.output_plane();
  const std::int64_t plane_size = picks.geometry.input_plane();
  std::vector<std::int64_t> elements(picks.index.data<std::int64_t>(),
                                     picks.index.data<std::int64_t>() + picks.index.numel());
  Tensor result = in_double(gradient).clone();
  double* to = result.mutable_data<double>();
  // Elements of which a window was taken or to which one was given are added up anew: sums lose nothing that way.
  std::vector<bool> anew(static_cast<std::size_t>(result.numel()));
  const auto place = [&](std::int64_t output, std::int64_t element) {
    return static_cast<std::size_t>(output / of_plane * plane_size + element);
  };
  for (const Pick& pick : picks_) {
    std::int64_t& element = elements[static_cast<std::size_t>(pick.output)];
    if (element >= 0) anew[place(pick.output, element)] = true;
    anew[place(pick.output, pick.element)] = true;
    element = pick.element;
  }
  for (std::size_t i = 0; i < anew.size(); ++i) to[i] = anew[i] ? 0 : to[i];
  for (std::int64_t output = 0; output < picks.index.numel(); ++output) {
    const std::int64_t element = elements[static_cast<std::size_t>(output)];
    if (element < 0 || !anew[place(output, element)]) continue;
    to[place(output, element)] += given.data<double>()[output];
  }
  return result.to(gradient.dtype());
}

std::optional<Tensor> exchange_tied_indices(const WindowPicks& picks, const Tensor& input, const Tensor& device) {
  if (!fits(picks, input) || device.shape() != picks.index.shape() || !is_integer(device.dtype())) return std::nullopt;
  const Tensor values = in_double(input);
  const Tensor wanted = device.to(DType::int64).contiguous();
  Tensor result = picks.index.clone();
  const Geometry& geometry = picks.geometry;
  bool changed = false;
  for (std::int64_t plane = 0; plane < geometry.planes; ++plane) {
    const std::int64_t first = plane * geometry.output_plane();
    const std::int64_t* to = wanted.data<std::int64_t>() + first;
    const std::int64_t* index = picks.index.data<std::int64_t>() + first;
    if (std::equal(index, index + geometry.output_plane(), to)) continue;
    for_each_tied(geometry, values.data<double>() + plane * geometry.input_plane(), index,
                  [&](std::int64_t output, const std::vector<std::int64_t>& elements) {
                    if (to[output] == index[output] || !std::ranges::binary_search(elements, to[output])) return;
                    result.mutable_data<std::int64_t>()[first + output] = to[output];
                    changed = true;
                  });
  }
  return changed ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace msrun

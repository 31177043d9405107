// Images laid out for windows that read them at fixed offsets: padded with zeros, and with the stride of the windows
// taken apart into one copy per residue. Included by kernel files only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/numeric/sliding_windows.h"
#include "kernels/numeric/tiles.h"
#include "kernels/tensor/dims.h"
#include "kernels/tensor/memory.h"

namespace msrun {

// Zeroed storage beside the tensors of the call.
template <class T>
class ZeroedBuffer {
 public:
  explicit ZeroedBuffer(std::int64_t count) {
    check_tensor_memory(static_cast<std::size_t>(count), sizeof(T));
    values_ = std::make_unique<T[]>(static_cast<std::size_t>(count));
  }
  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }

 private:
  std::unique_ptr<T[]> values_;
};

// One axis of a copy in which element `at` has the index (at + shift) / step in copy (at + shift) % step. Only the
// copies in `phases` exist.
struct PaddedAxis {
  std::int64_t size = 1;  // elements of the source
  std::int64_t step = 1;
  std::int64_t shift = 0;  // may be negative
  std::int64_t pitch = 1;  // indices of each copy
  std::vector<std::int64_t> phases{0};

  std::int64_t slot_of(std::int64_t phase) const {
    return std::lower_bound(phases.begin(), phases.end(), phase) - phases.begin();
  }
  // The elements first, first + step, ... that lie in a copy: indices [begin, end).
  struct Range {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t first;
  };
  Range range(std::int64_t phase) const {
    // index * step + phase - shift in [0, size)
    const std::int64_t low = shift - phase;
    const std::int64_t begin = std::clamp<std::int64_t>(low > 0 ? (low + step - 1) / step : 0, 0, pitch);
    const std::int64_t high = size + shift - phase;  // first index * step beyond
    const std::int64_t end = std::clamp<std::int64_t>(high > 0 ? (high + step - 1) / step : 0, begin, pitch);
    return {begin, end, begin * step + phase - shift};
  }
};

// A copy of `channels` channels of `images` images: [channel, phases, image, pitches]. Indices outside of the source
// have zeros.
template <class T>
class PaddedCopy {
 public:
  PaddedCopy(const std::array<PaddedAxis, 3>& axes, std::int64_t channels, std::int64_t images)
      : axes_(axes), channels_(channels), images_(images) {
    image_ = element_count(Dims{axes[0].pitch, axes[1].pitch, axes[2].pitch});
    const auto count = [](const PaddedAxis& axis) { return static_cast<std::int64_t>(axis.phases.size()); };
    phase_ = image_ * images;
    channel_ = phase_ * count(axes[0]) * count(axes[1]) * count(axes[2]);
    // What vectors read beyond the last element.
    constexpr std::int64_t slack = tiles::most_vectors * tiles::lanes<T>;
    storage_.emplace(element_count(Dims{channels, count(axes[0]), count(axes[1]), count(axes[2]), images, image_}) +
                     slack);
  }

  // Source images are image_stride elements apart, their channels densely behind one another.
  void fill(const T* source, std::int64_t image_stride, std::int64_t images) {
    const std::int64_t volume = axes_[0].size * axes_[1].size * axes_[2].size;
    for (std::int64_t channel = 0; channel < channels_; ++channel) {
      T* target = storage_->data() + channel * channel_;
      for (const std::int64_t z : axes_[0].phases) {
        for (const std::int64_t y : axes_[1].phases) {
          for (const std::int64_t x : axes_[2].phases) {
            for (std::int64_t n = 0; n < images; ++n) {
              fill_image(source + n * image_stride + channel * volume, target + n * image_, z, y, x);
            }
            target += phase_;
          }
        }
      }
    }
  }

  // Offset in elements from data() of the element with the given phase and index (per axis) in image 0 of a channel.
  std::int64_t offset(std::int64_t channel, const Spatial& phase, const Spatial& index) const {
    std::int64_t slot = axes_[0].slot_of(phase[0]);
    slot = slot * static_cast<std::int64_t>(axes_[1].phases.size()) + axes_[1].slot_of(phase[1]);
    slot = slot * static_cast<std::int64_t>(axes_[2].phases.size()) + axes_[2].slot_of(phase[2]);
    return channel * channel_ + slot * phase_ + (index[0] * axes_[1].pitch + index[1]) * axes_[2].pitch + index[2];
  }

  const T* data() const { return storage_->data(); }
  T* data() { return storage_->data(); }
  std::int64_t image() const { return image_; }
  std::int64_t size() const { return channel_ * channels_; }

 private:
  void fill_image(const T* source, T* target, std::int64_t z, std::int64_t y, std::int64_t x) {
    const PaddedAxis::Range planes = axes_[0].range(z);
    const PaddedAxis::Range rows = axes_[1].range(y);
    const PaddedAxis::Range columns = axes_[2].range(x);
    const std::int64_t step = axes_[2].step;
    const std::int64_t length = columns.end - columns.begin;
    for (std::int64_t d = planes.begin; d < planes.end; ++d) {
      const T* plane = source + (planes.first + (d - planes.begin) * axes_[0].step) * axes_[1].size * axes_[2].size;
      for (std::int64_t h = rows.begin; h < rows.end; ++h) {
        const T* from = plane + (rows.first + (h - rows.begin) * axes_[1].step) * axes_[2].size + columns.first;
        T* to = target + (d * axes_[1].pitch + h) * axes_[2].pitch + columns.begin;
        if (step == 1) {
          std::copy_n(from, length, to);
        } else {
          for (std::int64_t i = 0; i < length; ++i) to[i] = from[i * step];
        }
      }
    }
  }

  std::array<PaddedAxis, 3> axes_;
  std::int64_t channels_;
  std::int64_t images_;
  std::int64_t image_ = 1;    // elements of one image
  std::int64_t phase_ = 1;    // of one phase of all images
  std::int64_t channel_ = 1;  // of one channel
  std::optional<ZeroedBuffer<T>> storage_;
};

}  // namespace msrun

#include "runner/device/python/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

constexpr std::size_t first_size = std::size_t{1} << 20;

}  // namespace

Arena::Arena() : file_(memfd_create("msrun-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!file_) throw_errno("memfd_create");
  if (fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) throw_errno("F_ADD_SEALS");
  reserve(first_size);
}

Arena::~Arena() {
  if (memory_ != nullptr) munmap(memory_, size_);
}

void Arena::reserve(std::size_t bytes) {
  if (bytes <= size_) return;
  follow();
  if (bytes <= size_) return;
  const std::size_t longer = std::max(bytes, 2 * size_);
  if (ftruncate(file_.get(), static_cast<off_t>(longer)) != 0) {
    if (errno == ENOMEM || errno == EFBIG || errno == EINVAL) throw NoTensorMemory(bytes);
    throw_errno("ftruncate");
  }
  map(longer);
}

void Arena::follow() {
  struct stat status {};
  if (fstat(file_.get(), &status) != 0) throw_errno("fstat");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes > size_) map(bytes);
}

void Arena::map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) {
    if (errno == ENOMEM) throw NoTensorMemory(bytes);
    throw_errno("mmap");
  }
  if (memory_ != nullptr) munmap(memory_, size_);
  memory_ = static_cast<std::byte*>(memory);
  size_ = bytes;
}

void Arena::give_back(std::size_t keep) {
  if (touched_ <= keep) return;
  touched_ = 0;
  // Where the kernel cannot do it the memory is kept, which is no error.
  [[maybe_unused]] const int result = fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                                static_cast<off_t>(keep), static_cast<off_t>(size_ - keep));
}

}  // namespace msrun

#include "kernels/io/numpy/numpy_type.h"

#include <algorithm>
#include <array>

namespace msrun {
namespace {

enum class Kind : std::uint8_t { boolean, signed_integer, unsigned_integer, real, complex };

struct TypeFacts {
  std::string_view code;
  Kind kind;
  std::size_t size;
  std::string_view compared;
  std::optional<DType> dtype;
};

// In the order of NumpyType.
constexpr std::array<TypeFacts, numpy_type_count> facts{{
    {"b1", Kind::boolean, 1, "torch.bool", DType::boolean},
    {"i1", Kind::signed_integer, 1, "torch.int8", DType::int8},
    {"u1", Kind::unsigned_integer, 1, "torch.uint8", DType::uint8},
    {"i2", Kind::signed_integer, 2, "torch.int16", DType::int16},
    {"u2", Kind::unsigned_integer, 2, "torch.int32", std::nullopt},
    {"i4", Kind::signed_integer, 4, "torch.int32", DType::int32},
    {"u4", Kind::unsigned_integer, 4, "torch.int64", std::nullopt},
    {"i8", Kind::signed_integer, 8, "torch.int64", DType::int64},
    {"u8", Kind::unsigned_integer, 8, "torch.uint64", std::nullopt},
    {"f2", Kind::real, 2, "torch.float16", DType::float16},
    {"f4", Kind::real, 4, "torch.float32", DType::float32},
    {"f8", Kind::real, 8, "torch.float64", DType::float64},
    {"c8", Kind::complex, 8, "torch.complex64", DType::complex64},
    {"c16", Kind::complex, 16, "torch.complex128", DType::complex128},
}};

const TypeFacts& of(NumpyType type) { return facts[static_cast<std::size_t>(type)]; }

NumpyType find(Kind kind, std::size_t size) {
  const auto* found =
      std::find_if(facts.begin(), facts.end(), [&](const TypeFacts& f) { return f.kind == kind && f.size == size; });
  return static_cast<NumpyType>(found - facts.begin());
}

bool is_integer(Kind kind) { return kind == Kind::signed_integer || kind == Kind::unsigned_integer; }

// Bytes of the narrowest float that numpy takes for values of the type: an integer of n bytes needs one of 2n, and
// float64 has to do for the widest.
std::size_t real_size(const TypeFacts& type) {
  switch (type.kind) {
    case Kind::boolean:
      return 2;
    case Kind::real:
      return type.size;
    case Kind::complex:
      return type.size / 2;
    default:
      return std::min<std::size_t>(type.size * 2, 8);
  }
}

}  // namespace

std::size_t size_of(NumpyType type) { return of(type).size; }
bool is_complex(NumpyType type) { return of(type).kind == Kind::complex; }
std::string_view type_code(NumpyType type) { return of(type).code; }
std::string_view compared_type_name(NumpyType type) { return of(type).compared; }
std::optional<DType> tensor_dtype(NumpyType type) { return of(type).dtype; }

std::optional<NumpyType> parse_type_code(std::string_view code) {
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].code == code) return static_cast<NumpyType>(i);
  }
  return std::nullopt;
}

std::string descr(NumpyType type) { return (size_of(type) == 1 ? "|" : "<") + std::string(type_code(type)); }

NumpyType promote(NumpyType a, NumpyType b) {
  const TypeFacts& x = of(a);
  const TypeFacts& y = of(b);
  if (a == b || y.kind == Kind::boolean) return a;
  if (x.kind == Kind::boolean) return b;
  if (x.kind == y.kind) return x.size > y.size ? a : b;
  if (is_integer(x.kind) && is_integer(y.kind)) {
    const TypeFacts& with_sign = x.kind == Kind::signed_integer ? x : y;
    const TypeFacts& without = x.kind == Kind::signed_integer ? y : x;
    if (with_sign.size > without.size) return find(Kind::signed_integer, with_sign.size);
    if (without.size == 8) return NumpyType::float64;
    return find(Kind::signed_integer, without.size * 2);
  }
  const std::size_t size = std::max(real_size(x), real_size(y));
  if (x.kind == Kind::complex || y.kind == Kind::complex)
    return find(Kind::complex, std::max<std::size_t>(size, 4) * 2);
  return find(Kind::real, size);
}

}  // namespace msrun

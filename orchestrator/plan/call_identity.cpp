#include "orchestrator/plan/call_identity.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>

namespace msrun {
namespace {

CallIdentity hash_of(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

}  // namespace

CallIdentity identity_of(const ApiCall& call, Statistics statistics) {
  std::string bytes = call.name.substr(0, call.name.rfind('.')) + '\0' + call.output_dtype + '\0';
  append_identity(call.args, statistics, bytes);
  append_identity(call.kwargs, statistics, bytes);
  return hash_of(bytes);
}

CallIdentity identity_of(const List& gradients, Statistics statistics) {
  std::string bytes = "gradients";
  append_identity(gradients, statistics, bytes);
  return hash_of(bytes);
}

CallIdentity combined(const CallIdentity& forward, const CallIdentity& gradients) {
  const std::array<std::uint64_t, 4> both{forward.low, forward.high, gradients.low, gradients.high};
  return hash_of({reinterpret_cast<const char*>(both.data()), sizeof(both)});
}

CallIdentity identity_of_skip(std::string_view name, std::string_view reason, bool by_rule) {
  const char kind = by_rule ? 'r' : 's';
  return hash_of(std::string("skip") + kind + std::string(name) + '\0' + std::string(reason));
}

CallIdentity with_name(const CallIdentity& identity, std::string_view name) {
  return combined(identity, hash_of(name));
}

void Fingerprint::add(std::string_view part) {
  value_ = XXH3_64bits_withSeed(part.data(), part.size(), value_ + part.size());
}

}  // namespace msrun

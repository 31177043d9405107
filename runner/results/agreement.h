// Whether the results of one call, from several runs or several devices, are the same, and what it means if they are
// not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/api/operator_traits.h"
#include "runner/results/result.h"

namespace msrun {

// One number for all checksums of a result; never 0.
std::uint64_t digest_of(const Checksums& checksums);

// The first place at which two results of a call differ, as the details file names it: "forward.output.0",
// "backward.output.2". Empty if they do not.
std::string first_difference(const Checksums& a, const Checksums& b);

// Whether two results of a call differ at most where its operator is declared to vary (OperatorTraits::varies).
bool may_differ(const Checksums& a, const Checksums& b, const OperatorTraits& traits);

// What the devices of a run have given for one call: by part (WorkItems), the first from the check, the others from
// runs alone; and checks on devices whose run gave something else, by the part of that run.
struct Answers {
  std::vector<ApiResult> runs;
  std::map<std::uint32_t, ApiResult> checks;
};

// The parts whose devices have to check the call, because they differ and neither their number nor the checks that
// there are tell who is wrong, or because the first device, which was to check it, refuses what others run. Empty as
// soon as nothing more can be learnt.
std::vector<std::uint32_t> wanted_checks(const Answers& answers);

// The result of the check, of another device's where the first refuses the call, with what the devices agree on. Of
// devices that differ those are to blame
//
//   - whose own runs differ, if those of others do not,
//   - that gave nothing, if at least as many gave something,
//   - that gave other bits than most,
//   - or, if no bits are those of most, whose bits the benchmark speaks against while it has nothing against others.
//
// Where the operator is declared to vary nobody is.
ApiResult joined(const Answers& answers);

}  // namespace msrun

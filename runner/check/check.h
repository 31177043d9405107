// The check of one API call: materialise, run on the device, run the benchmark, compare.
#pragma once

#include <optional>

#include "kernels/api/api_call.h"
#include "kernels/compare/compare.h"
#include "kernels/io/files/folder.h"
#include "runner/device/device.h"
#include "runner/dialects/dialect.h"
#include "runner/results/result.h"

namespace msrun {

struct CheckOptions {
  const Dialect* dialect = &pytorch_dialect();
  // What the device is.
  TestedOn tested_on = TestedOn::unknown;
  MaterialiseOptions materialise;
  CompareOptions compare;
  // How often the device runs each call, and the number of the first of these runs (DeviceCall::run).
  std::uint32_t repeat = 1;
  std::uint32_t first_run = 0;
  // The device runs the call, and nothing is compared: the result has checksums and no rows.
  bool only_device = false;
  // Another device was to check the call: tensors that are kept go to a folder of this one.
  bool further_check = false;
  // Where the tensors of calls that do not pass are written; none: nowhere.
  std::optional<Folder> error_data;
  // The rank whose call it is, where there are several, "step0/rank3": tensors are written to the folder of that name
  // below error_data, which is made when it is needed. Empty: there is one.
  std::string rank;
  // Products of at least so many multiply-adds are checked by a part of their benchmark (runner/check/sampled.h);
  // nothing: the whole benchmark is computed.
  std::optional<double> sampled_work;
  // The check of runner/check/overflow.h in place of the comparison.
  bool overflow = false;
};

// Everything that goes wrong with this call alone becomes a SKIP with the reason. task and device_id are copied to the
// result.
ApiResult check_api(const ApiCall& call, std::uint32_t task, Device& device, std::int32_t device_id,
                    const CheckOptions& options);

}  // namespace msrun

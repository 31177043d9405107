// The form in which a result is compared: lists, axes and dtypes that say nothing about the device.
#pragma once

#include "kernels/api/value.h"
#include "kernels/evaluate/materialise.h"

namespace msrun {

bool has_float8_input(const MaterialisedCall& call);

// A float32 result of a float8 call counts as float16 (6.11).
Value narrow_float8_result(const Value& output);

// A recorded result in the form of the benchmark's: a dump shows a tuple of one tensor like the tensor itself.
Value in_form_of(const Value& bench, const Value& recorded);

// The device's results without the axis that those of one element may have where the benchmark's have none.
Value without_added_axis(const Value& bench, const Value& device);

}  // namespace msrun

// How far two tensors may lie apart (recordings/gap.h) before the search for the first divergence and the table of
// results say so: dump_compare.md 15.1.
#pragma once

namespace msrun::dump_compare {

inline constexpr double input_limit = 2e-4;
inline constexpr double own_limit = 1e-2;
inline constexpr double output_limit = 1e-3;
inline constexpr double half_input_limit = 4e-2;
inline constexpr double half_own_limit = 1e-1;
inline constexpr double half_output_limit = 8e-2;
inline constexpr double times_input = 8;     // an output's gap must exceed the inputs' by this factor
inline constexpr double low_confidence = 4;  // half precision statistics: below this many times the limit
// Outputs of half precision forward calls whose inputs are all but equal need no room for what came before.
inline constexpr double half_equal_inputs = 1e-3;
inline constexpr double half_output_of_equal_inputs = 3e-2;
// Outputs of forward calls whose inputs are equal, in units of rounding: a norm of numbers whose mean is a few hundred
// times their spread is off by as many in float32; half types are rounded to after each of a few steps.
inline constexpr double single_unit = 0x1p-24;
inline constexpr double units_of_equal_inputs = 256;
inline constexpr double half_units_of_equal_inputs = 4;
// Gap of single precision tensors that no noise of half precision has come into.
inline constexpr double wide_equal_inputs = 4e-6;
// Half precision gradients that cancel are off by more.
inline constexpr double times_backward_output = 2;
// Rounding of half precision gradients adds up: the limit of inputs grows by its own size every so many backward calls,
// up to so many times.
inline constexpr double backward_calls_a_step = 16;
inline constexpr double most_steps = 3;

}  // namespace msrun::dump_compare

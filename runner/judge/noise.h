// Noise (ErrorBudget::noise) of results that are rounded on the way, and the spread of terms whose squares are known.
#pragma once

#include <optional>

#include "kernels/compare/bounds/rounding.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// The noise of two causes together, each so many times as large; undefined if either is.
Tensor combined_noise(const Tensor& first, const Tensor& second, double times_first, double times);

// The larger noise of two ways to compute the same, element by element; undefined if either is.
Tensor larger_noise(const Tensor& first, const Tensor& second);

// The noise of sums of which every addition is rounded to a dtype: there may be another order of them in which a
// partial sum is as large as the terms, and is rounded as such.
Tensor in_any_order(Tensor noise, const Tensor& spread, DType dtype);

// What sums of budget.longest terms (1 or 0: not known) may err by whose partial sums are rounded to a dtype, float64:
// a share of each element, at most a twenty-fourth part, and what roundings leave of terms that cancel, of all terms
// where the result is such `sums_alone`. A sum that is some hundred times as large as its terms takes no more of them
// in, and what it lacks then is not rounding. Infinity where there are too few terms for that. Where the budget knows
// no spread the root mean square of the row stands for it.
Tensor most_of_narrow_sums(const Tensor& bench, const ErrorBudget& budget, bool sums_alone, DType dtype);

// The smaller noise of two bounds, element by element; undefined if the first is.
Tensor smaller_noise(const Tensor& first, const Tensor& second);

// The noise that few samples have shown, of which chance leaves some elements out: the mean square of each and that of
// its row, the elements along the last axis, together.
Tensor steadied(const Tensor& noise);

// The noise of the steps behind a result of a half type, as it is to be expected of the worst of its elements. The
// largest of n errors is in proportion to the root of the logarithm of n; the multiple that is granted is enough for a
// few thousand. Of many elements samples leave some without noise by chance, the more the fewer steps there are: what a
// quarter of them has, if it has some, each has, but no more than what storing one step makes.
Tensor noise_of_many(const Tensor& noise, const Tensor& bench, DType dtype);

// What the steps of a call that cannot be measured make a result of a half type err by: half a unit of rounding of the
// elements of its row, in the root mean square.
Tensor noise_of_unmeasured_steps(const Tensor& bench, DType dtype);

// The noise of products whose parts are stored in their half type before they are added: each part errs by a rounding,
// and all of them together are as large as the root of the sum of the squares of their terms, or as the product.
Tensor noise_of_parts(const Tensor& bench, const Tensor& spread, DType dtype);

// How many of so many elements may err more than a few samples have shown: those of a row err together, ...
std::int64_t most_outliers(std::int64_t count);

// ... and what each may have: four times its noise, or a third of its place in the dtype. A weight of a softmax that is
// next to 1 rounds to it or does not.
Tensor noise_of_outliers(const Tensor& noise, const Tensor& bench, DType dtype);

// Whether a result has so many different values (32, of 4,096 elements that are looked at) that what rounding does to
// its elements is not the same for all of them: equal elements err alike.
bool has_many_values(const Tensor& bench);

// The roots, float64, of sums of squares, each less its element of `without`.
Tensor root_of(const Tensor& squares, const std::optional<Tensor>& without);

}  // namespace msrun

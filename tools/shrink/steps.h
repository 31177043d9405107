// The ways in which a recording is made smaller. Each tries candidates until none is accepted any more; best is
// what is in the folder of that name and only ever becomes smaller. All throw SearchEnds.
#pragma once

#include <string>
#include <vector>

#include "tools/shrink/attempts.h"
#include "tools/shrink/recording.h"

namespace msrun::shrink {

struct Best {
  Recording recording;
  std::string name;  // of the folder of the results: "smallest"
  // Some of those before it, the largest first: what is left where it turns out not to fail every time.
  std::vector<Recording> earlier = {};
};

// Takes the candidate for the best if it fails for the same cause.
bool improve(Best& best, Attempts& attempts, Recording candidate);

// Leaves out the backward of a call whose forward fails.
void drop_backward(Best& best, Attempts& attempts);

// Leaves out keyword arguments, and positional ones that the call does not need.
void drop_arguments(Best& best, Attempts& attempts);

// Shortens every axis to a share of its length. Whether a call stays legal the benchmark decides, so that this comes
// first for calls that take long.
void shorten_all_axes(Best& best, Attempts& attempts);

// Shortens axes one after the other, together in all arguments as far as the call stays legal.
void shorten_axes(Best& best, Attempts& attempts);

// Zeroes elements of arguments and gradients, and rounds what is left to few bits.
void simplify_values(Best& best, Attempts& attempts);

// Puts the benchmark's elements in the place of wrong ones of recorded results.
void mend_results(Best& best, Attempts& attempts);

// The candidate with the gradients of its outputs cut to the shapes that these have, old sizes in their old places;
// false if the call is not legal, or its outputs have other ranks than before. cuts are the axes that were shortened:
// size before, first index that is left, size after.
struct SizeCut {
  std::int64_t before = 0;
  std::int64_t start = 0;
  std::int64_t after = 0;
};
bool fit(Recording& candidate, const std::vector<SizeCut>& cuts);

}  // namespace msrun::shrink

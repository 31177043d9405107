// The numbers that decide verdicts. Unit, reason and evidence of each stand in the table of constants.cpp, which
// `msrun --list-judgement` prints.
//
// Numbers that bound what a computation costs, or how much memory it takes, stand where they are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace msrun {

// The bound of an element (rounding.h).

inline constexpr double safety = 8;
inline constexpr double multiple_of_noise = 16;
inline constexpr double multiple_of_noise_of_half = 6;
inline constexpr double most_missed = 16;
inline constexpr double underflow = 0x1p-106;
inline constexpr double jump = 64;
inline constexpr std::int64_t fewest_of_a_slice = 16;
inline constexpr double chance_of_kinds = 6;

// Terms and noise, which changed inputs measure.

inline constexpr std::size_t first_samples = 4;
inline constexpr std::size_t most_samples = 16;
inline constexpr std::size_t first_noise_samples = 2;
inline constexpr std::size_t most_noise_samples = 8;
inline constexpr double hopeless_share = 100;
inline constexpr std::int64_t few_of_elements = 8;
inline constexpr double times_of_noise = 3;
inline constexpr double times_of_float32 = 4;
inline constexpr std::int64_t terms_of_complex_arithmetic = 4;

// Results that nothing rounds.

inline constexpr std::int64_t few_unrounded = 32;
inline constexpr double most_in_proportion = 4;

// Steps within a call.

inline constexpr double within_rounding = 0x1p-23;
inline constexpr double exactly = 0x1p-48;
inline constexpr double exactly_of_half = 0x1p-20;
inline constexpr double one_stored = 1;
inline constexpr double two_stored = 4;
inline constexpr double beside_a_kink = 0x1p-51;
inline constexpr double most_slope = 4;

// Rounded operands of products.

inline constexpr double slack_of_operands = 4;
inline constexpr double times_of_cut_operands = 2;
inline constexpr double times_of_rounded_operands = 4;
inline constexpr double share_of_roundoff = 1.0 / 4;

// Half types that are rounded on the way.

inline constexpr double times_of_parts = 2;
inline constexpr double times_of_leaning = 1.5;
inline constexpr double most_concentration = 32;
inline constexpr double chance_of_leaning = 3;
inline constexpr double most_lost_by_rounding = 1.0 / 24;

// Large calls.

inline constexpr double slack_of_large_calls = 8;
inline constexpr std::size_t samples_of_large_calls = 2;
inline constexpr double missed_at_most = 16;

// The veto against a factor that all elements are off by.

inline constexpr double places_in_common = 8;
inline constexpr double half_roundings_in_common = 3;
inline constexpr double roundings_in_common = 3;
inline constexpr double chance_of_common_error = 8;
inline constexpr double times_of_samples = 2;
inline constexpr std::size_t samples_of_common_errors = 2;
inline constexpr double times_of_common_error = 8;
inline constexpr double most_by_chance = 4;
inline constexpr std::int64_t groups_of_half_types = 64;
inline constexpr std::int64_t fewest_groups_in_common = 8;
inline constexpr double fewest_elements_in_common = 16;

// The veto against another call, and causes.

inline constexpr double decisive_share = 16;
inline constexpr std::int64_t elements_beyond_chance = 8;
inline constexpr double bits_beyond_chance = 10;
inline constexpr std::int64_t enough_different_elements = 24;
inline constexpr double decisive_equality = 0.95;
inline constexpr double share_of_truncated = 7.0 / 8;
inline constexpr double enough_bits = 8;

struct JudgeConstant {
  std::string_view name;  // as it is called here
  double value;
  std::string_view unit;
  std::string_view reason;    // one sentence
  std::string_view evidence;  // a test below tests/, or a paper
};

// All of them, in the order above.
std::span<const JudgeConstant> judge_constants();

}  // namespace msrun

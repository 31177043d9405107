// What the figures are compared with: measurements of another tool on the same dumps, and the goals that follow from
// them.
#pragma once

#include <array>
#include <string_view>

namespace msrun::bench {

inline constexpr std::string_view baseline_source =
    "msProbe 26.0.0, its two worst per-call costs removed, 2 cores of this class, CPU standing in for the device";

struct Baseline {
  std::string_view dump;
  double wall;              // seconds, start-up of 1.8 s included
  double calls_per_second;  // forward calls
  double peak_megabytes;
  double goal;  // times its calls per second
};

inline constexpr std::array baselines{
    Baseline{"llama_bf16", 3.0, 28, 341, 50},  Baseline{"llama_mid_bf16", 13.4, 6.3, 1141, 5},
    Baseline{"cnn_fp32", 2.8, 18, 332, 50},    Baseline{"unet_fp32", 3.5, 18, 361, 50},
    Baseline{"moe_bf16", 3.4, 33, 321, 50},    Baseline{"zoo_stat", 2.8, 91, 332, 50},
    Baseline{"tiny_4480", 10.8, 414, 329, 50},
};

inline constexpr double memory_goal = 0.5;        // of the baseline's peak
inline constexpr double first_result_goal = 0.1;  // seconds
inline constexpr double plan_speed_goal = 100;    // MB/s
inline constexpr double plan_memory_goal = 2;     // times the size of dump.json

}  // namespace msrun::bench

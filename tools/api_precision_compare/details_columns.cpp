#include "tools/api_precision_compare/details_columns.h"

#include <array>

namespace msrun::api_precision_compare {

namespace {

struct Title {
  const char* chinese;
  const char* english;
};

constexpr std::array<Title, output_count> output_titles{{
    {"小值域错误比值", "Small Value Error Ratio of NPU to GPU"},
    {"小值域判定结果", "Small Value Verdict"},
    {"均方根误差比值", "RMSE Ratio of NPU to GPU"},
    {"均方根误差判定结果", "RMSE Verdict"},
    {"相对误差最大值比值", "Max Relative Error Ratio of NPU to GPU"},
    {"相对误差最大值判定结果", "Max Relative Error Verdict"},
    {"相对误差平均值比值", "Mean Relative Error Ratio of NPU to GPU"},
    {"相对误差平均值判定结果", "Mean Relative Error Verdict"},
    {"误差均衡性比值", "Error Balance Ratio of NPU to GPU"},
    {"误差均衡性判定结果", "Error Balance Verdict"},
    {"inf/nan错误率", "Inf/NaN Mismatch Rate"},
    {"inf/nan判定结果", "Inf/NaN Verdict"},
    {"相对误差错误率", "Relative Error Rate"},
    {"相对误差判定结果", "Relative Error Verdict"},
    {"绝对误差错误率", "Absolute Error Rate"},
    {"绝对误差判定结果", "Absolute Error Verdict"},
    {"二进制一致错误率", "Binary Mismatch Rate"},
    {"二进制一致错误率判定结果", "Binary Mismatch Verdict"},
    {"ULP误差平均值", "Mean ULP Error"},
    {"ULP误差大于阈值占比", "ULP Error Over Limit Ratio"},
    {"ULP误差大于阈值占比比值", "ULP Error Over Limit Ratio of NPU to GPU"},
    {"ULP误差判定结果", "ULP Verdict"},
    {"双千指标", "Dual-1000"},
    {"双千指标判定结果", "Dual-1000 Verdict"},
}};

}  // namespace

std::string details_titles(bool english) {
  std::string titles = "API Name";
  for (const Title& title : output_titles) titles += "," + std::string(english ? title.english : title.chinese);
  return titles + (english ? ",Compare Result,Compare Algorithm,Message" : ",比对结果,比对算法,Message");
}

const char* algorithm_text(Standard standard, bool english) {
  switch (standard) {
    case Standard::absolute_threshold:
      return english ? "absolute threshold" : "绝对阈值法";
    case Standard::binary_consistency:
      return english ? "binary consistency" : "二进制一致法";
    case Standard::ulp:
      return english ? "ULP error" : "ULP误差比对法";
    case Standard::dual_1000:
      return english ? "dual-1000" : "双千指标法";
    case Standard::accumulative_error:
      return english ? "accumulative error" : "累积误差比对法";
    case Standard::benchmark:
      break;
  }
  return english ? "benchmark" : "标杆比对法";
}

}  // namespace msrun::api_precision_compare

#include "kernels/compare/metrics/columns.h"

#include "kernels/compare/metrics/cell.h"

namespace msrun {
namespace {

constexpr std::array<Column, metric_count> pytorch{{
    {Metric::cosine, "余弦相似度", "Cosine Similarity"},
    {Metric::max_abs_error, "最大绝对误差", "Max Absolute Error"},
    {Metric::dual_100, "双百指标", "Dual-100"},
    {Metric::dual_1000, "双千指标", "Dual-1000"},
    {Metric::dual_10000, "双万指标", "Dual-10000"},
    {Metric::binary_error_rate, "二进制一致错误率", "Binary Mismatch Rate"},
    {Metric::error_balance, "误差均衡性", "Error Balance"},
    {Metric::rmse, "均方根误差", "RMSE"},
    {Metric::small_value_error_ratio, "小值域错误占比", "Small Value Error Ratio"},
    {Metric::max_relative_error, "相对误差最大值", "Max Relative Error"},
    {Metric::mean_relative_error, "相对误差平均值", "Mean Relative Error"},
    {Metric::inf_nan_error_rate, "inf/nan错误率", "Inf/NaN Mismatch Rate"},
    {Metric::relative_error_rate, "相对误差错误率", "Relative Error Rate"},
    {Metric::absolute_error_rate, "绝对误差错误率", "Absolute Error Rate"},
    {Metric::ulp_max, "ULP误差最大值", "Max ULP Error"},
    {Metric::ulp_mean, "ULP误差平均值", "Mean ULP Error"},
    {Metric::ulp_over_limit, "ULP误差大于阈值占比", "ULP Error Over Limit Ratio"},
}};

constexpr ColumnSet pytorch_set{1, {"Bench Dtype", "DEVICE Dtype", "Shape"}, pytorch, append_cell_text};

}  // namespace

const ColumnSet& pytorch_columns() { return pytorch_set; }

const char* metric_title(Metric metric, bool english) { return pytorch[pytorch_set.place(metric)].title(english); }

}  // namespace msrun

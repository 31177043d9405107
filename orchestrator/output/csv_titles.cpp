#include "orchestrator/output/csv_titles.h"

namespace msrun {

std::string result_header(const Dialect& dialect) { return dialect.result_header(); }

std::string details_header(const Dialect& dialect, bool english_titles) {
  return dialect.details_header(english_titles);
}

}  // namespace msrun

// Any bytes as what a runner sends through its ring: framed results that arrive in pieces. Each is a result or a
// RecordError; a result is written again as it was read, and its rows of both CSVs are as many as it has, whatever its
// texts and numbers are; files of other frameworks than PyTorch may leave out what has nothing to show. The
// first byte of an input says how large the pieces are, or, if it is 255, that the rest is what follows the prefix of
// one result, which chance would rarely find.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/io/files/csv.h"
#include "runner/dialects/dialect.h"
#include "runner/results/bytes.h"
#include "runner/results/record.h"
#include "runner/shared/region.h"
#include "tests/fuzz/target.h"

namespace {

using namespace msrun;

std::size_t rows_in(const std::string& csv) {
  CsvReader reader(csv);
  std::vector<std::string> row;
  std::size_t rows = 0;
  while (reader.next(row)) ++rows;
  return rows;
}

void take(std::string_view record) {
  try {
    const ApiResult result = decode_result(record);
    const std::string again = encode(result);
    fuzz_require(encode(decode_result(again)) == again);
    for (const Dialect* dialect : dialects()) {
      std::string details;
      dialect->append_details(details, result, 14);
      const bool is_pytorch = dialect == dialects().front();
      const std::size_t all = result.forward_rows.size() + result.backward_rows.size();
      fuzz_require(is_pytorch ? rows_in(details) == all : rows_in(details) <= all);
      std::string line;
      dialect->append_result(line, result, true);
      fuzz_require(is_pytorch ? rows_in(line) == 1 : rows_in(line) <= 1);
    }
  } catch (const RecordError&) {
  }
}

}  // namespace

FUZZ_TARGET(result_fuzz) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 255) {
    take("\x01\x01R\xD2" + std::string(bytes));
    return 0;
  }
  const std::size_t piece = std::size_t{1} + data[0];
  std::string received;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    received += bytes.substr(at, piece);
    std::size_t consumed = 0;
    std::string_view record;
    while (unframe_record(received, consumed, record)) take(record);
    fuzz_require(consumed <= received.size());
    received.erase(0, consumed);
  }
  return 0;
}

// Any bytes as dump.json: entries and a header, or one UserError; and the call codec returns every entry that it is
// given.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kernels/api/call_codec.h"
#include "kernels/base/error.h"
#include "kernels/io/dump/dump_json.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(dump_json_fuzz) {
  using namespace msrun;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    DumpReader reader("fuzz", memory_source(text), 256);
    reader.read([](std::string_view name, DumpEntry&& entry) {
      ApiCall call;
      call.name = name;
      call.args = std::move(entry.args);
      call.kwargs = std::move(entry.kwargs);
      call.output_dtype = std::move(entry.output_dtype);
      call.grad_inputs = std::move(entry.grad_inputs);
      const std::string bytes = encode(call);
      if (encode(decode_call(bytes)) != bytes) std::abort();
    });
  } catch (const UserError&) {
  }
  try {
    decode_call(text);
  } catch (const std::runtime_error&) {
  }
  return 0;
}

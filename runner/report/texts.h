// Numbers, times and texts as the page shows them.
#pragma once

#include <cstdint>
#include <string>

namespace msrun::report {

// "12,345".
std::string with_commas(std::uint64_t number);

// "1 call", "1,200 calls".
std::string plural(std::uint64_t count, const std::string& noun);

// "2026-11-22 17:01:06 UTC" of seconds since 1970, whatever the time zone of the reader; "?" for what is no time.
std::string utc_text(double seconds);

}  // namespace msrun::report

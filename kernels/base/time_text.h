// Moments as people, and the names of files, have them. Seconds may come from a file that anybody wrote.
#pragma once

#include <string>

namespace msrun {

// "2026-11-22 17:01:06".
inline constexpr const char* readable_time = "%Y-%m-%d %H:%M:%S";
// "20261122170106", in names of files.
inline constexpr const char* stamp_time = "%Y%m%d%H%M%S";

// Seconds since 1970 in the time zone of the process, or in UTC, in a form of strftime of no more than some fifty
// characters; "?" for what is no time, or further than thirty thousand years away.
std::string local_time_text(double seconds, const char* form = readable_time);
std::string utc_time_text(double seconds, const char* form = readable_time);

}  // namespace msrun

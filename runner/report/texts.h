// Times as the page shows them.
#pragma once

#include <string>

namespace msrun::report {

// "2026-11-22 17:01:06 UTC" of seconds since 1970, whatever the time zone of the reader; "?" for what is no time.
std::string utc_text(double seconds);

}  // namespace msrun::report

// Where destructors report. A destructor must not throw and a library must not print, but a failed
// clean-up is a fact about the run (a leak, or a context that broke) and must not vanish.
#pragma once

#include <cstdint>
#include <string>

namespace ftax {

struct CleanupErrors {
    std::int64_t count;  // since the process started
    std::string last;    // the latest message; empty if none
};

void report_cleanup_error(const std::string& message) noexcept;
CleanupErrors cleanup_errors();

}  // namespace ftax

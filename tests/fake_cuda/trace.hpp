// What a tracer would be told: each call and each kernel, on the one clock of host and device.
#pragma once

#include <cstdint>
#include <string>

namespace fake {

// Whether records are kept; a launch call then costs traced_call_ns more.
bool tracing();

// A number that a call and what it launches have in common, as CUPTI's correlation id.
std::uint64_t next_correlation();

void trace_call(std::uint64_t correlation, const char* name, std::int64_t start_ns,
                std::int64_t end_ns);
void trace_kernel(std::uint64_t correlation, const std::string& name, std::int64_t start_ns,
                  std::int64_t end_ns);

}  // namespace fake

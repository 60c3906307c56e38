#include "trace.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>

namespace {

// The layout is known to fake_cupti.
struct Record {
    std::int64_t kind = 0;
    std::int64_t correlation = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    char name[32] = {};
};

// As CUPTI numbers its activity kinds.
constexpr std::int64_t kDriver = 4;
constexpr std::int64_t kRuntime = 5;
constexpr std::int64_t kKernel = 10;
// The runtime's own way to the driver's entry.
constexpr std::int64_t kRuntimeLeadNs = 5000;

std::atomic<bool> on{false};
std::atomic<std::uint64_t> last{0};
std::mutex mutex;
std::deque<Record> records;

void add(std::int64_t kind, std::uint64_t correlation, const char* name, std::int64_t start_ns,
         std::int64_t end_ns) {
    Record record;
    record.kind = kind;
    record.correlation = static_cast<std::int64_t>(correlation);
    record.start_ns = start_ns;
    record.end_ns = end_ns;
    std::snprintf(record.name, sizeof record.name, "%s", name);
    const std::lock_guard<std::mutex> lock(mutex);
    records.push_back(record);
}

}  // namespace

namespace fake {

bool tracing() { return on; }

std::uint64_t next_correlation() { return ++last; }

void trace_call(std::uint64_t correlation, const char* name, std::int64_t start_ns,
                std::int64_t end_ns) {
    if (!on) return;
    if (std::strcmp(name, "fake_cuda_runtime_launch") == 0) {
        add(kRuntime, correlation, "cudaLaunchKernel", start_ns, end_ns);
        start_ns = std::min(start_ns + kRuntimeLeadNs, end_ns);
        name = "cuLaunchKernel";
    }
    add(kDriver, correlation, name, start_ns, end_ns);
}

void trace_kernel(std::uint64_t correlation, const std::string& name, std::int64_t start_ns,
                  std::int64_t end_ns) {
    if (on) add(kKernel, correlation, name.c_str(), start_ns, end_ns);
}

}  // namespace fake

extern "C" {

void fake_cuda_trace(int wanted) {
    on = wanted != 0;
    const std::lock_guard<std::mutex> lock(mutex);
    records.clear();
}

// Takes up to `most` of the oldest records; how many there were.
int fake_cuda_trace_take(void* into, int most) {
    const std::lock_guard<std::mutex> lock(mutex);
    int taken = 0;
    for (; taken < most && !records.empty(); ++taken) {
        std::memcpy(static_cast<Record*>(into) + taken, &records.front(), sizeof(Record));
        records.pop_front();
    }
    return taken;
}

}  // extern "C"

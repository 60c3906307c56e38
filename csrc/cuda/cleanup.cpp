#include "cuda/cleanup.hpp"

#include <mutex>

namespace ftax {
namespace {

struct Sink {
    std::mutex mutex;
    CleanupErrors errors{0, ""};
};

// Never destroyed: destructors of other statics may still report.
Sink& sink() {
    static Sink* const instance = new Sink;
    return *instance;
}

}  // namespace

void report_cleanup_error(const std::string& message) noexcept {
    try {
        Sink& to = sink();
        const std::lock_guard<std::mutex> lock(to.mutex);
        ++to.errors.count;
        to.errors.last = message;
    } catch (...) {
        // Out of memory while reporting: there is nowhere left to say so.
    }
}

CleanupErrors cleanup_errors() {
    Sink& from = sink();
    const std::lock_guard<std::mutex> lock(from.mutex);
    return from.errors;
}

}  // namespace ftax

#include "state.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>

namespace fake {
namespace {

std::string hex(std::uintptr_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(value));
    return text;
}

void print_lines(const char* title, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
        std::fprintf(stderr, "fake_cuda: %s: %s\n", title, line.c_str());
    }
}

// Registered with atexit, which a forked child runs too.
void report_at_exit() {
    State& s = state();
    if (s.forked || config().report == 0) return;
    const std::lock_guard<std::mutex> lock(s.mutex);
    print_lines("misuse", s.misuse);
    print_lines("leak", s.leaks());
}

__attribute__((constructor)) void load() {
    State& s = state();
    const std::string complaint = configure_baseline(s.faults);
    if (!complaint.empty()) {
        std::fprintf(stderr, "fake_cuda: FAKE_CUDA: %s\n", complaint.c_str());
        s.misuse.push_back("FAKE_CUDA: " + complaint);
    }
    std::atexit(report_at_exit);
    // As on a real driver, a child of an initialised process can't use the device.
    pthread_atfork(nullptr, nullptr, [] {
        if (state().initialized) state().forked = true;
    });
}

}  // namespace

State& state() {
    static State* const instance = new State;  // never destroyed: workers outlive main
    return *instance;
}

std::vector<std::uintptr_t>& context_stack() {
    static thread_local std::vector<std::uintptr_t> stack;
    return stack;
}

Allocation::~Allocation() { std::free(memory); }

std::shared_ptr<Allocation> State::allocation(std::uint64_t address, std::size_t bytes) const {
    auto next = memory.upper_bound(address);
    if (next == memory.begin()) return nullptr;
    const std::shared_ptr<Allocation>& candidate = std::prev(next)->second;
    const bool inside = address - candidate->address <= candidate->bytes &&
                        bytes <= candidate->bytes - (address - candidate->address);
    return inside ? candidate : nullptr;
}

std::vector<std::string> State::leaks() const {
    std::vector<std::string> lines;
    for (const auto& [handle, object] : objects) {
        if (!object->leaks) continue;
        std::string line = std::string(object->kind) + " " + hex(handle);
        const auto* allocation = dynamic_cast<const Allocation*>(object.get());
        if (allocation != nullptr) line += ", " + std::to_string(allocation->bytes) + " bytes";
        lines.push_back(line);
    }
    for (const auto& [ordinal, device] : devices) {
        const int count = device.retains - device.runtime_retains;
        if (count > 0) {
            lines.push_back("primary context of device " + std::to_string(ordinal) + " retained " +
                            std::to_string(count) + " times");
        }
    }
    return lines;
}

// The ordinals CUDA_VISIBLE_DEVICES leaves, ending at the first that is none, as documented.
void State::look_for_devices() {
    visible.clear();
    const char* wanted = std::getenv("CUDA_VISIBLE_DEVICES");
    const auto count = static_cast<int>(config().devices);
    if (wanted == nullptr) {
        for (int i = 0; i < count; ++i) visible.push_back(i);
        return;
    }
    while (*wanted != '\0') {
        char* end = nullptr;
        const long ordinal = std::strtol(wanted, &end, 10);
        if (end == wanted || ordinal < 0 || ordinal >= count) break;
        visible.push_back(static_cast<int>(ordinal));
        wanted = *end == ',' ? end + 1 : end;
    }
}

void State::give_up(CUresult error) {
    if (error != CUDA_SUCCESS) faults.sticky = error;
    ++epoch;
    changed.notify_all();
    for (const auto& [handle, object] : objects) {
        if (auto* stream = dynamic_cast<Stream*>(object.get())) stream->wake.notify_all();
    }
}

std::string describe_held(const State& s) {
    for (const auto& [handle, object] : s.objects) {
        const auto* stream = dynamic_cast<const Stream*>(object.get());
        if (stream == nullptr) continue;
        for (const auto& done : stream->unfinished) {
            if (done->epoch == s.epoch && is_held(*done))
                return std::string(stream->kind) + " " + hex(handle);
        }
    }
    return {};
}

}  // namespace fake

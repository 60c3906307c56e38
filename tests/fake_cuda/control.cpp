// What tests use: settings, counts, the notes of misuse, what is not given back.
#include <cstring>

#include "call.hpp"

namespace fake {
namespace {

// Kept until the same thread's next question.
const char* keep(const std::string& text) {
    static thread_local std::string kept;
    kept = text;
    return kept.c_str();
}

const char* keep(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += text.empty() ? line : "\n" + line;
    return keep(text);
}

// Forgets all objects, after their operations were given up, and what is current in this thread.
void forget_objects(std::unique_lock<std::mutex>& lock) {
    State& s = state();
    s.give_up(CUDA_SUCCESS);
    std::vector<std::shared_ptr<Done>> all;
    for (const auto& [handle, object] : s.objects) {
        // A module and its functions hold each other until it is unloaded.
        if (auto* module = dynamic_cast<Module*>(object.get())) module->functions.clear();
        auto* stream = dynamic_cast<Stream*>(object.get());
        if (stream == nullptr) continue;
        if (stream->last != nullptr) all.push_back(stream->last);
        stream->closing = true;
        stream->wake.notify_all();
    }
    for (const auto& done : all) s.changed.wait(lock, [&] { return done->settled; });
    s.objects.clear();
    context_stack().clear();
    s.memory.clear();
    s.devices.clear();
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

// "" or what was wrong; everything before the complaint is applied. "initialized=0" makes the
// driver forget cuInit.
const char* fake_cuda_configure(const char* text) {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    std::string rest = text;
    const std::string forget = "initialized=0";
    const std::size_t at = rest.find(forget);
    if (at != std::string::npos) {
        s.initialized = false;
        rest.erase(at, forget.size());
    }
    return keep(configure(rest, s.faults));
}

// Back to the settings at load; ends what runs, forgets objects, counts, faults and notes. cuInit
// stays done, so that a program that initialises once goes on: with the devices of those settings.
void fake_cuda_reset() {
    State& s = state();
    std::unique_lock<std::mutex> lock(s.mutex);
    forget_objects(lock);
    configure_baseline(s.faults);
    s.look_for_devices();
    s.calls.clear();
    s.misuse.clear();
}

// Calls of one exported function since load or reset; "*" counts all.
std::int64_t fake_cuda_calls(const char* name) {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    if (std::strcmp(name, "*") != 0) {
        const auto found = s.calls.find(name);
        return found == s.calls.end() ? 0 : found->second;
    }
    std::int64_t sum = 0;
    for (const auto& [function, count] : s.calls) sum += count;
    return sum;
}

// "name=count" lines of every function called.
const char* fake_cuda_all_calls() {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    std::vector<std::string> lines;
    for (const auto& [function, count] : s.calls) {
        lines.push_back(function + "=" + std::to_string(count));
    }
    return keep(lines);
}

const char* fake_cuda_misuse() {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    return keep(s.misuse);
}

const char* fake_cuda_leaks() {
    State& s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    return keep(s.leaks());
}

std::int64_t fake_cuda_config(const char* name) { return config_value(name); }

}  // extern "C"

#include "config.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fake {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::size_t from = 0;
    while (from <= text.size()) {
        const std::size_t to = std::min(text.find(separator, from), text.size());
        if (to > from) parts.push_back(text.substr(from, to - from));
        from = to + 1;
    }
    return parts;
}

bool to_number(const std::string& text, std::int64_t& value) {
    char* end = nullptr;
    value = std::strtoll(text.c_str(), &end, 0);
    return !text.empty() && *end == '\0';
}

std::atomic<std::int64_t>* find_key(const std::string& name) {
    Config& c = config();
#define KEY(key, value) \
    if (name == #key) return &c.key;
#include "keys.def"
#undef KEY
    return nullptr;
}

// "F:n:value[:sticky]"
bool parse_fault(const std::string& text, Fault& fault) {
    const std::vector<std::string> parts = split(text, ':');
    if (parts.size() < 3 || parts.size() > 4) return false;
    fault.function = parts[0];
    fault.sticky = parts.size() == 4;
    if (fault.sticky && parts[3] != "sticky") return false;
    return to_number(parts[1], fault.nth) && to_number(parts[2], fault.value);
}

bool parse_hang(const std::string& text, Hang& hang) {
    const std::vector<std::string> parts = split(text, ':');
    if (parts.empty() || parts.size() > 2) return false;
    hang.kernel = parts[0];
    return parts.size() == 1 || to_number(parts[1], hang.nth);
}

bool apply(const std::string& key, const std::string& value, Faults& faults) {
    if (key == "fail" || key == "slow") {
        Fault fault;
        if (!parse_fault(value, fault)) return false;
        (key == "fail" ? faults.fail : faults.slow).push_back(fault);
        return true;
    }
    if (key == "hang") {
        Hang hang;
        if (!parse_hang(value, hang)) return false;
        faults.hang.push_back(hang);
        return true;
    }
    std::int64_t number = 0;
    std::atomic<std::int64_t>* cell = find_key(key);
    if (cell == nullptr || !to_number(value, number)) return false;
    *cell = number;
    return true;
}

std::int64_t driver_default(std::int64_t since, std::int64_t then, std::int64_t before) {
    return config().driver_version >= since ? then : before;
}

}  // namespace

Config& config() {
    static Config* const instance = new Config;  // never destroyed: workers outlive main
    return *instance;
}

std::string configure(const std::string& text, Faults& faults) {
    for (const std::string& item : split(text, ',')) {
        const std::size_t equals = item.find('=');
        if (equals == std::string::npos ||
            !apply(item.substr(0, equals), item.substr(equals + 1), faults)) {
            return "not a setting of the fake driver: " + item;
        }
    }
    return {};
}

std::string configure_baseline(Faults& faults) {
    faults = Faults{};
    Config& c = config();
#define KEY(key, value) c.key = value;
#include "keys.def"
#undef KEY
    c.driver_version = kBuildVersion;
    c.stub = kBuildStub;
    c.runtime_version = kBuildVersion < 13000 ? 12080 : 13000;
    const char* environment = std::getenv("FAKE_CUDA");
    return environment == nullptr ? std::string() : configure(environment, faults);
}

std::int64_t round_trip_ns() { return config().h2d_ns + config().d2h_ns; }

std::int64_t poll_period_ns() { return std::max<std::int64_t>(round_trip_ns(), config().poll_ns); }

bool lazy_loading() {
    if (config().lazy >= 0) return config().lazy != 0;
    // Lazy loading came with 11.7, on Linux it is the default from 12.2 on.
    const char* wanted = std::getenv("CUDA_MODULE_LOADING");
    if (config().driver_version < 11070) return false;
    if (wanted != nullptr && std::strcmp(wanted, "EAGER") == 0) return false;
    if (wanted != nullptr && std::strcmp(wanted, "LAZY") == 0) return true;
    return config().driver_version >= 12020;
}

std::int64_t live_flags() {
    const std::int64_t value = config().live_flags;
    return value >= 0 ? value : driver_default(12010, 1, 0);
}

std::int64_t config_value(const std::string& name) {
    const Config& c = config();
    if (name == "spacing_ns") return c.gap_ns + c.body_ns;
    if (name == "round_trip_ns") return round_trip_ns();
    if (name == "poll_ns") return poll_period_ns();
    if (name == "to_start_idle_ns") return c.submit_ns + c.start_ns;
    if (name == "to_start_active_ns") return c.submit_ns + c.start_active_ns;
    if (name == "graph_node_ns") return c.graph_launch_node_ns + c.graph_gap_ns + c.body_ns;
    if (name == "live_flags") return live_flags();
    if (name == "lazy") return lazy_loading() ? 1 : 0;
    const std::atomic<std::int64_t>* cell = find_key(name);
    return cell == nullptr ? -1 : cell->load();
}

}  // namespace fake

// What a stream can be asked to do, and what is known of it when it is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fake {

// The kernels the fake can imitate.
enum class Kernel { null, store, hold, spin, spin_ns, round_trip, dependent };

// Sizes of a kernel's parameters in bytes, in order.
using Parameters = std::vector<std::size_t>;

// The entry's imitation and the parameters it must have; false if the fake does not know the name.
bool find_kernel(const std::string& name, Kernel& kernel, Parameters& parameters);

struct Function;
struct Node;

enum class WorkKind { marker, kernel, copy, set, graph };

// One operation. Addresses are as the caller gave them; see host_address.
struct Work {
    WorkKind kind = WorkKind::marker;
    // kernel
    std::shared_ptr<Function> function;
    Kernel kernel = Kernel::null;
    std::vector<std::vector<unsigned char>> arguments;
    bool dependent = false;  // may start before the one before it has ended
    bool hangs = false;
    // copy (bytes from source, or from `staged` if that is not empty) and set
    std::uint64_t target = 0;
    std::uint64_t source = 0;
    std::size_t bytes = 0;
    std::uint32_t pattern = 0;
    std::size_t pattern_bytes = 1;
    bool to_device = true;
    std::vector<unsigned char> staged;
    // graph
    std::shared_ptr<const std::vector<Node>> nodes;

    std::size_t argument_bytes() const {
        std::size_t sum = 0;
        for (const auto& argument : arguments) sum += argument.size();
        return sum;
    }

    template <class T>
    T argument(std::size_t index) const {
        T value{};
        std::memcpy(&value, arguments[index].data(), sizeof value);
        return value;
    }
};

// A node of a graph; `after` are indices of earlier nodes.
struct Node {
    Work work;
    std::vector<std::size_t> after;
};

// A word some kernel of an operation waits for.
struct Held {
    const std::uint32_t* word = nullptr;
    std::uint32_t value = 0;
};

// The completion of one operation. Its end is known as soon as it can be worked out, usually before
// it comes; it is settled when everything it does to memory has happened. Guarded by the mutex.
struct Done {
    bool known = false;
    bool settled = false;
    bool failed = false;  // given up: reset, or an error that sticks
    std::int64_t end_ns = 0;
    std::size_t argument_bytes = 0;
    std::uint64_t epoch = 0;
    bool hangs = false;
    std::vector<Held> holds;
};

// Something an operation does to memory, and when.
struct Effect {
    std::int64_t at_ns = 0;
    std::function<void()> apply;
};

// Device memory is host memory under an address no host code can dereference.
constexpr std::uint64_t kDeviceBit = std::uint64_t{1} << 62U;

template <class T>
T* host_address(std::uint64_t address) {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address & ~kDeviceBit));
}

// Address ranges a kernel, copy or set touches: what must be allocated when it is enqueued.
std::vector<std::pair<std::uint64_t, std::size_t>> touched(const Work& work);

// Adds the words that `work` waits for.
void collect_holds(const Work& work, std::vector<Held>& holds);

// True until the host has stored what every kernel of the operation waits for.
bool is_held(const Done& done);

// Works out when `work` ends if it starts at start_ns, appending what it does to memory. Waits in
// real time only where the end depends on the host (ftax_hold). Called without the mutex. `alive`
// turns false when the operation is to be given up.
std::int64_t plan(const Work& work, std::int64_t start_ns, std::vector<Effect>& effects,
                  const std::function<bool()>& alive);

// Does what is to be done, each at its time.
void settle(std::vector<Effect>& effects, const std::function<bool()>& alive);

// Parameters of each entry in a PTX text; empty if it is none.
std::map<std::string, Parameters> parse_ptx(const std::string& text);

// The number after a PTX directive as major * 10 + minor (".version 7.8" is 78, ".target sm_90"
// 90); 0 if absent.
int ptx_number(const std::string& text, const std::string& directive);

}  // namespace fake

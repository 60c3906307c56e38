#include "host_calls.hpp"

#include <stdexcept>
#include <string>

#include "clock.hpp"

#if defined(__GNUC__) || defined(__clang__)
#define FTAX_OPAQUE __attribute__((noinline, used))
#define FTAX_NOTHING __asm__ volatile("")
#else
#define FTAX_OPAQUE
#define FTAX_NOTHING
#endif

namespace ftax {

FTAX_OPAQUE void empty_function() { FTAX_NOTHING; }

FTAX_OPAQUE void empty_function_5(Value, Value, Value, Value, Value) { FTAX_NOTHING; }

FTAX_OPAQUE void empty_function_19(Value, Value, Value, Value, Value, Value, Value, Value, Value,
                                   Value, Value, Value, Value, Value, Value, Value, Value, Value,
                                   Value) {
    FTAX_NOTHING;
}

std::uintptr_t empty_function_address(int arguments) {
    switch (arguments) {
        case 0:
            return reinterpret_cast<std::uintptr_t>(&empty_function);
        case 5:
            return reinterpret_cast<std::uintptr_t>(&empty_function_5);
        case 19:
            return reinterpret_cast<std::uintptr_t>(&empty_function_19);
        default:
            throw std::invalid_argument("there is no empty function with " +
                                        std::to_string(arguments) +
                                        " arguments; there are 0, 5 and 19");
    }
}

double call_direct(std::int64_t loops) {
    void (*volatile opaque)() = empty_function;
    const std::int64_t begin = now_ns();
    for (std::int64_t i = 0; i < loops; ++i) opaque();
    const std::int64_t end = now_ns();
    return seconds(end - begin);
}

}  // namespace ftax

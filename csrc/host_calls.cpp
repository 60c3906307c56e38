#include "host_calls.hpp"

#include "clock.hpp"

namespace ftax {

#if defined(__GNUC__) || defined(__clang__)
__attribute__((noinline, used))
#endif
void empty_function() {
#if defined(__GNUC__) || defined(__clang__)
    __asm__ volatile("");
#endif
}

double call_direct(std::int64_t loops) {
    void (*volatile opaque)() = empty_function;
    const std::int64_t begin = now_ns();
    for (std::int64_t i = 0; i < loops; ++i) opaque();
    const std::int64_t end = now_ns();
    return seconds(end - begin);
}

}  // namespace ftax

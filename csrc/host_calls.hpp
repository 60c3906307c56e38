// What one call costs on the host: the floor below every dispatcher.
//
// The problem: a compiler that sees the callee removes the call. The pointer is therefore read
// through `volatile` each time and the callee lives in another translation unit, marked noinline,
// exactly what a call through a dispatch table looks like.
#pragma once

#include <cstdint>

namespace ftax {

// Elapsed seconds of `loops` calls of an empty function through an opaque pointer.
double call_direct(std::int64_t loops);

// The callee: does nothing, returns nothing, cannot be inlined.
void empty_function();

}  // namespace ftax

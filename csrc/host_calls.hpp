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

// The same with arguments, for callers that have to produce them.
using Value = std::int64_t;
void empty_function_5(Value, Value, Value, Value, Value);
void empty_function_19(Value, Value, Value, Value, Value, Value, Value, Value, Value, Value, Value,
                       Value, Value, Value, Value, Value, Value, Value, Value);

// Address of the empty function with so many arguments: 0, 5 or 19, else std::invalid_argument.
std::uintptr_t empty_function_address(int arguments);

}  // namespace ftax

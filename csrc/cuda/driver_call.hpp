// Any driver call made ready to be timed, with the interface of the launches in launch.hpp.
#pragma once

#include "cuda/driver.hpp"

namespace ftax {

// `invoke` is a lambda that makes the call and returns its CUresult.
template <class Invoke>
class DriverCall {
  public:
    DriverCall(const Driver& driver, const char* symbol, Invoke invoke)
        : driver_(driver), symbol_(symbol), invoke_(invoke) {}
    static CUresult success() { return CUDA_SUCCESS; }
    CUresult operator()() const { return invoke_(); }
    void check(CUresult status) const { driver_.check(status, symbol_); }

  private:
    const Driver& driver_;
    const char* symbol_;
    Invoke invoke_;
};

// A call of `function` with these arguments, bound now.
template <class... Parameters, class... Arguments>
auto driver_call(const Driver& driver, const Function<CUresult(Parameters...)>& function,
                 Arguments... arguments) {
    const auto entry = function.get();
    const auto invoke = [=] { return entry(arguments...); };
    return DriverCall<decltype(invoke)>(driver, function.symbol(), invoke);
}

}  // namespace ftax

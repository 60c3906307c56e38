#include "cuda/launcher.hpp"

#include <utility>

namespace ftax {
namespace {

const LaunchSpec& checked(const Session& session, const LaunchSpec& spec) {
    if (spec.api != LaunchApi::kernel || spec.argument_bytes != 0) {
        throw std::invalid_argument("a launcher calls cuLaunchKernel, with separate arguments");
    }
    check_spec(session, spec);
    return spec;
}

template <std::size_t Count>
std::array<void*, Count> pointers_to(std::array<std::int64_t, Count>& values) {
    std::array<void*, Count> pointers{};
    for (std::size_t i = 0; i < Count; ++i) pointers[i] = &values[i];
    return pointers;
}

}  // namespace

Launcher::Launcher(std::shared_ptr<Session> session, const LaunchSpec& spec)
    : session_(std::move(session)),
      count_(static_cast<std::size_t>(checked(*session_, spec).arguments)),
      pointers_(pointers_to(values_)),
      kernel_(session_->kernel(null_kernel(spec))),
      stream_(session_->stream(spec.stream)),
      launch_(session_->driver(), spec, Target{kernel_, pointers_.data()}, stream_) {}

void Launcher::enter() {
    // Throws CudaBusy where this is entered already, before anything is touched.
    auto use = std::make_unique<Session::Use>(*session_);
    if (!loaded_) {
        check(launch());
        session_->drain(stream_);
        loaded_ = true;
    }
    use_ = std::move(use);
}

void Launcher::leave() {
    const std::unique_ptr<Session::Use> ending = std::move(use_);
    if (ending != nullptr && !session_->abandoned()) session_->drain(stream_);
}

void Launcher::wait() {
    if (!entered()) throw std::logic_error("waiting needs the right to measure: enter first");
    session_->drain(stream_);
}

}  // namespace ftax

#include "cuda/first_launch.hpp"

#include <chrono>
#include <string>

#include "cuda/driver_call.hpp"
#include "cuda/launch.hpp"
#include "cuda/settled.hpp"
#include "cuda/timed.hpp"

namespace ftax {
namespace {

// A module whose load is timed; Module reads the compiler's log around it.
class FreshModule : public Resource {
  public:
    FreshModule(const Context& context, const void* image)
        : Resource(context),
          load_(timed_burst(driver_call(driver(), driver().module_load_data_ex, &handle_, image, 0U,
                                        nullptr, nullptr),
                            1)) {}
    ~FreshModule() { context_.clean_up(driver().module_unload, handle_); }
    const Span& load() const { return load_; }
    // Finds the null kernel; returns the stamps around that.
    Span find(CUfunction& function) const {
        return timed_burst(driver_call(driver(), driver().module_get_function, &function, handle_,
                                       kKernelNames[static_cast<std::size_t>(Kernel::null)]),
                           1);
    }

  private:
    CUmodule handle_ = nullptr;
    Span load_;
};

// Text that no cache has seen: by the wall clock, as the monotonic one starts anew at each boot.
std::string unseen_ptx() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::string(floor_ptx) + "\n// " + std::to_string(now.count()) + "\n";
}

void launch_first(Session& session, const void* image, FirstLaunches& times) {
    const Driver& driver = session.driver();
    session.drain();
    const FreshModule module(session.context(), image);
    const Settled settled(session);
    CUfunction function = nullptr;
    const Span found = module.find(function);
    const KernelLaunch launch(driver, LaunchSpec{}, Target{function, nullptr}, session.stream());
    const auto wait = driver_call(driver, driver.stream_synchronize, session.stream());

    const Stages first = timed_stages(launch, 1, wait);
    session.drain();
    const Span again = timed_pair(launch, wait);

    times.load_s.push_back(module.load().seconds());
    times.get_function_s.push_back(found.seconds());
    times.first_launch_s.push_back(first.first());
    times.first_total_s.push_back(first.total());
    times.second_total_s.push_back(again.seconds());
}

}  // namespace

FirstLaunches first_launch(Session& session, Image image, int samples) {
    FirstLaunches times{0,
                        sample_list(samples),
                        sample_list(samples),
                        sample_list(samples),
                        sample_list(samples),
                        sample_list(samples)};
    const Session::Use use(session);
    Cubin cubin{};
    if (image == Image::cubin) cubin = link_cubin(session.context(), unseen_ptx().c_str());
    times.link_s = cubin.link_s;
    for (int i = 0; i < samples; ++i) {
        const std::string ptx = unseen_ptx();
        launch_first(session, image == Image::cubin ? cubin.image.data() : ptx.c_str(), times);
    }
    session.drain();
    return times;
}

}  // namespace ftax

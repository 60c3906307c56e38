// Runs the CUDA half against the fake driver: sessions opened, used, refused,
// abandoned and failed at every driver call, with nothing leaked and nothing
// used wrongly. FTAX_MICRO_CUDA_DRIVER names the fake driver, built with the
// same sanitizer.
#include <dlfcn.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "check.hpp"
#include "cuda/cleanup.hpp"
#include "cuda/facts.hpp"
#include "cuda/launch.hpp"
#include "cuda/session.hpp"
#include "every_cuda_loop.hpp"

namespace {

using ftax::LaunchApi;
using ftax::LaunchSpec;
using ftax::Session;
using ftax::WaitStyle;
using harness::check;
using harness::check_throws;

constexpr double kDeadlineS = 20;
// A small one for where the device is to hang: sanitized code is slow, but not
// as slow as this.
constexpr double kShortDeadlineS = 0.3;

// The fake driver's own entries.
class Fake {
  public:
    Fake() {
        const char* const path = std::getenv("FTAX_MICRO_CUDA_DRIVER");
        check(path != nullptr, "FTAX_MICRO_CUDA_DRIVER names the fake driver");
        library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        check(library_ != nullptr, "the fake driver opens");
    }
    void reset() const { entry<void()>("fake_cuda_reset")(); }
    void configure(const std::string& text) const {
        const std::string complaint =
            entry<const char*(const char*)>("fake_cuda_configure")(text.c_str());
        check(complaint.empty(), complaint);
    }
    std::int64_t calls(const char* name) const {
        return entry<std::int64_t(const char*)>("fake_cuda_calls")(name);
    }
    std::string all_calls() const { return entry<const char*()>("fake_cuda_all_calls")(); }
    // Nothing is left over and nothing was used wrongly.
    void check_clean(const std::string& after) const {
        const std::string leaks = entry<const char*()>("fake_cuda_leaks")();
        const std::string misuse = entry<const char*()>("fake_cuda_misuse")();
        check(leaks.empty(), after + " leaves: " + leaks);
        check(misuse.empty(), after + ": " + misuse);
    }

  private:
    template <class Signature>
    Signature* entry(const char* name) const {
        void* const address = dlsym(library_, name);
        check(address != nullptr, name);
        return reinterpret_cast<Signature*>(address);
    }
    void* library_;
};

std::string driver_path() { return std::getenv("FTAX_MICRO_CUDA_DRIVER"); }

// Launches through every API that there is a null kernel for.
void launch_everything(Session& session) {
    const Session::Use use(session);
    for (const LaunchApi api :
         {LaunchApi::kernel, LaunchApi::kernel_ex, LaunchApi::cooperative, LaunchApi::dependent}) {
        for (const int bytes : {0, 8, 4096}) {
            if (api == LaunchApi::dependent && bytes != 0) continue;
            LaunchSpec spec;
            spec.api = api;
            spec.argument_bytes = bytes;
            with_launch(session, spec, ftax::null_target(session, spec), session.stream(),
                        [](const auto& launch) { launch.check(launch()); });
        }
    }
    session.drain();
}

void whole_session(WaitStyle style) {
    const auto session = std::make_shared<Session>(0, driver_path(), style, kDeadlineS);
    launch_everything(*session);
    harness::every_cuda_loop(*session);
    harness::launcher_loops(session);
    check(!ftax::device_facts(session->driver(), 0).name.empty(), "the device has no name");
    session->close();
    session->close();
}

void sessions(const Fake& fake) {
    for (const WaitStyle style : {WaitStyle::unchanged, WaitStyle::automatic, WaitStyle::spin,
                                  WaitStyle::yield, WaitStyle::blocking}) {
        whole_session(style);
        fake.check_clean("a session");
    }
    {
        const Session unclosed(0, driver_path(), WaitStyle::unchanged, kDeadlineS);
    }
    fake.check_clean("a session never closed");
    check_throws<ftax::CudaUnavailable>(
        [] { Session(7, driver_path(), WaitStyle::unchanged, kDeadlineS); }, "device 7");
    check_throws<ftax::CudaUnavailable>(
        [] { Session(0, "no-such-driver.so", WaitStyle::unchanged, kDeadlineS); }, "no driver");
    check_throws<std::invalid_argument>([] { Session(0, driver_path(), WaitStyle::unchanged, -1); },
                                        "a negative deadline");
    fake.check_clean("refused sessions");
}

// One thread measures, others may not, and may ask for the end at any time.
void threads(const Fake& fake) {
    Session session(0, driver_path(), WaitStyle::unchanged, kDeadlineS);
    {
        const Session::Use use(session);
        std::thread other([&] {
            check_throws<ftax::CudaBusy>([&] { const Session::Use second(session); },
                                         "a second measurement at once");
            check_throws<ftax::CudaBusy>([&] { session.close(); }, "closing while measuring");
        });
        other.join();
    }
    for (int i = 0; i < 4; ++i) {
        std::thread taking_turns([&] { launch_everything(session); });
        taking_turns.join();
    }
    session.close();
    fake.check_clean("taking turns");
}

// Leaving gives the right to measure back, and the context, whatever the wait says.
void hanging_launcher(const Fake& fake) {
    const auto session =
        std::make_shared<Session>(0, driver_path(), WaitStyle::unchanged, kShortDeadlineS);
    ftax::Launcher launcher(session, {});
    launcher.enter();
    fake.configure("hang=any");
    launcher.check(launcher.launch());
    check_throws<ftax::CudaTimeout>([&] { launcher.leave(); }, "leaving behind a hanging kernel");
    check(!launcher.entered(), "left, and still entered");
    check_throws<ftax::CudaTimeout>([&] { launcher.enter(); }, "entering an abandoned session");
    session->close();
    fake.reset();
}

// A kernel that never ends: the wait gives up, and nothing waits for the device
// again.
void hanging_device(const Fake& fake) {
    {
        Session session(0, driver_path(), WaitStyle::unchanged, kShortDeadlineS);
        fake.configure("hang=any");
        check_throws<ftax::CudaTimeout>([&] { launch_everything(session); }, "a hanging kernel");
        CUcontext current = nullptr;
        session.driver().ctx_get_current(&current);
        check(current == nullptr, "an abandoned context stays current");
        check(session.abandoned(), "a session that timed out is not abandoned");
        check_throws<ftax::CudaTimeout>([&] { const Session::Use use(session); }, "using it again");
        session.close();
    }
    fake.reset();
    hanging_launcher(fake);
    Session session(0, driver_path(), WaitStyle::unchanged, kDeadlineS);
    std::thread watchdog([&] { session.abandon(); });
    watchdog.join();
    session.close();
    fake.reset();
}

// Every driver function that a session calls fails once at each of its first
// calls.
void faults(const Fake& fake) {
    fake.reset();
    whole_session(WaitStyle::spin);
    std::string rest = fake.all_calls();
    std::int64_t surfaced = 0;
    while (!rest.empty()) {
        const std::string line = rest.substr(0, rest.find('\n'));
        rest.erase(0, line.size() + 1);
        const std::string name = line.substr(0, line.find('='));
        if (name == "cuGetErrorName" || name == "cuGetErrorString") continue;
        for (const char* nth : {"1", "4"}) {
            fake.reset();
            fake.configure("fail=" + name + ":" + nth + ":999");  // CUDA_ERROR_UNKNOWN
            // On a thread of its own: where the former context could not be given
            // back, ours stays.
            std::thread([&] {
                try {
                    whole_session(WaitStyle::spin);
                } catch (const std::runtime_error&) {
                    ++surfaced;
                }
            }).join();
            fake.check_clean(name + " failing at call " + nth);
        }
    }
    check(surfaced > 20, "faults hardly ever surface");
    fake.reset();
}

}  // namespace

int main() {
    const Fake fake;
    sessions(fake);
    threads(fake);
    hanging_device(fake);
    faults(fake);
    std::puts("cuda_loops: all loops ran");
    return 0;
}

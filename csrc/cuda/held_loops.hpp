// What the device does between two kernels of a full queue.
//
//   wrong:  t0; launch n kernels; wait; t1; (t1 - t0) / n     (the slower of host and device)
//   right:  hold the stream, queue n kernels, release it, stamp; see the last one's store, stamp
// The holder waits for a word of the host's. It has a deadline of its own on the device, so that a
// host that dies here, or a launch that blocks because the queue is fuller than thought, leaves a
// stream that ends by itself; the host then learns it from the outcome and withholds the sample.
// The caller takes a slope over n, which removes the legs to and from the device.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/launch.hpp"

namespace ftax {

// ftax_hold on a stream of a session, released at the latest when it goes out of scope: an error
// between must not leave a stream held that the clean-up then waits for.
class Hold {
  public:
    // The stream must be idle: an earlier holder would overwrite this one's outcome.
    Hold(Session& session, std::int64_t deadline_ns, StreamKind stream = StreamKind::own);
    ~Hold() { release(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    void release() const noexcept { words_.store(kReleaseWord, value_); }
    // Throws CudaTimeout if the deadline ended it and not release(). Call on a drained stream.
    void require_released() const;

  private:
    const HostWords& words_;
    std::uint32_t value_;
};

// The holder's deadline in nanoseconds; throws std::invalid_argument unless it is positive and
// below the session's, which must not fire first.
std::int64_t hold_deadline(const Session& session, double deadline_s);

// Seconds from release until the host sees the store of the kernel behind `launches` null kernels,
// `samples` times.
std::vector<double> spacing(Session& session, const LaunchSpec& spec, int launches, int samples,
                            double hold_deadline_s);

// The same with kernels that spin `cycles` SM clock cycles each.
std::vector<double> spin_spacing(Session& session, std::uint64_t cycles, int launches, int samples,
                                 double hold_deadline_s);

}  // namespace ftax

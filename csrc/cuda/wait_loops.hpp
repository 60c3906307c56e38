// How long a thread that waits for the device takes to run again.
//
//   wrong:  t0; launch; wait; t1     (launch and kernel are in it, and the wait may find all done)
//   right:  thread A waits already; thread B stamps t0 and stores the word a kernel polls; the
//   kernel
//           ends; A returns from its wait and stamps t1
// t1 - t0 still holds the way of B's store to the device, a polled read of 1 to 1.5 round trips,
// which the caller subtracts with that uncertainty. Both threads spin or sleep at the same time, so
// they need a core each: on one core the result is the scheduler's time slice.
#pragma once

#include <vector>

#include "cuda/session.hpp"

namespace ftax {

// `stream` is cuStreamSynchronize in the context's own wait style (Session's); `event_query` polls
// cuEventQuery of an event behind the kernel.
enum class WaitMethod { stream, event_query };

struct Waits {
    std::vector<double> seconds;  // store by thread B to return of thread A's wait
    bool waiter_pinned;           // whether A ran on waiter_core all the time
    bool releaser_pinned;         // the same for B
};

// `lead_s` is how long after A's announcement B stores: longer than A needs to be waiting in
// earnest (asleep, for a blocking wait). Cores below 0 leave a thread where it is.
Waits sync_wait(Session& session, WaitMethod method, int samples, double lead_s, int waiter_core,
                int releaser_core, double hold_deadline_s);

}  // namespace ftax

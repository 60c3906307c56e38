// Lets the device finish before what it uses is freed, however a scope is left.
#pragma once

#include <exception>

#include "cuda/cleanup.hpp"
#include "cuda/session.hpp"

namespace ftax {

// Drains the session's stream when it goes out of scope: declared after what launches use, it ends
// before that. A loop that succeeds has drained by then and finds nothing to wait for; one that
// throws between two launches has not, and unloading a kernel that still runs is an error of its
// own.
class Settled {
  public:
    explicit Settled(Session& session) : session_(session) {}
    ~Settled() {
        if (session_.abandoned()) return;
        try {
            session_.drain();
        } catch (const std::exception& error) {
            report_cleanup_error(error.what());
        }
    }
    Settled(const Settled&) = delete;
    Settled& operator=(const Settled&) = delete;

  private:
    Session& session_;
};

}  // namespace ftax

// Waiting for another thread, in the styles whose cost is measured.
//
// The problem: "how long until a waiting thread runs again" depends on how it waits by three orders
// of magnitude. Spinning burns a core and answers within a cache-line transfer; a blocked thread
// sleeps in the kernel (a futex on Linux, a condition variable elsewhere) and needs a wake-up and a
// reschedule. Caveat: two spinning threads on one core only ever see each other's last time slice;
// pin them apart.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "system.hpp"

#if FTAX_LINUX
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <condition_variable>
#include <mutex>
#endif

namespace ftax {

enum class Wait { spin, yield, block };

constexpr std::size_t kCacheLine = 128;  // two lines: adjacent-line prefetchers pull pairs

// Tells the core that this is a spin loop: saves power and the sibling thread's issue slots.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Keeps the core from trying out what follows. Behind a spin loop it does so at every turn that it
// guesses to be the last, and each time fetches lines that another core is writing.
inline void end_speculation() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    __asm__ volatile("dsb nsh\n\tisb" ::: "memory");
#endif
}

// A 32-bit counter that one thread advances and others wait on until it leaves a value.
class alignas(kCacheLine) WaitWord {
  public:
    std::uint32_t load() const { return word_.load(std::memory_order_acquire); }

    // Advances without looking for sleepers: only for words nobody blocks on. Like advance(), it
    // returns when others can see it; a mere release store may still be in the store buffer.
    void advance_in_sight() { word_.store(next(), std::memory_order_seq_cst); }

    // Advances and wakes whoever blocks. The sequentially consistent pair (word, sleepers) is
    // Dekker's: either this thread sees the sleeper or the sleeper sees the new word.
    void advance() {
        word_.store(next(), std::memory_order_seq_cst);
        if (sleepers_.load(std::memory_order_seq_cst) != 0) wake();
    }

    // Returns once the word differs from `old`.
    void wait(std::uint32_t old, Wait style) {
        if (style == Wait::block) return block(old);
        while (load() == old) {
            if (style == Wait::yield) {
                std::this_thread::yield();
            } else {
                relax();
            }
        }
    }

  private:
    std::uint32_t next() const { return word_.load(std::memory_order_relaxed) + 1; }

#if FTAX_LINUX
    static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t),
                  "a futex is 32 bits");
    void block(std::uint32_t old) {
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        while (word_.load(std::memory_order_seq_cst) == old) {
            // EAGAIN (the word moved) and EINTR (a signal) both mean: look again.
            syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAIT_PRIVATE, old,
                    nullptr, nullptr, 0);
        }
        sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    }
    void wake() {
        syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAKE_PRIVATE, 1 << 30,
                nullptr, nullptr, 0);
    }
#else
    void block(std::uint32_t old) {
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return word_.load(std::memory_order_seq_cst) != old; });
        sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    }
    void wake() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
        }
        changed_.notify_all();
    }
    std::mutex mutex_;
    std::condition_variable changed_;
#endif

    std::atomic<std::uint32_t> word_{0};
    std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace ftax

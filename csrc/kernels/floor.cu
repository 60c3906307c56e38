// The kernels whose launches are timed, and those that time something from the device's side.
//
// They are shipped as PTX (floor.ptx, made from this file by regenerate.py) of an old version and
// target, so that the driver of any GPU since Maxwell can compile them and no machine needs nvcc.
// Everything here must therefore stay within PTX 6.4 and sm_50: no fence, no nanosleep, no
// cooperative groups. The entries' names and parameters are a contract with csrc/cuda/kernels.hpp
// and with the fake driver of the tests, which knows the kernels by name.
//
// Words that host and device share are host-mapped. They are read and written with volatile
// accesses, which PTX defines as relaxed accesses at system scope: never cached in a register,
// never merged, one transaction each.

namespace {

struct Bytes8 {
    unsigned char bytes[8];
};
struct Bytes64 {
    unsigned char bytes[64];
};
struct Bytes256 {
    unsigned char bytes[256];
};
struct Bytes1024 {
    unsigned char bytes[1024];
};
struct Bytes4096 {
    unsigned char bytes[4096];
};
using Value = unsigned long long;

// ftax_hold writes one of these to *outcome.
constexpr unsigned int kReleased = 1;
constexpr unsigned int kDeadline = 2;

// No word of ours ever holds this; see ftax_round_trip.
constexpr unsigned int kNeverStored = 0xffffffffU;

__device__ unsigned long long global_ns() {
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__device__ unsigned long long cycle_count() {
    unsigned long long cycles;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
    return cycles;
}

__device__ bool is_first_thread() {
    return threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0 && blockIdx.x == 0 &&
           blockIdx.y == 0 && blockIdx.z == 0;
}

}  // namespace

extern "C" {

// Null kernels: what a launch costs when there is nothing to do. One for each number of argument
// bytes; the argument is one structure by value, so that the host passes one pointer whatever its
// size.
__global__ void ftax_null() {}
__global__ void ftax_null_8(Bytes8) {}
__global__ void ftax_null_64(Bytes64) {}
__global__ void ftax_null_256(Bytes256) {}
__global__ void ftax_null_1024(Bytes1024) {}
__global__ void ftax_null_4096(Bytes4096) {}

// Null kernels with many arguments of 8 bytes instead: so many pointers to gather and values to
// convert for whoever launches them. A framework's kernels have some five, fused ones many more.
__global__ void ftax_null_5p(Value, Value, Value, Value, Value) {}
__global__ void ftax_null_19p(Value, Value, Value, Value, Value, Value, Value, Value, Value, Value,
                              Value, Value, Value, Value, Value, Value, Value, Value, Value) {}

// Tells the host that the kernel runs: its first instruction of note is the store. No fence
// follows, since nothing else is published with the word.
__global__ void ftax_store(volatile unsigned int* word, unsigned int value) {
    if (is_first_thread()) *word = value;
}

// Keeps its stream occupied until the host stores `value` to *word, or until the deadline, so that
// a host that died or waits for this stream cannot hang the device. The deadline is counted from
// the kernel's own start, on the device's clock; host and device clocks are never compared.
__global__ void ftax_hold(volatile unsigned int* word, unsigned int value,
                          unsigned long long deadline_ns, volatile unsigned int* outcome) {
    if (!is_first_thread()) return;
    const unsigned long long start = global_ns();
    unsigned int result = kReleased;
    while (*word != value) {
        if (global_ns() - start > deadline_ns) {
            result = kDeadline;
            break;
        }
    }
    *outcome = result;
}

// Runs for a number of SM clock cycles; short and exact, but its time depends on the clock.
__global__ void ftax_spin(unsigned long long cycles) {
    const unsigned long long start = cycle_count();
    while (cycle_count() - start < cycles) {
    }
}

// Runs for a time. %globaltimer advances in steps of up to a microsecond or so: for long spins
// only.
__global__ void ftax_spin_ns(unsigned long long ns) {
    const unsigned long long start = global_ns();
    while (global_ns() - start < ns) {
    }
}

// Reads *word `count` times, one read after the other, and stores the cycles of each read.
//
// A GPU issues a load and goes on; only an instruction that needs the loaded value waits. Reading
// the clock right after the load would thus time the issue. The branch on the value, which is never
// taken, stands between the load and the second clock read and makes it wait for the answer.
//
// total[0] are the cycles of the whole loop and total[1] its nanoseconds: their ratio turns the
// cycles of one read into time, at the clock rate that was in force.
__global__ void ftax_round_trip(volatile unsigned int* word, unsigned int count,
                                unsigned long long* cycles, unsigned long long* total) {
    if (!is_first_thread()) return;
    const unsigned long long start_ns = global_ns();
    const unsigned long long start = cycle_count();
    for (unsigned int i = 0; i < count; ++i) {
        const unsigned long long before = cycle_count();
        if (*word == kNeverStored) break;
        const unsigned long long after = cycle_count();
        cycles[i] = after - before;
    }
    total[0] = cycle_count() - start;
    total[1] = global_ns() - start_ns;
}

}  // extern "C"

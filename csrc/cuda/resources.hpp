// Owners of what lives in a context: each allocates in its constructor, frees in its destructor.
//
// A destructor reports what fails and never throws; in an abandoned context or a forked child it
// does nothing (see context.hpp). None of these is moved: a resource stays where it was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/context.hpp"

namespace ftax {

class Resource {
  public:
    Resource(const Resource&) = delete;
    Resource& operator=(const Resource&) = delete;

  protected:
    explicit Resource(const Context& context) : context_(context) {}
    ~Resource() = default;
    const Driver& driver() const { return context_.driver(); }
    const Context& context_;
};

// A stream that does not synchronise with the legacy default stream.
class Stream : public Resource {
  public:
    explicit Stream(const Context& context);
    ~Stream();
    CUstream get() const { return handle_; }

  private:
    CUstream handle_ = nullptr;
};

// An event without timestamps, which would cost the device extra work.
class Event : public Resource {
  public:
    explicit Event(const Context& context);
    ~Event();
    CUevent get() const { return handle_; }

  private:
    CUevent handle_ = nullptr;
};

class DeviceMemory : public Resource {
  public:
    DeviceMemory(const Context& context, std::size_t bytes);
    ~DeviceMemory();
    CUdeviceptr get() const { return address_; }

  private:
    CUdeviceptr address_ = 0;
};

// Pinned host memory that the device reads and writes in place, as 32-bit words that each have a
// cache line of their own: host and device polling neighbouring words would otherwise disturb each
// other.
class HostWords : public Resource {
  public:
    HostWords(const Context& context, std::size_t count);
    ~HostWords();
    std::uint32_t* host(std::size_t index) const { return base_ + index * kStride; }
    CUdeviceptr device(std::size_t index) const {
        return device_base_ + index * kStride * sizeof(std::uint32_t);
    }
    // Acquire and release: what the other side wrote before its store is seen after our load.
    std::uint32_t load(std::size_t index) const {
        return __atomic_load_n(host(index), __ATOMIC_ACQUIRE);
    }
    void store(std::size_t index, std::uint32_t value) const {
        __atomic_store_n(host(index), value, __ATOMIC_RELEASE);
    }

  private:
    static constexpr std::size_t kStride =
        32;  // words in 128 bytes: two lines, as prefetchers pair
    std::uint32_t* base_ = nullptr;
    CUdeviceptr device_base_ = 0;
};

// A module from PTX text or a cubin image; the compiler's log is in the error's text.
class Module : public Resource {
  public:
    Module(const Context& context, const void* image);
    ~Module();
    CUfunction function(const char* name) const;

  private:
    CUmodule handle_ = nullptr;
};

// What the driver's compiler makes of PTX text; loading it needs no compiler.
struct Cubin {
    std::vector<char> image;
    double link_s;  // cuLinkCreate, cuLinkAddData and cuLinkComplete
};

// Compiles PTX text for this device.
Cubin link_cubin(const Context& context, const char* ptx);

}  // namespace ftax

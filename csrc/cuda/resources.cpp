#include "cuda/resources.hpp"

#include <array>
#include <cstring>

namespace ftax {
namespace {

// Options that make the driver's compiler say what it dislikes.
class JitLog {
  public:
    unsigned int count() const { return static_cast<unsigned int>(options_.size()); }
    CUjit_option* options() { return options_.data(); }
    void** values() { return values_.data(); }
    std::string text() const { return log_.data(); }

  private:
    std::array<char, 4096> log_{};
    std::array<CUjit_option, 2> options_ = {CU_JIT_ERROR_LOG_BUFFER,
                                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    // The driver takes the size as a pointer's value, and writes the used size back there.
    std::array<void*, 2> values_ = {log_.data(), reinterpret_cast<void*>(log_.size() - 1)};
};

class Linker : public Resource {
  public:
    explicit Linker(const Context& context) : Resource(context) {
        driver().link_create(log_.count(), log_.options(), log_.values(), &handle_);
    }
    ~Linker() { context_.clean_up(driver().link_destroy, handle_); }

    void add(const char* ptx) {
        // The interface takes a non-const pointer and does not write through it.
        const CUresult status =
            driver().link_add_data.get()(handle_, CU_JIT_INPUT_PTX, const_cast<char*>(ptx),
                                         std::strlen(ptx) + 1, "ftax_micro", 0, nullptr, nullptr);
        driver().check(status, driver().link_add_data.symbol(), log_.text());
    }
    std::vector<char> complete() {
        void* cubin = nullptr;  // the linker's own
        std::size_t bytes = 0;
        const CUresult status = driver().link_complete.get()(handle_, &cubin, &bytes);
        driver().check(status, driver().link_complete.symbol(), log_.text());
        const char* const first = static_cast<const char*>(cubin);
        return {first, first + bytes};
    }

  private:
    JitLog log_;  // outlives the linker, which writes to it
    CUlinkState handle_ = nullptr;
};

}  // namespace

Stream::Stream(const Context& context) : Resource(context) {
    driver().stream_create(&handle_, static_cast<unsigned int>(CU_STREAM_NON_BLOCKING));
}

Stream::~Stream() { context_.clean_up(driver().stream_destroy, handle_); }

Event::Event(const Context& context) : Resource(context) {
    driver().event_create(&handle_, static_cast<unsigned int>(CU_EVENT_DISABLE_TIMING));
}

Event::~Event() { context_.clean_up(driver().event_destroy, handle_); }

DeviceMemory::DeviceMemory(const Context& context, std::size_t bytes) : Resource(context) {
    driver().mem_alloc(&address_, bytes);
}

DeviceMemory::~DeviceMemory() { context_.clean_up(driver().mem_free, address_); }

HostWords::HostWords(const Context& context, std::size_t count) : Resource(context) {
    const std::size_t bytes = count * kStride * sizeof(std::uint32_t);
    void* memory = nullptr;
    driver().mem_host_alloc(
        &memory, bytes,
        static_cast<unsigned int>(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    base_ = static_cast<std::uint32_t*>(memory);
    std::memset(memory, 0, bytes);
    const CUresult status = driver().mem_host_get_device_pointer.get()(&device_base_, memory, 0);
    if (status != CUDA_SUCCESS) {  // no destructor runs for what was not constructed
        context_.clean_up(driver().mem_free_host, memory);
        driver().check(status, driver().mem_host_get_device_pointer.symbol());
    }
}

HostWords::~HostWords() { context_.clean_up(driver().mem_free_host, static_cast<void*>(base_)); }

Module::Module(const Context& context, const void* image) : Resource(context) {
    JitLog log;
    const CUresult status = driver().module_load_data_ex.get()(&handle_, image, log.count(),
                                                               log.options(), log.values());
    driver().check(status, driver().module_load_data_ex.symbol(), log.text());
}

Module::~Module() { context_.clean_up(driver().module_unload, handle_); }

CUfunction Module::function(const char* name) const {
    CUfunction function = nullptr;
    driver().module_get_function(&function, handle_, name);
    return function;
}

std::vector<char> link_cubin(const Context& context, const char* ptx) {
    const MakeCurrent current(context);
    Linker linker(context);
    linker.add(ptx);
    return linker.complete();
}

}  // namespace ftax

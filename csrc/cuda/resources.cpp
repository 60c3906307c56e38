#include "cuda/resources.hpp"

#include <array>
#include <cstring>

#include "clock.hpp"

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
    explicit Linker(const Context& context) : Resource(context) {}
    ~Linker() {
        if (handle_ != nullptr) context_.clean_up(driver().link_destroy, handle_);
    }
    // Once only; the three calls are timed together.
    Cubin link(const char* ptx) {
        const auto create = driver().link_create.get();
        const auto add = driver().link_add_data.get();
        const auto complete = driver().link_complete.get();
        const std::size_t length = std::strlen(ptx) + 1;
        void* const text = const_cast<char*>(ptx);  // the driver does not write to it
        void* cubin = nullptr;                      // the linker's own
        std::size_t bytes = 0;
        const char* symbol = driver().link_create.symbol();

        const std::int64_t begin = now_ns();
        CUresult status = create(log_.count(), log_.options(), log_.values(), &handle_);
        if (status == CUDA_SUCCESS) {
            symbol = driver().link_add_data.symbol();
            status =
                add(handle_, CU_JIT_INPUT_PTX, text, length, "ftax_micro", 0, nullptr, nullptr);
        }
        if (status == CUDA_SUCCESS) {
            symbol = driver().link_complete.symbol();
            status = complete(handle_, &cubin, &bytes);
        }
        const std::int64_t end = now_ns();

        driver().check(status, symbol, log_.text());
        const char* const first = static_cast<const char*>(cubin);
        return {{first, first + bytes}, seconds(end - begin)};
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

Cubin link_cubin(const Context& context, const char* ptx) {
    const MakeCurrent current(context);
    return Linker(context).link(ptx);
}

}  // namespace ftax

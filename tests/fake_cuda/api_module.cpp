// Modules from PTX or from what the fake linker made of it, functions, and the linker.
#include <cstdio>
#include <cstring>

#include "call.hpp"

namespace fake {
namespace {

// A fake cubin is this, then the PTX it was made of, then a zero.
const char kCubin[] =
    "\x7f"
    "ELF fake\n";
constexpr std::size_t kCubinBytes = sizeof kCubin - 1;

bool is_cubin(const char* image) { return std::strncmp(image, kCubin, kCubinBytes) == 0; }

// The newest PTX a driver reads, by its version: 11.4 reads 7.4, 12.0 reads 8.0, 13.0 reads 9.0.
int newest_ptx() {
    const auto version = static_cast<int>(config().driver_version);
    return (version / 1000 - 4) * 10 + version % 1000 / 10;
}

CUresult compile(const std::string& ptx, std::string& log) {
    if (ptx_number(ptx, ".version") == 0 || ptx_number(ptx, ".target") == 0) {
        log = "fake ptxas: .version and .target are missing";
        return CUDA_ERROR_INVALID_PTX;
    }
    if (ptx_number(ptx, ".version") > newest_ptx()) {
        log = "fake ptxas: unsupported .version";
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    if (ptx_number(ptx, ".target") > config().cc) {
        log = "fake ptxas: .target is higher than the device";
        return CUDA_ERROR_INVALID_PTX;
    }
    return CUDA_SUCCESS;
}

// Options come as a list of names and a list of values cast to pointers.
// As the real driver does, the size becomes what was used.
void write_log(const std::string& log, unsigned count, const CUjit_option* names, void** values) {
    char* buffer = nullptr;
    std::size_t bytes = 0;
    for (unsigned i = 0; i < count; ++i) {
        if (names[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = static_cast<char*>(values[i]);
        if (names[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            bytes = reinterpret_cast<std::uintptr_t>(values[i]);
            values[i] = reinterpret_cast<void*>(log.size());
        }
    }
    if (buffer != nullptr && bytes > 0) std::snprintf(buffer, bytes, "%s", log.c_str());
}

CUresult load(Call& call, CUmodule* out, const void* image, const char* kind, unsigned count,
              const CUjit_option* names, void** values) {
    call.must_not_be_held();
    const CUresult refused = refuse_while_capturing(call);
    if (refused != CUDA_SUCCESS) return refused;
    if (image == nullptr || out == nullptr) {
        return call.misuse(CUDA_ERROR_INVALID_VALUE, "null pointer");
    }
    const auto* text = static_cast<const char*>(image);
    const bool compiled = is_cubin(text);
    const std::string ptx = compiled ? text + kCubinBytes : text;
    std::string log;
    call.costs(config().module_load_ns + (compiled ? 0 : config().jit_ns.load()) +
               (lazy_loading() ? 0 : config().first_launch_ns.load()));
    const CUresult result = compile(ptx, log);
    write_log(log, count, names, values);
    if (result != CUDA_SUCCESS) return result;
    auto module = std::make_shared<Module>(kind);
    module->entries = parse_ptx(ptx);
    state().add(module, call.context());
    *out = as_handle<CUmodule>(module);
    return CUDA_SUCCESS;
}

CUresult unload(Call& call, CUmodule handle) {
    CUresult error = CUDA_SUCCESS;
    const auto module = call.take<Module>(handle, "module", error);
    if (module == nullptr) return error;
    call.must_not_be_held();
    call.drain(*call.context());
    call.costs(config().module_unload_ns);
    module->loaded = false;
    for (const auto& [name, function] : module->functions) state().objects.erase(function->handle);
    module->functions.clear();
    state().objects.erase(module->handle);
    return CUDA_SUCCESS;
}

CUresult get_function(Call& call, CUfunction* out, CUmodule handle, const char* name) {
    CUresult error = CUDA_SUCCESS;
    const auto module = call.take<Module>(handle, "module", error);
    if (module == nullptr) return error;
    std::shared_ptr<Function>& function = module->functions[name];
    if (function == nullptr) {
        auto made = std::make_shared<Function>();
        Parameters expected;
        const auto entry = module->entries.find(name);
        if (entry == module->entries.end() || !find_kernel(name, made->kernel, expected)) {
            module->functions.erase(name);
            return CUDA_ERROR_NOT_FOUND;
        }
        if (entry->second != expected) {
            module->functions.erase(name);
            return call.misuse(CUDA_ERROR_NOT_FOUND,
                               std::string(name) + " has other parameters than the contract says");
        }
        made->name = name;
        made->parameters = expected;
        made->module = module;
        made->loaded = !lazy_loading();  // then its module brought it
        state().add(made, call.context());
        function = made;
    }
    *out = as_handle<CUfunction>(function);
    return CUDA_SUCCESS;
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return api("cuModuleLoadData", kInit | kContext, [&](Call& call) {
        return load(call, module, image, "module", 0, nullptr, nullptr);
    });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                            CUjit_option* names, void** values) {
    return api("cuModuleLoadDataEx", kInit | kContext, [&](Call& call) {
        return load(call, module, image, "module", count, names, values);
    });
}

CUresult cuModuleUnload(CUmodule module) {
    return api("cuModuleUnload", kInit | kContext | kRelease,
               [&](Call& call) { return unload(call, module); });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    return api("cuModuleGetFunction", kInit | kContext,
               [&](Call& call) { return get_function(call, function, module, name); });
}

// For the fake runtime, whose libraries are modules of the driver.
CUresult fake_cuda_runtime_load(CUmodule* module, const void* image) {
    return api("fake_cuda_runtime_load", kInit | kContext, [&](Call& call) {
        return load(call, module, image, "runtime library", 0, nullptr, nullptr);
    });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    return api("cuModuleGetLoadingMode", kInit, [&](Call&) {
        *mode = lazy_loading() ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
        return CUDA_SUCCESS;
    });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction handle) {
    return api("cuFuncGetAttribute", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto function = call.take<Function>(handle, "function", error);
        if (function == nullptr) return error;
        const auto cc = static_cast<int>(config().cc);
        *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
                 : which == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 8
                 : which == CU_FUNC_ATTRIBUTE_BINARY_VERSION      ? cc
                 : which == CU_FUNC_ATTRIBUTE_PTX_VERSION         ? 64
                                                                  : 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuFuncLoad(CUfunction handle) {
    return api("cuFuncLoad", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto function = call.take<Function>(handle, "function", error);
        if (function == nullptr) return error;
        call.must_not_be_held();
        if (!function->loaded) call.costs(config().first_launch_ns);
        function->loaded = true;
        return CUDA_SUCCESS;
    });
}

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* names, void** values, CUlinkState* out) {
    return api("cuLinkCreate_v2", kInit | kContext, [&](Call& call) {
        call.must_not_be_held();
        auto linker = std::make_shared<Linker>();
        linker->options = count;
        linker->names = names;
        linker->values = values;
        state().add(linker, call.context());
        *out = as_handle<CUlinkState>(linker);
        return CUDA_SUCCESS;
    });
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data, std::size_t bytes,
                          const char*, unsigned, CUjit_option*, void**) {
    return api("cuLinkAddData_v2", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto linker = call.take<Linker>(handle, "link", error);
        if (linker == nullptr) return error;
        call.must_not_be_held();
        if (type != CU_JIT_INPUT_PTX) return CUDA_ERROR_INVALID_VALUE;
        const std::string ptx(static_cast<const char*>(data), bytes);
        std::string log;
        call.costs(config().jit_ns);
        const CUresult result = compile(ptx, log);
        write_log(log, linker->options, linker->names, linker->values);
        if (result != CUDA_SUCCESS) return result;
        linker->ptx += ptx.c_str();  // up to its terminating zero
        return CUDA_SUCCESS;
    });
}

CUresult cuLinkComplete(CUlinkState handle, void** image, std::size_t* bytes) {
    return api("cuLinkComplete", kInit | kContext, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto linker = call.take<Linker>(handle, "link", error);
        if (linker == nullptr) return error;
        linker->cubin.assign(kCubin, kCubin + kCubinBytes);
        linker->cubin.insert(linker->cubin.end(), linker->ptx.begin(), linker->ptx.end());
        linker->cubin.push_back('\0');
        *image = linker->cubin.data();
        if (bytes != nullptr) *bytes = linker->cubin.size();
        return CUDA_SUCCESS;
    });
}

// Takes the image with it, as documented: it must have been copied or loaded before.
CUresult cuLinkDestroy(CUlinkState handle) {
    return api("cuLinkDestroy", kInit | kContext | kRelease, [&](Call& call) {
        CUresult error = CUDA_SUCCESS;
        const auto linker = call.take<Linker>(handle, "link", error);
        if (linker != nullptr) state().objects.erase(linker->handle);
        return error;
    });
}

}  // extern "C"

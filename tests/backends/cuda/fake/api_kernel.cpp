// The fake driver's calls: kernels. A module is the text that it was loaded from; a kernel is known
// by its name, and what those of Tidemark and its tests do is done here by hand.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tests/backends/cuda/fake/fake_call.h"
#include "tests/backends/cuda/fake/fake_kernels.h"
#include "tests/backends/cuda/fake/fake_queue.h"

namespace tidemark::cuda {

using fake::as_handle;
using fake::as_id;
using fake::call;
using fake::current_context;
using fake::kContext;
using fake::state;
using fake::this_thread;

namespace {

// Does the PTX text have such an entry?
bool has_entry(std::string_view text, std::string_view name) {
    constexpr std::string_view kEntry = ".entry";
    for (std::size_t at = text.find(kEntry); at != std::string_view::npos;
         at = text.find(kEntry, at + 1)) {
        std::string_view rest = text.substr(at + kEntry.size());
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t\n"), rest.size()));
        if (rest.starts_with(name) && rest.find_first_of(" (\n\t") == name.size())
            return true;
    }
    return false;
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return call("cuModuleLoadData", kContext, [&] {
        const std::string_view text(static_cast<const char*>(image));
        if (text.find(".version") == std::string_view::npos ||
            text.find(".target") == std::string_view::npos)
            return CUresult::invalid_ptx;
        const std::uint64_t id = state().new_id();
        state().modules.emplace(id, fake::Module{this_thread().contexts.back(), std::string(text)});
        *module = as_handle<CUmodule>(id);
        return CUresult::success;
    });
}

CUresult cuModuleUnload(CUmodule module) {
    return call("cuModuleUnload", kContext, [&] {
        const std::uint64_t id = as_id(module);
        if (!state().modules.contains(id))
            return CUresult::invalid_handle;
        fake::finish_all(0);
        std::erase_if(state().functions,
                      [&](const auto& each) { return each.second.module == id; });
        state().modules.erase(id);
        return CUresult::success;
    });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    return call("cuModuleGetFunction", kContext, [&] {
        const auto found = state().modules.find(as_id(module));
        if (found == state().modules.end())
            return CUresult::invalid_handle;
        if (!has_entry(found->second.text, name))
            return CUresult::not_found;
        const std::uint64_t id = state().new_id();
        state().functions.emplace(id, fake::Function{found->first, name});
        *function = as_handle<CUfunction>(id);
        return CUresult::success;
    });
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z,
                        unsigned /*shared_bytes*/, CUstream handle, void** parameters,
                        void** /*extra*/) {
    return call("cuLaunchKernel", kContext, [&] {
        std::uint64_t id = 0;
        const auto found = state().functions.find(as_id(function));
        if (found == state().functions.end() || fake::find_stream(handle, id) == nullptr)
            return CUresult::invalid_handle;
        const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
        if (std::uint64_t{grid_x} * grid_y * grid_z == 0 || threads == 0 || threads > 1024)
            return CUresult::invalid_value;
        auto work = fake::kernel_work(found->second.name, parameters, current_context()->device);
        if (!work)
            return CUresult::not_supported;
        return fake::enqueue(id, {std::move(work), {}});
    });
}

}  // namespace tidemark::cuda

// The fake driver's calls: contexts. A context that is gone, or none, is noticed by every call that
// needs one.
#include "tests/backends/cuda/fake/fake_call.h"
#include "tests/backends/cuda/fake/fake_pool.h"
#include "tests/backends/cuda/fake/fake_queue.h"

namespace tidemark::cuda {

using fake::as_handle;
using fake::as_id;
using fake::call;
using fake::Context;
using fake::current_context;
using fake::kContext;
using fake::kNothing;
using fake::kStarted;
using fake::state;
using fake::this_thread;

namespace {

std::uint64_t make_context(int device, bool primary) {
    const std::uint64_t id = state().new_id();
    const std::uint64_t stream = state().new_id();
    state().contexts.emplace(
        id, Context{.device = device, .primary = primary, .default_stream = stream});
    fake::Stream first;
    first.context = id;
    state().streams.emplace(stream, std::move(first));
    return id;
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    return call("cuDevicePrimaryCtxRetain", kStarted, [&] {
        if (!state().has_device(device))
            return CUresult::invalid_device;
        fake::Device& found = state().devices[static_cast<std::size_t>(device)];
        if (found.lost != CUresult::success)
            return found.lost;
        std::uint64_t& primary = found.context;
        if (primary == 0)
            primary = make_context(device, true);
        ++state().contexts.at(primary).retained;
        *context = as_handle<CUcontext>(primary);
        return CUresult::success;
    });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return call("cuDevicePrimaryCtxRelease_v2", kStarted, [&] {
        if (!state().has_device(device))
            return CUresult::invalid_device;
        const std::uint64_t primary = state().devices[static_cast<std::size_t>(device)].context;
        if (primary == 0)
            return CUresult::invalid_context;
        if (--state().contexts.at(primary).retained == 0)
            fake::destroy_context(primary, true);
        return CUresult::success;
    });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return call("cuDevicePrimaryCtxReset_v2", kStarted, [&] {
        if (!state().has_device(device))
            return CUresult::invalid_device;
        fake::destroy_context(state().devices[static_cast<std::size_t>(device)].context, false);
        return CUresult::success;
    });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    return call("cuDevicePrimaryCtxGetState", kStarted, [&] {
        if (!state().has_device(device))
            return CUresult::invalid_device;
        *flags = 0;
        *active = state().devices[static_cast<std::size_t>(device)].context == 0 ? 0 : 1;
        return CUresult::success;
    });
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned /*flags*/, CUdevice device) {
    return call("cuCtxCreate_v2", kStarted, [&] {
        if (!state().has_device(device))
            return CUresult::invalid_device;
        const std::uint64_t made = make_context(device, false);
        this_thread().contexts.push_back(made);
        *context = as_handle<CUcontext>(made);
        return CUresult::success;
    });
}

CUresult cuCtxDestroy_v2(CUcontext context) {
    return call("cuCtxDestroy_v2", kStarted, [&] {
        const auto found = state().contexts.find(as_id(context));
        if (found == state().contexts.end() || found->second.primary)
            return CUresult::invalid_context;
        fake::destroy_context(found->first, true);
        return CUresult::success;
    });
}

CUresult cuCtxGetDevice(CUdevice* device) {
    return call("cuCtxGetDevice", kContext, [&] {
        *device = current_context()->device;
        return CUresult::success;
    });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
    return call("cuCtxGetCurrent", kStarted, [&] {
        const auto& contexts = this_thread().contexts;
        *context = contexts.empty() ? nullptr : as_handle<CUcontext>(contexts.back());
        return CUresult::success;
    });
}

CUresult cuCtxSetCurrent(CUcontext context) {
    return call("cuCtxSetCurrent", kStarted, [&] {
        auto& contexts = this_thread().contexts;
        if (context != nullptr && !state().contexts.contains(as_id(context)) &&
            !state().past_primaries.contains(as_id(context)))
            return CUresult::invalid_context;
        if (!contexts.empty())
            contexts.pop_back();
        if (context != nullptr)
            contexts.push_back(as_id(context));
        return CUresult::success;
    });
}

CUresult cuCtxSynchronize() {
    return call("cuCtxSynchronize", kContext, [&] {
        if (fake::spoil_all_captures())  // relaxed ones as well
            return CUresult::stream_capture_unsupported;
        fake::finish_all(this_thread().contexts.back());
        return fake::after_waiting(*current_context());
    });
}

}  // namespace tidemark::cuda

// CudaContext and CudaCall: entering and leaving the primary context, counting, and the text of
// errors.
#include "backends/cuda/cuda_context.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/cuda/errors.h"

namespace tidemark {
namespace {

using cuda::CUresult;

// Adds to a plain counter that other threads add to as well.
template <class T>
void add(T& counter, T amount) {
    __atomic_fetch_add(&counter, amount, __ATOMIC_RELAXED);
}

std::string to_text(const CudaArgument& argument) {
    switch (argument.form) {
        case CudaArgument::Form::number:
            return std::to_string(argument.value);
        case CudaArgument::Form::address:
            return argument.value == 0 ? "null" : fmt::format("{:#x}", argument.value);
        case CudaArgument::Form::output:
            return argument.value == 0 ? "null" : "&";
    }
    return "";
}

std::string call_text(const CudaRefusal& refusal) {
    std::string text = refusal.function;
    text += '(';
    for (std::size_t i = 0; i < refusal.argument_count; ++i) {
        if (i > 0)
            text += ", ";
        text += to_text(refusal.arguments[i]);
    }
    return text + ')';
}

bool same(const DeviceError& a, const DeviceError& b) {
    return a.status == b.status && a.call == b.call && a.native_code == b.native_code;
}

}  // namespace

Result<std::unique_ptr<CudaContext>> CudaContext::open(const CudaDriver& driver, int ordinal,
                                                       bool track_memory) {
    std::unique_ptr<CudaContext> context{new CudaContext(driver, ordinal, track_memory)};
    const char* function = driver.cuDeviceGet.name();
    CUresult code = driver.cuDeviceGet(&context->device_, ordinal);
    if (code == CUresult::success) {
        function = driver.cuDevicePrimaryCtxRetain.name();
        code = driver.cuDevicePrimaryCtxRetain(&context->native_, context->device_);
    }
    if (code != CUresult::success)
        return fail(ErrorCode::driver,
                    fmt::format("{} says {} ({}): {}", function, driver.error_name(code),
                                static_cast<int>(code), driver.error_text(code)),
                    fmt::format("cuda:{}", ordinal), std::string{hint_for(code)});
    const CudaCurrent current{*context};
    context->note_free_memory();
    return context;
}

CudaContext::~CudaContext() {
    if (native_ != nullptr)
        static_cast<void>(driver_.cuDevicePrimaryCtxRelease_v2(device_));
}

DeviceError CudaContext::remember(const CudaRefusal& refusal) {
    const auto code = static_cast<CUresult>(refusal.error.native_code);
    if (refusal.error.status == DeviceStatus::lost) {
        CUresult alive = CUresult::success;  // the first error is the informative one
        lost_.compare_exchange_strong(alive, code, std::memory_order_relaxed);
    }
    const std::lock_guard lock{mutex_};
    refusals_[refusal_count_++ % kRefusalsKept] = refusal;
    return refusal.error;
}

Error CudaContext::explain(const DeviceError& error) const {
    Error text = to_error(error);
    text.where = fmt::format("cuda:{}", ordinal_);
    const auto code = static_cast<CUresult>(error.native_code);
    std::string driver_says;
    if (error.native_code != 0) {
        driver_says = fmt::format("{} ({}): {}", driver_.error_name(code), error.native_code,
                                  driver_.error_text(code));
        text.what =
            fmt::format("{}: {}: {}", to_text(error.call), to_text(error.status), driver_says);
        if (const std::string_view hint = hint_for(code); !hint.empty())
            text.hint = hint;
    }
    const std::lock_guard lock{mutex_};
    const std::size_t kept = std::min(refusal_count_, kRefusalsKept);
    for (std::size_t i = 1; i <= kept; ++i) {
        const CudaRefusal& refusal = refusals_[(refusal_count_ - i) % kRefusalsKept];
        if (!same(refusal.error, error))
            continue;
        if (refusal.function != nullptr)
            text.what = fmt::format("{}: {}: {} returned {}", to_text(error.call),
                                    to_text(error.status), call_text(refusal), driver_says);
        else if (refusal.reason != nullptr)
            text.what =
                fmt::format("{}: {}: {}{}{}", to_text(error.call), to_text(error.status),
                            refusal.reason, driver_says.empty() ? "" : ", by ", driver_says);
        break;
    }
    return text;
}

void CudaContext::count(DeviceCall call, Nanoseconds elapsed, Nanoseconds stalled) {
    const auto index = static_cast<std::size_t>(call);
    add(counters_.calls[index], std::uint64_t{1});
    add(counters_.call_ns[index], elapsed - stalled);
    if (stalled != 0)
        add(counters_.stall_ns, stalled);
}

void CudaContext::count_copied(Bytes to_host, Bytes to_device, Bytes on_device) {
    add(counters_.copied_to_host, to_host);
    add(counters_.copied_to_device, to_device);
    add(counters_.copied_on_device, on_device);
}

void CudaContext::note_free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    if (!track_memory_ || driver_.cuMemGetInfo_v2(&free, &total) != CUresult::success)
        return;
    Bytes lowest = lowest_free_.load(std::memory_order_relaxed);
    while ((lowest == 0 || free < lowest) &&
           !lowest_free_.compare_exchange_weak(lowest, free, std::memory_order_relaxed)) {
    }
}

CudaCurrent::CudaCurrent(const CudaContext& context)
    : context_(context), code_(context.driver().cuCtxGetCurrent(&previous_)) {
    if (code_ != CUresult::success || previous_ == context.native())
        return;
    code_ = context.driver().cuCtxSetCurrent(context.native());
    changed_ = code_ == CUresult::success;
}

CudaCurrent::~CudaCurrent() {
    if (changed_)
        static_cast<void>(context_.driver().cuCtxSetCurrent(previous_));
}

CudaCall::~CudaCall() {
    if (counted_)
        context_.count(call_, watch_.elapsed(), stalled_);
    if (grew_)
        context_.note_free_memory();
    if (relaxed_)
        static_cast<void>(driver().cuThreadExchangeStreamCaptureMode(&previous_mode_));
}

tl::unexpected<DeviceError> CudaCall::refuse(DeviceStatus status, const char* reason) {
    CudaRefusal refusal;
    refusal.error = {status, call_, 0};
    refusal.reason = reason;
    return tl::make_unexpected(context_.remember(refusal));
}

tl::unexpected<DeviceError> CudaCall::refused(CUresult code, const char* function,
                                              std::initializer_list<CudaArgument> arguments) {
    CudaRefusal refusal;
    refusal.error = {to_status(code, call_), call_, static_cast<std::int32_t>(code)};
    if (context_.lost() == CUresult::success && entry_ != CUresult::success) {
        refusal.function = "cuCtxSetCurrent";  // the function itself was not called
        refusal.arguments[0] = argument(context_.native());
        refusal.argument_count = 1;
    } else if (context_.lost() == CUresult::success) {
        refusal.function = function;
        refusal.argument_count = std::min(arguments.size(), refusal.arguments.size());
        std::copy_n(arguments.begin(), refusal.argument_count, refusal.arguments.begin());
    } else {
        refusal.error.status = DeviceStatus::lost;
        refusal.reason = "the device was lost before this call";
    }
    return tl::make_unexpected(context_.remember(refusal));
}

void CudaCall::relax() {
    if (relaxed_ || !driver().cuThreadExchangeStreamCaptureMode)
        return;
    relaxed_ =
        ask(driver().cuThreadExchangeStreamCaptureMode, &previous_mode_) == CUresult::success;
}

}  // namespace tidemark

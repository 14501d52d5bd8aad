// CudaContext: a device's primary context, what calls on it cost, and what failed. CudaCall: one
// call of a Device on its way through the driver. It makes the context current and restores the
// previous one, measures the time, and turns the driver's code into a DeviceError.
//
// Thread-safety: CudaContext is safe from any thread; a CudaCall belongs to one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <vector>

#include "backends/cuda/driver.h"
#include "core/base/result.h"
#include "core/base/stopwatch.h"
#include "core/device/device.h"

namespace tidemark {

// An address in the driver's type.
inline cuda::CUdeviceptr device_pointer(Address address) {
    return to_integer(address);
}

// An argument of a driver call, kept for the text of an error.
struct CudaArgument {
    enum class Form : std::uint8_t { number, address, output };

    std::uint64_t value = 0;
    Form form = Form::number;
};

// The last errors of a device, so that explain() can name the arguments. Fixed size, no heap.
struct CudaRefusal {
    static constexpr std::size_t kArgumentsMax = 11;

    DeviceError error;
    const char* function = nullptr;  // of the driver; null if we refused before calling it
    const char* reason = nullptr;    // why, in that case
    std::array<CudaArgument, kArgumentsMax> arguments;
    std::size_t argument_count = 0;
};

class CudaContext {
  public:
    // Retains the primary context of device `ordinal`; `track_memory` as in CudaConfig.
    static Result<std::unique_ptr<CudaContext>> open(const CudaDriver& driver, int ordinal,
                                                     bool track_memory);

    CudaContext(const CudaContext&) = delete;
    CudaContext& operator=(const CudaContext&) = delete;

    // Releases the context; ignores a driver that is broken or shutting down.
    ~CudaContext();

    const CudaDriver& driver() const { return driver_; }

    cuda::CUcontext native() const { return native_; }

    int ordinal() const { return ordinal_; }

    // Since the context was opened, on the steady clock.
    Nanoseconds now() const { return started_.elapsed(); }

    const DeviceCounters& counters() const { return counters_; }

    // The code of the sticky error that ended this context; success while it works.
    cuda::CUresult lost() const { return lost_.load(std::memory_order_relaxed); }

    Bytes lowest_free() const { return lowest_free_.load(std::memory_order_relaxed); }

    // The details of the error, if it is one of the last.
    Error explain(const DeviceError& error) const;

    // For CudaCall. Each is safe from any thread.
    DeviceError remember(const CudaRefusal& refusal);
    void count(DeviceCall call, Nanoseconds elapsed, Nanoseconds stalled);
    void count_copied(Bytes to_host, Bytes to_device, Bytes on_device);
    void note_free_memory();

  private:
    static constexpr std::size_t kRefusalsKept = 32;

    CudaContext(const CudaDriver& driver, int ordinal, bool track_memory)
        : driver_(driver), ordinal_(ordinal), track_memory_(track_memory) {}

    const CudaDriver& driver_;
    int ordinal_;
    bool track_memory_;
    cuda::CUdevice device_ = 0;
    cuda::CUcontext native_ = nullptr;
    Stopwatch started_;
    DeviceCounters counters_;
    std::atomic<cuda::CUresult> lost_{cuda::CUresult::success};
    std::atomic<Bytes> lowest_free_{0};

    mutable std::mutex mutex_;  // guards what follows
    std::array<CudaRefusal, kRefusalsKept> refusals_;
    std::size_t refusal_count_ = 0;
};

// Makes `context` current on this thread as long as it exists, then restores the previous one.
// Costs one driver call of about ten nanoseconds if it is current already.
class CudaCurrent {
  public:
    explicit CudaCurrent(const CudaContext& context);
    CudaCurrent(const CudaCurrent&) = delete;
    CudaCurrent& operator=(const CudaCurrent&) = delete;
    ~CudaCurrent();

    // Why it could not be made current, or success.
    cuda::CUresult code() const { return code_; }

  private:
    const CudaContext& context_;
    cuda::CUcontext previous_ = nullptr;
    bool changed_ = false;
    cuda::CUresult code_;
};

class CudaCall {
  public:
    // Counts one `call` that lasts until this object is destroyed.
    CudaCall(CudaContext& context, DeviceCall call) : context_(context), call_(call) {}

    CudaCall(const CudaCall&) = delete;
    CudaCall& operator=(const CudaCall&) = delete;
    ~CudaCall();

    const CudaDriver& driver() const { return context_.driver(); }

    // Calls the driver. An error is remembered with its arguments. Once the context is lost, the
    // driver is no longer called.
    template <class... Parameters, class... Arguments>
    DeviceResult<void> make(const CudaSymbol<cuda::CUresult(Parameters...)>& symbol,
                            Arguments... arguments) {
        const cuda::CUresult code = ask(symbol, arguments...);
        if (code == cuda::CUresult::success) [[likely]]
            return {};
        return refused(code, symbol.name(), {argument(arguments)...});
    }

    // As `make`, but returns the driver's code, for calls whose refusal is an ordinary answer.
    template <class... Parameters, class... Arguments>
    cuda::CUresult ask(const CudaSymbol<cuda::CUresult(Parameters...)>& symbol,
                       Arguments... arguments) const {
        if (entry_ != cuda::CUresult::success) [[unlikely]]
            return entry_;
        return symbol(arguments...);
    }

    // As `make`, for a function that waits for queued work: its time is a stall.
    template <class... Parameters, class... Arguments>
    DeviceResult<void> make_waiting(const CudaSymbol<cuda::CUresult(Parameters...)>& symbol,
                                    Arguments... arguments) {
        const Nanoseconds begin = watch_.elapsed();
        const DeviceResult<void> done = make(symbol, arguments...);
        stalled_ += watch_.elapsed() - begin;
        return done;
    }

    // An error by us, before the driver is called. `reason` is a literal.
    tl::unexpected<DeviceError> refuse(DeviceStatus status, const char* reason);

    // The error for `code` of `function`, remembered with its arguments.
    tl::unexpected<DeviceError> refused(cuda::CUresult code, const char* function,
                                        std::initializer_list<CudaArgument> arguments);

    // Lets this thread make calls that a thread-local or global capture would forbid, until the end
    // of this call. For calls that touch no stream.
    void relax();

    // Not one of the Device's calls: leave it out of the counters.
    void uncounted() { counted_ = false; }

    // The call has taken memory: if tracking is on, query how much is left (not counted).
    void grew() { grew_ = true; }

    template <class T>
    static CudaArgument argument(const T& value) {
        if constexpr (std::is_same_v<T, cuda::CUdeviceptr>) {
            return {value, CudaArgument::Form::address};
        } else if constexpr (std::is_pointer_v<T>) {
            const auto number = reinterpret_cast<std::uintptr_t>(value);
            constexpr bool kSpoken = kIsHandle<T> || std::is_void_v<std::remove_pointer_t<T>>;
            return {number, kSpoken ? CudaArgument::Form::address : CudaArgument::Form::output};
        } else if constexpr (std::is_class_v<T>) {
            return {0, CudaArgument::Form::output};
        } else {
            return {static_cast<std::uint64_t>(value), CudaArgument::Form::number};
        }
    }

  private:
    // A handle's value identifies the object; other pointers say where a result goes.
    template <class T>
    static constexpr bool kIsHandle =
        std::is_same_v<T, cuda::CUcontext> || std::is_same_v<T, cuda::CUstream> ||
        std::is_same_v<T, cuda::CUevent> || std::is_same_v<T, cuda::CUmodule> ||
        std::is_same_v<T, cuda::CUfunction> || std::is_same_v<T, cuda::CUgraph> ||
        std::is_same_v<T, cuda::CUgraphExec> || std::is_same_v<T, cuda::CUmemoryPool>;

    CudaContext& context_;
    DeviceCall call_;
    Stopwatch watch_;
    CudaCurrent current_{context_};
    cuda::CUresult entry_ =
        context_.lost() == cuda::CUresult::success ? current_.code() : context_.lost();
    Nanoseconds stalled_ = 0;
    bool counted_ = true;
    bool grew_ = false;
    bool relaxed_ = false;
    cuda::CUstreamCaptureMode previous_mode_ = cuda::CUstreamCaptureMode::relaxed;
};

}  // namespace tidemark

// A call of a Device as values (arguments and result), and WrappedDevice: a Device over a Device in
// which every call goes through one function.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/device/device.h"

namespace tidemark {

// The arguments. Fields that a call doesn't have are zero.
struct CallArguments {
    DeviceCall call = DeviceCall::malloc;
    Address address = Address::null;  // range.begin, target
    Address source = Address::null;   // copy
    Bytes size = 0;                   // range.size, threshold, keep
    StreamId stream = StreamId::default_stream;
    std::uint64_t handle = 0;  // an EventId, PhysicalId or GraphId; a peer; a pattern
    std::uint8_t value = 0;    // of fill; 1 = writable, of set_access

    Range range() const { return {address, size}; }

    friend bool operator==(const CallArguments&, const CallArguments&) = default;
};

// The result.
struct CallOutcome {
    bool ok = true;
    DeviceStatus status{};            // if it isn't ok
    Address address = Address::null;  // the result of malloc and reserve
    std::uint64_t handle = 0;         // the result of create, record, ...; 1 = complete

    friend bool operator==(const CallOutcome&, const CallOutcome&) = default;
};

// `Outcome` is the DeviceResult of any call.
template <class Outcome>
CallOutcome outcome_of(const Outcome& result) {
    CallOutcome outcome;
    if (!result) {
        outcome.ok = false;
        outcome.status = result.error().status;
    } else if constexpr (std::is_same_v<Outcome, DeviceResult<Address>>) {
        outcome.address = *result;
    } else if constexpr (std::is_same_v<Outcome, DeviceResult<Range>>) {
        outcome.address = result->begin;
    } else if constexpr (!std::is_same_v<Outcome, DeviceResult<void>> &&
                         !std::is_same_v<Outcome, DeviceResult<IpcHandle>>) {
        outcome.handle = static_cast<std::uint64_t>(*result);
    }
    return outcome;
}

// copy_batch goes through it one by one; address_range and information bypass it.
//
// `Self` (the deriving class) has `template <class Make> auto around(const CallArguments&, Make)`,
// which makes the call, once or not at all, and returns its result.
template <class Self>
class WrappedDevice : public Device {
  public:
    explicit WrappedDevice(Device& inner) : inner_(inner) {}

    std::string_view name() const override { return inner_.name(); }

    bool has(Feature feature) const override { return inner_.has(feature); }

    Bytes granularity() const override { return inner_.granularity(); }

    MemoryInfo memory() const override { return inner_.memory(); }

    Nanoseconds now() const override { return inner_.now(); }

    const DeviceCounters& counters() const override { return inner_.counters(); }

    Error explain(const DeviceError& error) const override { return inner_.explain(error); }

    bool capturing() const override { return inner_.capturing(); }

    std::uint64_t replaced_streams() const override { return inner_.replaced_streams(); }

    DeviceResult<Address> malloc(Bytes size) override {
        return self().around({.call = DeviceCall::malloc, .size = size},
                             [&] { return inner_.malloc(size); });
    }

    DeviceResult<void> free(Address address) override {
        return self().around({.call = DeviceCall::free, .address = address},
                             [&] { return inner_.free(address); });
    }

    DeviceResult<Address> malloc_async(Bytes size, StreamId stream) override {
        return self().around({.call = DeviceCall::malloc_async, .size = size, .stream = stream},
                             [&] { return inner_.malloc_async(size, stream); });
    }

    DeviceResult<void> free_async(Address address, StreamId stream) override {
        return self().around({.call = DeviceCall::free_async, .address = address, .stream = stream},
                             [&] { return inner_.free_async(address, stream); });
    }

    DeviceResult<void> set_pool_threshold(Bytes threshold) override {
        return self().around({.call = DeviceCall::set_pool_threshold, .size = threshold},
                             [&] { return inner_.set_pool_threshold(threshold); });
    }

    DeviceResult<void> trim_pool(Bytes keep) override {
        return self().around({.call = DeviceCall::trim_pool, .size = keep},
                             [&] { return inner_.trim_pool(keep); });
    }

    Bytes pool_held() const override { return inner_.pool_held(); }

    DeviceResult<Range> reserve(Bytes size) override {
        return self().around({.call = DeviceCall::reserve, .size = size},
                             [&] { return inner_.reserve(size); });
    }

    DeviceResult<void> unreserve(Range range) override {
        return self().around(on(DeviceCall::unreserve, range),
                             [&] { return inner_.unreserve(range); });
    }

    DeviceResult<PhysicalId> create(Location where, Bytes size) override {
        return self().around({.call = DeviceCall::create, .size = size},
                             [&] { return inner_.create(where, size); });
    }

    DeviceResult<void> release(PhysicalId physical) override {
        return self().around({.call = DeviceCall::release, .handle = to_integer(physical)},
                             [&] { return inner_.release(physical); });
    }

    DeviceResult<void> map(Range range, PhysicalId physical) override {
        CallArguments arguments = on(DeviceCall::map, range);
        arguments.handle = to_integer(physical);
        return self().around(arguments, [&] { return inner_.map(range, physical); });
    }

    DeviceResult<void> unmap(Range range) override {
        return self().around(on(DeviceCall::unmap, range), [&] { return inner_.unmap(range); });
    }

    DeviceResult<void> set_access(Range range, bool writable) override {
        CallArguments arguments = on(DeviceCall::set_access, range);
        arguments.value = writable ? 1 : 0;
        return self().around(arguments, [&] { return inner_.set_access(range, writable); });
    }

    DeviceResult<EventId> record(StreamId stream) override {
        return self().around({.call = DeviceCall::record, .stream = stream},
                             [&] { return inner_.record(stream); });
    }

    DeviceResult<bool> complete(EventId event) override {
        return self().around({.call = DeviceCall::complete, .handle = to_integer(event)},
                             [&] { return inner_.complete(event); });
    }

    DeviceResult<void> wait(StreamId stream, EventId event) override {
        return self().around(
            {.call = DeviceCall::wait, .stream = stream, .handle = to_integer(event)},
            [&] { return inner_.wait(stream, event); });
    }

    DeviceResult<void> synchronize(StreamId stream) override {
        return self().around({.call = DeviceCall::synchronize, .stream = stream},
                             [&] { return inner_.synchronize(stream); });
    }

    DeviceResult<void> synchronize_device() override {
        return self().around({.call = DeviceCall::synchronize_device},
                             [&] { return inner_.synchronize_device(); });
    }

    DeviceResult<void> copy(Address target, Address source, Bytes size, StreamId stream) override {
        return self().around({.call = DeviceCall::copy,
                              .address = target,
                              .source = source,
                              .size = size,
                              .stream = stream},
                             [&] { return inner_.copy(target, source, size, stream); });
    }

    DeviceResult<void> fill(Address target, std::uint8_t value, Bytes size,
                            StreamId stream) override {
        return self().around({.call = DeviceCall::fill,
                              .address = target,
                              .size = size,
                              .stream = stream,
                              .value = value},
                             [&] { return inner_.fill(target, value, size, stream); });
    }

    DeviceResult<void> set_access_for(Location who, Range range, bool writable) override {
        CallArguments arguments = on(DeviceCall::set_access_for, range);
        arguments.handle = who.index;
        arguments.value = writable ? 1 : 0;
        return self().around(arguments,
                             [&] { return inner_.set_access_for(who, range, writable); });
    }

    DeviceResult<void> begin_capture(StreamId stream) override {
        return self().around({.call = DeviceCall::begin_capture, .stream = stream},
                             [&] { return inner_.begin_capture(stream); });
    }

    DeviceResult<GraphId> end_capture(StreamId stream) override {
        return self().around({.call = DeviceCall::end_capture, .stream = stream},
                             [&] { return inner_.end_capture(stream); });
    }

    DeviceResult<void> launch(GraphId graph, StreamId stream) override {
        return self().around(
            {.call = DeviceCall::launch, .stream = stream, .handle = to_integer(graph)},
            [&] { return inner_.launch(graph, stream); });
    }

    DeviceResult<void> destroy_graph(GraphId graph) override {
        return self().around({.call = DeviceCall::destroy_graph, .handle = to_integer(graph)},
                             [&] { return inner_.destroy_graph(graph); });
    }

    DeviceResult<void> write_pattern(Address target, std::uint32_t pattern, Bytes size,
                                     StreamId stream) override {
        return self().around({.call = DeviceCall::write_pattern,
                              .address = target,
                              .size = size,
                              .stream = stream,
                              .handle = pattern},
                             [&] { return inner_.write_pattern(target, pattern, size, stream); });
    }

    DeviceResult<Bytes> check_pattern(Address target, std::uint32_t pattern, Bytes size,
                                      StreamId stream) override {
        return self().around({.call = DeviceCall::check_pattern,
                              .address = target,
                              .size = size,
                              .stream = stream,
                              .handle = pattern},
                             [&] { return inner_.check_pattern(target, pattern, size, stream); });
    }

    DeviceResult<void> host_register(Range range) override {
        return self().around(on(DeviceCall::host_register, range),
                             [&] { return inner_.host_register(range); });
    }

    DeviceResult<void> host_unregister(Address address) override {
        return self().around({.call = DeviceCall::host_unregister, .address = address},
                             [&] { return inner_.host_unregister(address); });
    }

    DeviceResult<IpcHandle> ipc_export(Address address) override {
        return self().around({.call = DeviceCall::ipc_export, .address = address},
                             [&] { return inner_.ipc_export(address); });
    }

    DeviceResult<Address> ipc_open(const IpcHandle& handle) override {
        return self().around({.call = DeviceCall::ipc_open},
                             [&] { return inner_.ipc_open(handle); });
    }

    DeviceResult<void> ipc_close(Address address) override {
        return self().around({.call = DeviceCall::ipc_close, .address = address},
                             [&] { return inner_.ipc_close(address); });
    }

    DeviceResult<Range> address_range(Address address) const override {
        return inner_.address_range(address);
    }

    DeviceResult<Address> host_malloc(Bytes size) override {
        return self().around({.call = DeviceCall::host_malloc, .size = size},
                             [&] { return inner_.host_malloc(size); });
    }

    DeviceResult<void> host_free(Address address) override {
        return self().around({.call = DeviceCall::host_free, .address = address},
                             [&] { return inner_.host_free(address); });
    }

  protected:
    Device& inner_;

  private:
    Self& self() { return static_cast<Self&>(*this); }

    static CallArguments on(DeviceCall call, Range range) {
        return {.call = call, .address = range.begin, .size = range.size};
    }
};

}  // namespace tidemark

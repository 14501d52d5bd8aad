// A context's parts, created in order and destroyed in reverse order.
#include <filesystem>
#include <unordered_map>

#include <fmt/format.h>

#include "backends/cuda/cuda_visit.h"
#include "core/allocator/policy_file.h"
#include "core/allocator/spec.h"
#include "core/capture/planner.h"
#include "replay/c_api/context.h"
#include "replay/scenario/device_name.h"
#include "replay/scenario/open_device.h"

namespace tidemark::c_api {
namespace {

// For map_error: turns what commands would say about `option` into a message about its field here.
auto in_field(std::string_view field, std::string_view option) {
    return [field, option](Error error) {
        for (std::string* const text : {&error.where, &error.hint}) {
            if (const std::size_t at = text->find(option); at != std::string::npos)
                text->replace(at, option.size(), field);
        }
        if (!error.where.starts_with(field))
            error.where = fmt::format("{}{}{}", field, error.where.empty() ? "" : " ", error.where);
        return error;
    };
}

// A recording by its name; or by its file's, a path or what ends in .tml.
live::PublishOptions recording_named(const std::string& name) {
    live::PublishOptions options;
    const std::filesystem::path path(name);
    const bool is_file = path.extension() == ".tml" || path.has_parent_path();
    options.name = is_file ? path.stem().string() : name;
    options.recording = is_file ? name : "";
    return options;
}

// Whether freeing memory may help.
bool is_shortage(OutOfMemory::Cause cause) {
    return cause != OutOfMemory::Cause::too_large && cause != OutOfMemory::Cause::device_error;
}

}  // namespace

Result<std::unique_ptr<ContextState>> ContextState::open(const ContextPlan& plan) {
    auto state = std::unique_ptr<ContextState>(new ContextState);
    TM_TRY(state->open_device(plan));
    TM_TRY(state->open_policy(plan));
    return state;
}

Result<void> ContextState::open_device(const ContextPlan& plan) {
    const auto in_machine = in_field("machine", "--device");
    TM_ASSIGN(DeviceName name, parse_device_name(plan.machine).map_error(in_machine));
    if (plan.machine.empty())
        name.real = CudaDriver::open()
                        .map([](const auto& driver) { return driver->device_count() > 0; })
                        .value_or(false);
    if (name.real) {
        if (plan.memory != 0)
            return fail(ErrorCode::bad_option, "the memory of a GPU is fixed", "memory",
                        "set a limit, or use a simulated machine");
        TM_ASSIGN(const auto driver, open_cuda_driver().map_error(in_machine));
        TM_ASSIGN(auto card,
                  open_cuda_device(driver, {.ordinal = name.ordinal}).map_error(in_machine));
        card_ = card.get();
        device_ = std::move(card);
        machine_ = fmt::format("cuda:{}", name.ordinal);
    } else {
        const std::string profile = name.profile.empty() ? "h200" : name.profile;
        TM_ASSIGN(profile_, load_profile(profile).map_error(in_machine));
        if (plan.memory > SimDevice::kLargestCapacity)
            return fail(ErrorCode::bad_option,
                        fmt::format("a simulated device cannot have {} bytes", plan.memory),
                        "memory");
        device_ = std::make_unique<SimDevice>(SimConfig{.capacity = plan.memory,
                                                        .profile = &profile_,
                                                        .backed = false,
                                                        .placement = Placement::driver});
        machine_ = "sim:" + profile;
    }
    device_name_ = device_->name();
    streams_ = std::make_unique<Streams>(card_);
    stream_pool_ = std::make_unique<StreamPool>(*streams_, card_, plan.streams);
    return {};
}

Result<void> ContextState::open_policy(const ContextPlan& plan) {
    const auto in_policy = in_field("policy", "-p");
    const bool none = plan.thread_cache == TM_CACHE_NONE;
    const bool chosen = plan.thread_cache != 0 && !none;
    if (!plan.record.empty() && chosen)
        return fail(ErrorCode::bad_option, "requests that thread caches serve are not recorded",
                    "thread_cache", "record without caches, or don't record");
    if (const std::string_view file = policy_file_of(plan.policy); !file.empty())
        TM_TRY(load_policy_file(file).map_error(in_policy));
    std::string text = plan.policy;
    if (text.empty())
        text = device_->has(Feature::virtual_memory) ? "extent" : "torch";
    TM_ASSIGN(const PolicySpec spec, parse_policy(text).map_error(in_policy));
    policy_ = spec.text();
    plans_pools_ = spec.policy->plans == PlanScope::private_pools;
    maps_segments_ = spec.policy->maps_segments;
    Device* beneath = device_.get();
    if (!plan.record.empty()) {
        live::PublishOptions options = recording_named(plan.record);
        options.devices = {{device_name_, device_->memory().total}};
        options.overwrite = plan.overwrite;
        TM_ASSIGN(publisher_, live::Publisher::start(options));
        observed_ = std::make_unique<ObservedDevice>(*device_, publisher_->observer());
        beneath = observed_.get();
    }
    TM_ASSIGN(std::unique_ptr<Allocator> allocator, spec.make(*beneath));
    if (publisher_) {
        recorded_ = std::move(allocator);
        allocator = std::make_unique<ObservedAllocator>(*recorded_, publisher_->observer());
    }
    const ThreadCaches caches = none || publisher_ ? ThreadCaches{}
                                : chosen           ? ThreadCaches{.budget = plan.thread_cache}
                                                   : ThreadCaches::for_device(*device_);
    shared_ = std::make_unique<SharedAllocator>(std::move(allocator), *beneath,
                                                SharedAllocator::LeakReport{}, caches);
    shared_->set_limit(plan.limit);
    fenced_ = std::make_unique<FencedFrees>(*shared_, spec.deferred_frees(*beneath));
    return {};
}

void ContextState::name_tag(std::uint32_t tag, std::string_view name) {
    if (!publisher_)
        return;
    const std::unique_lock lock(names_mutex_);
    names_[tag] = name;
}

tl::expected<Range, OutOfMemory> ContextState::grant(const Request& query, std::uint32_t tag) {
    if (!publisher_)
        return shared_->allocate(query, tag);
    std::string name;
    {
        const std::shared_lock lock(names_mutex_);
        if (const auto found = names_.find(tag); found != names_.end())
            name = found->second;
    }
    if (name.empty())
        return shared_->allocate(query, tag);
    const LiveScope scope(name);
    return shared_->allocate(query, tag);
}

void ContextState::set_oom_handler(tm_oom_handler handler, void* user) {
    const std::unique_lock lock(handler_mutex_);
    oom_handler_ = handler;
    oom_user_ = user;
}

// Whether the request is to be made again.
bool ContextState::handler_helps(Bytes size, std::uint32_t attempt) {
    thread_local bool inside = false;
    tm_oom_handler handler = nullptr;
    void* user = nullptr;
    {
        const std::shared_lock lock(handler_mutex_);
        handler = oom_handler_;
        user = oom_user_;
    }
    if (handler == nullptr || inside)
        return false;
    inside = true;
    const bool again = handler(user, size, attempt) != 0;
    inside = false;
    return again;
}

// Memory for an unknown stream was last used before a wait for the whole device, or by work that
// the policy makes the library's own stream wait for. So this waits until that stream has done its
// work.
tl::expected<Range, OutOfMemory> ContextState::allocate(const tm_request& request) {
    if (request.bytes == 0) {
        const bool wanted = (request.flags & TM_UNIQUE_EMPTY) != 0;
        return Range{wanted ? Address{2 * ++empty_blocks_ - 1} : Address::null, 0};
    }
    const Request query{.size = request.bytes,
                        .alignment = request.alignment == 0 ? kDefaultAlignment : request.alignment,
                        .stream = streams_->id_of(request.stream),
                        .pool = PoolId{request.pool}};
    const CudaVisit visit(card_, query.stream);
    auto granted = grant(query, request.tag);
    if (!granted && fenced_->count() != 0) {
        fenced_->flush();
        granted = grant(query, request.tag);
        ++second_attempts_;
    }
    for (std::uint32_t attempt = 0; !granted && is_shortage(granted.error().cause); ++attempt) {
        if (!handler_helps(request.bytes, attempt))
            break;
        granted = grant(query, request.tag);
        ++second_attempts_;
    }
    if (granted && !Streams::known(request.stream)) {
        const auto there = shared_->locked(
            [](Allocator&, Device& device) { return device.synchronize(Streams::kUnknown); });
        if (!there) {
            static_cast<void>(shared_->free(granted->begin));
            return tl::make_unexpected(refused_by(there.error()));
        }
    }
    return granted;
}

tl::expected<void, BadAddress> ContextState::free(Address address, Bytes size, tm_stream stream) {
    if (is_empty_block(address)) {
        if (to_integer(address) < 2 * empty_blocks_)
            return {};
        return tl::make_unexpected(BadAddress::unknown);
    }
    if (address == Address::null)
        return {};
    const bool is_there = stream != TM_STREAM_OF_REQUEST;
    StreamId id = Streams::kUnknown;
    if (!is_there) {
        const auto found = range_of(address);
        if (!found)
            return tl::make_unexpected(BadAddress::unknown);
        id = found->stream;
    } else if (Streams::known(stream)) {
        id = streams_->id_of(stream);
    }
    if (id == Streams::kUnknown)
        return fenced_->add(address, size);
    if (fenced_->holds(address))
        return tl::make_unexpected(BadAddress::freed_already);
    CudaVisit visit(card_, is_there ? id : StreamId::default_stream);
    visit.note_work(id, is_there && streams_->several());
    return shared_->free(address, id, size);
}

tl::expected<void, BadAddress> ContextState::record_use(Address address, tm_stream stream) {
    if (is_empty_block(address) || address == Address::null)
        return {};
    return shared_->record_use(address, streams_->id_of_kept(stream));
}

void ContextState::trim(bool wait) {
    if (wait)
        fenced_->flush();
    shared_->trim(wait ? TrimLevel::all : TrimLevel::unused);
}

std::optional<LiveAllocation> ContextState::range_of(Address address) {
    const auto found = shared_->range_of(address);
    return found && fenced_->holds(found->address) ? std::nullopt : found;
}

Result<void> ContextState::plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) {
    if (!plans_pools_)
        return fail(ErrorCode::unsupported, fmt::format("{} does not plan private pools", policy_),
                    "tm_pool_plan", "open the context with the policy arena:mode=planned");
    TM_TRY(check_planned(expected, PlanOptions{}.unit));
    shared_->locked([&](Allocator& allocator, Device&) { allocator.plan_pool(pool, expected); });
    return {};
}

tm_statistics ContextState::statistics() {
    const SharedStatus now = fenced_->status();
    const MemoryInfo memory =
        shared_->locked([](Allocator&, Device& device) { return device.memory(); });
    tm_statistics all{};
    all.reserved = now.usage.reserved;
    all.allocated = now.usage.allocated;
    all.active = now.usage.active;
    all.requested = now.requested;
    all.cached = now.cached;
    all.live = now.live;
    all.peak_reserved = now.peak_reserved;
    all.peak_allocated_least = now.peak_allocated.at_least;
    all.peak_allocated_most = now.peak_allocated.at_most;
    all.peak_requested_least = now.peak_requested.at_least;
    all.peak_requested_most = now.peak_requested.at_most;
    all.granted = now.granted;
    all.hits = now.hits;
    all.refused = now.refused - second_attempts_;
    all.freed = now.freed;
    all.retries = now.stats.retries;
    all.segments_created = now.stats.segments_created;
    all.segments_released = now.stats.segments_released;
    all.deferred = now.stats.deferred;
    all.deferred_peak = now.stats.deferred_peak;
    all.flushes = now.stats.flushes;
    all.plan_deviations = now.stats.plan_deviations;
    all.device_free = memory.free;
    all.device_total = memory.total;
    return all;
}

std::vector<tm_region> ContextState::regions() {
    std::unordered_map<Address, Bytes> requested;
    for (const LiveAllocation& one : shared_->live())
        requested.emplace(one.address, one.requested);
    std::vector<tm_region> all;
    shared_->locked([&](Allocator& allocator, Device&) {
        allocator.for_each_region([&](const Region& region) {
            tm_region one{};
            one.address = to_integer(region.range.begin);
            one.bytes = region.range.size;
            one.segment = to_integer(region.segment.begin);
            one.segment_bytes = region.segment.size;
            one.stream = streams_->handle_of(region.stream);
            one.pool = to_integer(region.pool);
            one.state = static_cast<std::uint32_t>(region.state);
            one.expandable = region.page != 0 || maps_segments_ ? 1 : 0;
            if (region.state == Region::State::allocated) {
                const auto found = requested.find(region.range.begin);
                one.requested = found == requested.end() ? one.bytes : found->second;
            }
            all.push_back(one);
        });
    });
    return all;
}

DeviceResult<std::uint64_t> ContextState::ipc_export(Address address, IpcHandle& handle) {
    return shared_->locked([&](Allocator&, Device& device) -> DeviceResult<std::uint64_t> {
        const auto range = device.address_range(address);
        if (!range)
            return tl::make_unexpected(range.error());
        const auto exported = device.ipc_export(range->begin);
        if (!exported)
            return tl::make_unexpected(exported.error());
        handle = *exported;
        return address - range->begin;
    });
}

DeviceResult<Address> ContextState::ipc_open(const IpcHandle& handle, std::uint64_t offset) {
    const auto opened =
        shared_->locked([&](Allocator&, Device& device) { return device.ipc_open(handle); });
    if (!opened)
        return opened;
    const std::lock_guard lock(imports_mutex_);
    imports_[*opened + offset] = *opened;
    return *opened + offset;
}

DeviceResult<void> ContextState::ipc_close(Address address) {
    Address begin = Address::null;
    {
        const std::lock_guard lock(imports_mutex_);
        const auto found = imports_.find(address);
        if (found == imports_.end())
            return tl::make_unexpected(
                DeviceError{DeviceStatus::invalid_value, DeviceCall::ipc_close, 0});
        begin = found->second;
        imports_.erase(found);
    }
    return shared_->locked([&](Allocator&, Device& device) { return device.ipc_close(begin); });
}

Error ContextState::explain(const DeviceError& error) {
    return device_->explain(error);
}

std::uint64_t ContextState::close() {
    fenced_->flush();
    const std::uint64_t left = shared_->close().size();
    recorded_.reset();
    static_cast<void>(end_recording());
    return left;
}

Result<void> ContextState::end_recording() {
    const std::lock_guard lock(end_mutex_);
    return publisher_ ? publisher_->close() : Result<void>{};
}

}  // namespace tidemark::c_api

// The process has one publisher. Each thread keeps its ring and the number of the publisher that
// the ring belongs to, so one comparison shows whether it is still valid.
#include "traces/live/publisher.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include "core/base/check.h"
#include "traces/live/publisher_state.h"
#include "traces/live/runtime_folder.h"

namespace tidemark::live {
namespace {

// The current publisher; null: none, or this is a child made by fork().
std::atomic<Publisher::State*> the_state = nullptr;
// Its number; changes when it ends. 0: there never was one.
std::atomic<std::uint64_t> the_generation = 0;
// Held when a publisher ends and when a thread ends.
std::mutex the_end;

struct ThreadRing {
    std::uint64_t generation = 0;
    RingLease* lease = nullptr;
};

constinit thread_local ThreadRing thread_ring;

void give_ring_back(void*) {
    if (thread_ring.generation != the_generation.load(std::memory_order_relaxed))
        return;
    const std::lock_guard lock(the_end);
    Publisher::State* const state = the_state.load();
    if (state != nullptr && state->generation == thread_ring.generation &&
        thread_ring.lease != nullptr)
        state->leases.give_back(*thread_ring.lease);
    thread_ring = {};
}

// Returns the ring when the thread ends. A key instead of thread_local: thread_local objects may
// publish when they are destroyed, and would take a ring that nobody returns.
class ThreadEnd {
  public:
    ThreadEnd() : made_(::pthread_key_create(&key_, give_ring_back) == 0) {}

    ThreadEnd(const ThreadEnd&) = delete;
    ThreadEnd& operator=(const ThreadEnd&) = delete;

    ~ThreadEnd() {
        if (made_)
            ::pthread_key_delete(key_);
    }

    void arm() const {
        if (made_)
            ::pthread_setspecific(key_, &the_end);  // anything but null
    }

  private:
    pthread_key_t key_ = 0;
    const bool made_;
};

const ThreadEnd thread_end;

// In a child made by fork() the rings and the recording belong to the parent.
void leave_to_parent() {
    if (Publisher::State* const state = the_state.exchange(nullptr); state != nullptr)
        state->recorder.leave();
    the_generation.fetch_add(1);
}

[[gnu::noinline]] RingLease* find_lease(Publisher::State& state) {
    if (the_state.load(std::memory_order_acquire) != &state)
        return nullptr;
    thread_ring = {state.generation, state.leases.lease()};
    thread_end.arm();
    return thread_ring.lease;
}

std::uint64_t new_session(Nanoseconds unix_time) {
    const auto seed = static_cast<std::uint64_t>(unix_time) ^
                      (static_cast<std::uint64_t>(::getpid()) << 44U) ^
                      (the_generation.load() << 60U);
    return seed * 0x9e3779b97f4a7c15U | 1U;
}

Header make_header(const PublishOptions& options) {
    Header header;
    header.magic = kSharedMagic;
    const bool steady = has_steady_counter() && !options.given_times;
    const ClockPair clock = ClockPair::now(steady);
    header.flags = steady ? kSteadyTicks : 0;
    header.unix_time = unix_now();
    header.start_time = clock.time;
    header.start_ticks = clock.ticks;
    header.session = new_session(header.unix_time);
    header.process = static_cast<std::uint32_t>(::getpid());
    header.process_start = process_start(header.process);
    header.rings = options.rings;
    header.ring_slots = options.ring_slots;
    header.devices = static_cast<std::uint32_t>(options.devices.size());
    put_text(header.name, options.name.empty() ? program_name() : options.name);
    for (std::size_t i = 0; i < options.devices.size(); ++i) {
        header.device[i].capacity = options.devices[i].capacity;
        put_text(header.device[i].name, options.devices[i].name);
    }
    return header;
}

Result<void> check(const PublishOptions& options) {
    if (options.devices.empty() || options.devices.size() > kMostDevices)
        return fail(ErrorCode::bad_option,
                    fmt::format("a program publishes 1 to {} devices", kMostDevices), "devices");
    if (options.rings == 0 || options.rings >= kMostRings)
        return fail(ErrorCode::bad_option, fmt::format("expected 1 to {}", kMostRings - 1),
                    "rings");
    if (!std::has_single_bit(options.ring_slots) || options.ring_slots < 2048 ||
        options.ring_slots > 1U << 24U)
        return fail(ErrorCode::bad_option, "expected a power of two from 2048 to 2^24",
                    "ring_slots");
    if (options.recording.size() >= std::tuple_size_v<decltype(Header::recording)>)
        return fail(ErrorCode::bad_option, "the path is too long", options.recording);
    return {};
}

// The existing files of a recording, except empty ones: those are claimed names.
bool is_there(const std::string& path, bool segmented) {
    namespace fs = std::filesystem;
    std::error_code error;
    const auto is_full = [&error](const fs::path& file) {
        return fs::is_regular_file(file, error) && fs::file_size(file, error) > 0;
    };
    if (!segmented)
        return is_full(path);
    const auto stem = stem_of_segment(segment_name(path, 1));
    for (fs::directory_iterator entry(fs::path(path).parent_path(), error), end;
         !error && entry != end; entry.increment(error)) {
        if (stem_of_segment(entry->path().string()) == stem && is_full(entry->path()))
            return true;
    }
    return false;
}

// A recording replaces no other file, unless that is requested.
Result<void> check_free(const PublishOptions& options, const Header& header) {
    const std::string path = text_of(header.recording);
    if (options.overwrite || !is_there(path, (header.flags & kSegmented) != 0))
        return {};
    return fail(ErrorCode::bad_option, "exists, and would be lost", path,
                "give the recording another name, or request that this one be overwritten");
}

// Where the recording goes; sets the header's part of it. Returns the limit.
Result<Bytes> choose_recording(const PublishOptions& options, Header& header) {
    Bytes limit = options.history_limit;
    std::string path = options.recording;
    if (path.empty()) {
        const std::string folder = recordings_folder();
        TM_TRY(make_live_folder(folder));
        path = fmt::format("{}/{}-{}-{:08x}.tml", folder, text_of(header.name), header.process,
                           header.session >> 32U);
        limit = limit == 0 ? kUsualHistoryLimit : limit;
    }
    if (path.front() != '/') {
        std::array<char, 4096> folder{};
        if (::getcwd(folder.data(), folder.size()) != nullptr)
            path = fmt::format("{}/{}", folder.data(), path);
    }
    if (path.size() >= header.recording.size())
        return fail(ErrorCode::bad_option, "the path is too long", path);
    header.flags |= limit == 0 ? 0 : kSegmented;
    put_text(header.recording, path);
    return limit;
}

// An event whose pool or stream has no name would be recorded in the default one, so it is dropped.
[[gnu::always_inline]] inline bool lacks_name(const RingLease& lease, const Record& record,
                                              PoolId pool, std::uint64_t stream) {
    const bool no_pool = record.site == lease.names.nothing() && pool != PoolId::default_pool;
    return no_pool || (record.stream == 0 && stream != 0);
}

[[gnu::always_inline]] inline Record record_of(RingLease& lease, const ReportedEvent& event) {
    return {.time = event.time,
            .address = event.address,
            .size = event.size,
            .extra = event.extra,
            .site = lease.site_of(event.tag, event.stack, event.pool),
            .stream = lease.stream_of(event.stream),
            .kind = event.kind,
            .device = event.device};
}

[[gnu::always_inline]] inline void put_event(RingLease& lease, const Record& record, PoolId pool,
                                             std::uint64_t stream) {
    if (lacks_name(lease, record, pool, stream)) [[unlikely]]
        lease.writer.drop();
    else
        lease.writer.put(record);
}

}  // namespace

void DeviceEmitter::on_allocate(const Request& request, const Allocation& allocation) {
    emit({RecordKind::allocate, allocation.address, request.size, allocation.size, request.stream,
          request.pool});
}

void DeviceEmitter::on_refused(const Request& request, const OutOfMemory& why) {
    emit({RecordKind::refused, Address::null, request.size, static_cast<std::uint64_t>(why.cause),
          request.stream, request.pool});
}

void DeviceEmitter::on_deallocate(const Allocation& allocation, StreamId stream) {
    emit({RecordKind::free, allocation.address, allocation.size, 0, stream, {}});
}

void DeviceEmitter::on_record_use(const Allocation& allocation, StreamId stream) {
    emit({RecordKind::record_use, allocation.address, allocation.size, 0, stream, {}});
}

void DeviceEmitter::on_trim() {
    emit({RecordKind::trim, {}, 0, 0, {}, {}});
}

void DeviceEmitter::on_segment(SegmentChange change, Range range, StreamId stream, Address home) {
    const auto kind =
        static_cast<std::uint8_t>(RecordKind::segment_alloc) + static_cast<std::uint8_t>(change);
    emit({static_cast<RecordKind>(kind), range.begin, range.size, to_integer(home), stream, {}});
}

void DeviceEmitter::emit(const Event& event) {
    RingLease* const lease = state_.lease_or_count();
    if (lease != nullptr) [[likely]]
        put_event(*lease,
                  {.address = to_integer(event.address),
                   .size = event.size,
                   .extra = event.extra,
                   .site = lease->site_of(event.pool),
                   .stream = lease->stream_of(to_integer(event.stream)),
                   .kind = event.kind,
                   .device = device_},
                  event.pool, to_integer(event.stream));
}

Publisher::State::State(const Header& new_header, std::unique_ptr<SharedFile> new_file,
                        Bytes history_limit)
    : header(new_header),
      recording(text_of(new_header.recording)),
      file(std::move(new_file)),
      leases(*file, header, history_limit),
      recorder(*file, leases, header, history_limit) {
    for (std::uint32_t device = 0; device < header.devices; ++device)
        emitters.emplace_back(*this, static_cast<std::uint8_t>(device));
}

[[gnu::always_inline]] inline RingLease* Publisher::State::lease() {
    // The second comparison: there may be another publisher, whose ring this thread has by now.
    const std::uint64_t now = the_generation.load(std::memory_order_relaxed);
    if (thread_ring.generation == now && now == generation) [[likely]]
        return thread_ring.lease;
    return find_lease(*this);
}

[[gnu::noinline]] void Publisher::State::count_without_ring() {
    if (the_state.load(std::memory_order_relaxed) != this)
        return;
    file->counters().without_ring.fetch_add(1, std::memory_order_relaxed);
    // Perhaps a ring has become free by the next time.
    thread_ring.generation = 0;
}

[[gnu::always_inline]] inline RingLease* Publisher::State::lease_or_count() {
    RingLease* const found = lease();
    if (found == nullptr) [[unlikely]]
        count_without_ring();
    return found;
}

Publisher::Publisher(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Publisher>> Publisher::start(const PublishOptions& options) {
    static const int registered = ::pthread_atfork(nullptr, nullptr, leave_to_parent);
    static_cast<void>(registered);
    if (the_state.load() != nullptr)
        return fail(ErrorCode::unsupported, "this process publishes already", "live",
                    "one publisher serves all its allocators: see Publisher::observer");
    TM_TRY(check(options));
    Header header = make_header(options);
    TM_ASSIGN(const Bytes limit, choose_recording(options, header));
    TM_TRY(check_free(options, header));
    TM_ASSIGN(const OwnFolder folder,
              make_live_folder(options.runtime_folder.empty() ? runtime_folders().front()
                                                              : options.runtime_folder));
    put_text(header.shared_file, fmt::format("{}-{:016x}.live", header.process, header.session));
    seal(header);
    TM_ASSIGN(auto file, SharedFile::create(folder, header));
    auto state = std::make_unique<State>(header, std::move(file), limit);
    if (const Result<void> opened = state->recorder.open(); !opened) {
        static_cast<void>(state->file->remove());
        return tl::make_unexpected(opened.error());
    }
    state->leases.keep_one_ready();
    state->process = ::getpid();
    state->records = options.records;
    state->open = true;
    state->generation = the_generation.fetch_add(1) + 1;
    State* nobody = nullptr;
    if (!the_state.compare_exchange_strong(nobody, state.get())) {
        static_cast<void>(state->file->remove());
        return fail(ErrorCode::unsupported, "this process publishes already", "live");
    }
    std::unique_ptr<Publisher> publisher(new Publisher(std::move(state)));
    if (options.records)
        TM_TRY(publisher->state_->recorder.start());  // on failure close() undoes the above
    return publisher;
}

Publisher::~Publisher() {
    static_cast<void>(close());
    // The recorder's thread belongs to the parent: nothing can be dismantled here.
    if (state_->process != ::getpid())
        static_cast<void>(state_.release());
}

Result<void> Publisher::close() {
    if (!std::exchange(state_->open, false) || state_->process != ::getpid())
        return {};
    {
        const std::lock_guard lock(the_end);
        the_state.store(nullptr);
        the_generation.fetch_add(1);
    }
    const Result<void> recorded = state_->recorder.stop();
    state_->file->counters().closed.store(1, std::memory_order_release);
    TM_TRY(state_->file->remove());
    return recorded;
}

MemoryObserver& Publisher::observer(std::uint16_t device) {
    TM_CHECK(device < state_->emitters.size());
    return state_->emitters[device];
}

void Publisher::mark(std::string_view text) {
    RingLease* const lease = state_->lease_or_count();
    if (lease != nullptr)
        lease->writer.put({.extra = lease->names.passing_string(text),
                           .site = lease->site_of(PoolId::default_pool),
                           .kind = RecordKind::mark});
}

void Publisher::range(std::string_view name, bool ends) {
    RingLease* const lease = state_->lease_or_count();
    if (lease != nullptr)
        lease->writer.put({.extra = lease->names.passing_string(name),
                           .site = lease->site_of(PoolId::default_pool),
                           .kind = ends ? RecordKind::range_end : RecordKind::range_begin});
}

[[gnu::hot]] void Publisher::put(const ReportedEvent& event) {
    RingLease* const lease = state_->lease_or_count();
    if (lease != nullptr) [[likely]]
        put_event(*lease, record_of(*lease, event), event.pool, event.stream);
}

[[gnu::hot]] void Publisher::put(const ReportedEvent& event, std::span<const RecordPart> parts) {
    RingLease* const lease = state_->lease_or_count();
    if (lease == nullptr) [[unlikely]]
        return;
    const Record record = record_of(*lease, event);
    if (lacks_name(*lease, record, event.pool, event.stream)) [[unlikely]]
        lease->writer.drop(parts.size());
    else
        lease->writer.put(record, parts);
}

std::uint32_t Publisher::string(std::string_view text) {
    RingLease* const lease = state_->lease();
    const std::uint32_t id = lease == nullptr ? 0 : lease->names.string(text);
    return lease == nullptr || id == lease->names.nothing() ? 0 : id;
}

std::uint32_t Publisher::stack(std::span<const LiveFrame> frames) {
    RingLease* const lease = state_->lease();
    const std::uint32_t id = lease == nullptr ? 0 : lease->names.stack(frames);
    return lease == nullptr || id == lease->names.nothing() ? 0 : id;
}

bool Publisher::setting(std::string_view key, std::string_view value, bool of_allocator) {
    RingLease* const lease = state_->lease();
    return lease != nullptr && lease->names.setting(key, value, of_allocator);
}

PublisherCounts Publisher::counts() const {
    const Counters& counters = state_->file->counters();
    PublisherCounts counts;
    counts.published = counters.sequence.load(std::memory_order_relaxed);
    counts.dropped = counters.without_ring.load(std::memory_order_relaxed);
    counts.lost = counters.lost.load(std::memory_order_relaxed);
    const std::uint32_t used = counters.rings_used.load(std::memory_order_acquire);
    for (std::uint32_t ring = 0; ring < used; ++ring)
        counts.dropped += state_->file->control(ring).dropped.load(std::memory_order_relaxed);
    return counts;
}

Result<void> Publisher::empty_rings() {
    TM_CHECK(!state_->records);
    TM_TRY(state_->recorder.drain());
    return {};
}

Nanoseconds Publisher::start_time() const {
    return state_->header.start_time;
}

const std::string& Publisher::recording() const {
    return state_->recording;
}

const std::string& Publisher::shared_path() const {
    return state_->file->path();
}

// The calling thread's ring in the process's publisher; null if there is none.
static RingLease* lease_here() {
    if (thread_ring.generation == the_generation.load(std::memory_order_relaxed)) [[likely]]
        return thread_ring.lease;
    Publisher::State* const state = the_state.load(std::memory_order_acquire);
    return state == nullptr ? nullptr : state->lease();
}

// The same; counts the event if there is no ring.
static RingLease* lease_or_count_here() {
    Publisher::State* const state = the_state.load(std::memory_order_acquire);
    return state == nullptr ? nullptr : state->lease_or_count();
}

}  // namespace tidemark::live

namespace tidemark {

LiveScope::LiveScope(std::string_view tag, std::span<const live::LiveFrame> stack) {
    live::RingLease* const lease = live::lease_here();
    if (lease == nullptr)
        return;
    generation_ = live::thread_ring.generation;
    outer_tag_ = lease->tag;
    outer_stack_ = lease->stack;
    lease->enter(lease->names.string(tag),
                 stack.empty() ? outer_stack_ : lease->names.stack(stack));
}

LiveScope::~LiveScope() {
    // Only into the ring that it came from.
    if (generation_ != 0 && live::thread_ring.generation == generation_ &&
        generation_ == live::the_generation.load(std::memory_order_relaxed))
        live::thread_ring.lease->enter(outer_tag_, outer_stack_);
}

LiveRange::LiveRange(std::string_view name) {
    live::RingLease* const lease = live::lease_or_count_here();
    if (lease == nullptr)
        return;
    generation_ = live::thread_ring.generation;
    name_ = lease->names.passing_string(name);
    if (live::RingNames::is_passing(name_))
        passing_name_ = name;
    lease->writer.put({.extra = name_,
                       .site = lease->site_of(PoolId::default_pool),
                       .kind = live::RecordKind::range_begin});
}

LiveRange::~LiveRange() {
    if (generation_ == 0 || live::thread_ring.generation != generation_ ||
        generation_ != live::the_generation.load(std::memory_order_relaxed))
        return;
    live::RingLease& lease = *live::thread_ring.lease;
    const bool passing = live::RingNames::is_passing(name_);
    lease.writer.put({.extra = passing ? lease.names.passing_string(passing_name_) : name_,
                      .site = lease.site_of(PoolId::default_pool),
                      .kind = live::RecordKind::range_end});
}

}  // namespace tidemark

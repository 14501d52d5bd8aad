// Running a program's steps, and looking at the policy after each.
#include "tests/support/program_run.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "core/allocator/cached_allocator.h"
#include "core/allocator/deferring_allocator.h"
#include "core/allocator/spec.h"
#include "core/base/check.h"
#include "tests/support/policy.h"

namespace tidemark::support {
namespace {

auto tie(const StepOutcome& one) {
    return std::tie(one.address, one.size, one.refusal, one.usage.reserved, one.usage.allocated,
                    one.usage.active, one.usage.mapped, one.time, one.device_calls);
}

// Calls after which other regions than those that the policy was asked about may have changed:
// caches that went back, and memory that was taken on the way to a refusal.
std::uint64_t clearing_calls(const DeviceCounters& counters) {
    std::uint64_t sum = 0;
    for (const DeviceCall call :
         {DeviceCall::malloc, DeviceCall::free, DeviceCall::free_async, DeviceCall::complete,
          DeviceCall::synchronize, DeviceCall::synchronize_device, DeviceCall::unmap,
          DeviceCall::create, DeviceCall::release, DeviceCall::trim_pool})
        sum += counters.calls[static_cast<std::size_t>(call)];
    return sum;
}

// What the program may touch of an allocation: its size also counts the padding before its address.
Allocation touchable(const Allocation& allocation, Bytes requested) {
    Allocation part = allocation;
    part.size = std::max<Bytes>(requested, 1);
    return part;
}

}  // namespace

bool operator==(const StepOutcome& a, const StepOutcome& b) {
    return tie(a) == tie(b);
}

ProgramRun::ProgramRun(const RunSetup& setup) : sim_(std::make_unique<SimDevice>(setup.device)) {
    if (setup.checked) {
        checker_ = std::make_unique<Checker>();
        checked_ = std::make_unique<CheckedDevice>(*sim_, *checker_);
    }
    faulty_ = std::make_unique<FaultyDevice>(device(), setup.faults);
    may_fail_ = setup.faults.nth != 0;
    may_be_lost_ = may_fail_ && setup.faults.status == DeviceStatus::lost;
    const Result<PolicySpec> spec = parse_policy(setup.policy);
    TM_CHECK(spec);
    Result<std::unique_ptr<Allocator>> allocator = spec->make(*faulty_);
    TM_CHECK(allocator);
    allocator_ = std::move(*allocator);
}

std::unique_ptr<ProgramRun> ProgramRun::clone() const {
    TM_CHECK(!checker_);
    std::unique_ptr<ProgramRun> copy(new ProgramRun);
    copy->sim_ = sim_->clone();
    copy->faulty_ = std::make_unique<FaultyDevice>(*copy->sim_, FaultPlan{});
    copy->allocator_ = allocator_->clone(*copy->faulty_);
    if (!copy->allocator_)
        return nullptr;
    copy->live_ = live_;
    copy->regions_ = regions_;
    copy->outcomes_ = outcomes_;
    copy->pool_shrunk_ = pool_shrunk_;
    return copy;
}

void ProgramRun::complain(std::string what) {
    if (complaint_.empty())
        complaint_ = std::move(what);
}

std::string ProgramRun::run(const Program& program, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && complaint_.empty(); ++i) {
        if (checker_)
            checker_->set_event(i);
        outcomes_.emplace_back();
        take(program[i]);
        look();
        StepOutcome& outcome = outcomes_.back();
        outcome.usage = allocator_->usage();
        outcome.time = sim_->now();
        outcome.device_calls = sim_->counters().total_calls();
        if (!complaint_.empty())
            complaint_ = fmt::format("step {}: {}", i, complaint_);
    }
    return complaint_;
}

// What must hold after every step.
void ProgramRun::look() {
    complain(violation(*allocator_, live_));
    regions_ = regions_of(*allocator_);
    const MemoryInfo memory = sim_->memory();
    const Bytes used = memory.total - memory.free;
    if (used == allocator_->usage().reserved)
        pool_shrunk_ = 0;
    if (used + pool_shrunk_ != allocator_->usage().reserved)
        complain(fmt::format("reserved is {}, the device has lent {}", allocator_->usage().reserved,
                             used));
    if (checker_ && checker_->count() != 0)
        complain(fmt::format("{}: {}", to_text(checker_->hazards()[0].kind),
                             checker_->hazards()[0].what));
}

void ProgramRun::take(const Step& step) {
    const std::size_t index = live_.empty() ? 0 : step.which % live_.size();
    switch (step.kind) {
        case Step::Kind::allocate:
            return allocate(step);
        case Step::Kind::synchronize:
            return synchronize(step.stream);
        case Step::Kind::idle:
            sim_->replay_clock()->recorded += static_cast<Nanoseconds>(step.size % 100'000'000);
            return;
        case Step::Kind::trim_unused:
            return allocator_->trim(TrimLevel::unused);
        case Step::Kind::trim_all:
            allocator_->trim(TrimLevel::all);
            if (!may_fail_)
                complain(violation_after_trim(*allocator_, false));
            return;
        case Step::Kind::deallocate:
        case Step::Kind::retire:
        case Step::Kind::use:
            break;
    }
    if (live_.empty())
        return;
    if (step.kind == Step::Kind::use)
        return use(index, step.stream);
    if (step.kind == Step::Kind::retire)
        return retire(index);
    give_back(index);
}

// The device's pool may give memory back then, which the policy cannot know before its next call.
void ProgramRun::synchronize(StreamId stream) {
    const Bytes before = sim_->pool_held();
    TM_CHECK(device().synchronize(stream));
    pool_shrunk_ += before - sim_->pool_held();
}

void ProgramRun::allocate(const Step& step) {
    const Request request{step.size, step.alignment, step.stream, step.pool};
    const DeviceCounters before = sim_->counters();
    const bool lost = may_be_lost_ && failed();
    const auto allocation = allocator_->allocate(request);
    if (!allocation) {
        outcomes_.back().refusal = allocation.error().cause;
        if (lost && allocation.error().cause == OutOfMemory::Cause::device_full)
            complain("a request is refused for want of memory while the device is lost");
        return check_refusal(step, allocation.error(), before);
    }
    outcomes_.back().address = allocation->address;
    outcomes_.back().size = allocation->size;
    if (step.size >= kLargestRequest)
        complain(fmt::format("a request of {} bytes is granted", step.size));
    if (to_integer(allocation->address) % step.alignment != 0)
        complain(fmt::format("address {:#x} is not a multiple of {}",
                             to_integer(allocation->address), step.alignment));
    if (allocation->size < std::max<Bytes>(step.size, 1))
        complain(fmt::format("{} bytes are granted as {}", step.size, allocation->size));
    if (checker_)
        checker_->granted(request, touchable(*allocation, step.size));
    live_.push_back({*allocation, step.size, {step.stream}});
    write(live_.back(), step.stream);
}

// A refused request has changed nothing, but for caches that were emptied on the way, and frees
// that waited and were made.
void ProgramRun::check_refusal(const Step& step, OutOfMemory why, const DeviceCounters& before) {
    if ((why.cause == OutOfMemory::Cause::too_large) != (step.size >= kLargestRequest))
        complain(fmt::format("{} bytes are refused as {}", step.size, to_text(why.cause)));
    const bool keeps = dynamic_cast<const CachedAllocator*>(allocator_.get()) != nullptr ||
                       dynamic_cast<const DeferringAllocator*>(allocator_.get()) != nullptr;
    const bool may_empty = keeps && step.size < kLargestRequest;
    if (pool_shrunk_ == 0 && !may_empty &&
        clearing_calls(sim_->counters()) == clearing_calls(before) &&
        !same_regions(regions_, regions_of(*allocator_)))
        complain("a refused request has changed the regions");
}

void ProgramRun::write(const Live& live, StreamId stream) {
    if (live.requested == 0)
        return;
    const auto written = device().fill(live.allocation.address, 0x5a, live.requested, stream);
    if (!written)
        complain(fmt::format("a write of {} bytes at {:#x} fails", live.requested,
                             to_integer(live.allocation.address)));
}

void ProgramRun::use(std::size_t index, StreamId stream) {
    Live& live = live_[index];
    const DeviceResult<EventId> written = device().record(live.streams.back());
    TM_CHECK(written && device().wait(stream, *written));
    live.streams.push_back(stream);
    allocator_->record_use(live.allocation, stream);
    if (checker_)
        checker_->used_on(touchable(live.allocation, live.requested), stream);
    write(live, stream);
}

void ProgramRun::retire(std::size_t index) {
    Live& live = live_[index];
    allocator_->retire(live.allocation);
    look();
    for (const StreamId stream : live.streams)
        synchronize(stream);
    give_back(index);
}

void ProgramRun::give_back(std::size_t index) {
    const Live live = live_[index];
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
    if (checker_)
        checker_->deallocating(touchable(live.allocation, live.requested));
    allocator_->deallocate(live.allocation, live.streams.back());
}

void ProgramRun::give_all_back() {
    while (!live_.empty() && complaint_.empty()) {
        give_back(live_.size() - 1);
        look();
    }
    allocator_->trim(TrimLevel::all);
    look();
}

std::string ProgramRun::finish() {
    const bool after_failure = failed();
    faulty_->set_plan({});
    give_all_back();
    complain(violation_after_trim(*allocator_, after_failure));
    return complaint_;
}

std::string ProgramRun::finish_lost() {
    give_all_back();
    if (allocator_->usage().allocated != 0)
        complain(fmt::format("{} bytes count as allocated when all is given back",
                             allocator_->usage().allocated));
    allocator_.reset();
    return complaint_;
}

}  // namespace tidemark::support

// Drives both sides and looks for the first difference.
#include "tests/model/duel.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "core/allocator/spec.h"
#include "core/base/check.h"
#include "tests/model/driver_device.h"
#include "tests/model/slow_torch.h"

namespace tidemark::model {
namespace {

using Kind = DuelStep::Kind;

bool same(const Region& a, const Region& b) {
    return a.range == b.range && a.state == b.state && a.stream == b.stream && a.pool == b.pool;
}

std::string text_of(const Region& region) {
    return fmt::format("{:#x} +{} state {} stream {} pool {}", to_integer(region.range.begin),
                       region.range.size, static_cast<int>(region.state), to_integer(region.stream),
                       to_integer(region.pool));
}

template <class T>
std::string text_of(const std::vector<T>& list) {
    std::ostringstream out;
    for (const T& item : list)
        out << item << "; ";
    return out.str();
}

// How the pool of a slot behaves: each slot in another way.
PoolTraits traits_of(std::uint32_t slot) {
    return {.serves_on_refusal = slot == 2 || slot == 4, .splits = slot != 3 && slot != 4};
}

class Duel {
  public:
    explicit Duel(const DuelProgram& program);

    // "" or what differs.
    std::string take(const DuelStep& step);

    // Lets go of everything, and looks at what is left.
    std::string finish();

    const Coverage& coverage() const { return model_.coverage(); }

  private:
    struct Slot {
        PoolId pool = PoolId::default_pool;
        std::uint32_t scopes = 0;
        bool used = false;
    };

    std::string allocate(const DuelStep& step);
    void with_live(const DuelStep& step);
    void with_device(const DuelStep& step);
    void with_pools(const DuelStep& step);
    std::string reconfigure(const DuelStep& step);
    void clone();
    void close(Slot& slot);
    void trim_pool(std::uint32_t which);
    std::string compare_counters() const;
    std::string compare_regions() const;
    std::string compare();

    const DuelProgram& program_;
    Driver driver_;  // of the model
    SlowTorch model_;
    std::unique_ptr<DriverDevice> device_;  // of the policy
    std::unique_ptr<Allocator> policy_;
    std::vector<Allocation> live_;  // oldest first
    std::array<Slot, kSlots> slots_;
    std::vector<PoolId> closed_;
    std::uint32_t next_pool_ = 1;
};

Duel::Duel(const DuelProgram& program)
    : program_(program),
      driver_(program.device),
      model_(program.settings.front().values, driver_),
      device_(std::make_unique<DriverDevice>(program.device)) {
    const Result<PolicySpec> spec = parse_policy(program.settings.front().text);
    TM_CHECK(spec);
    auto policy = spec->make(*device_);
    TM_CHECK(policy);
    policy_ = std::move(*policy);
    for (std::size_t i = 1; i < slots_.size(); ++i)
        slots_[i].pool = PoolId{next_pool_++};
}

std::string Duel::take(const DuelStep& step) {
    driver_.begin_step();
    device_->driver().begin_step();
    std::string difference;
    switch (step.kind) {
        case Kind::allocate:
            difference = allocate(step);
            break;
        case Kind::deallocate:
        case Kind::retire:
        case Kind::record_use:
            with_live(step);
            break;
        case Kind::finish:
        case Kind::crowd:
        case Kind::refuse:
            with_device(step);
            break;
        case Kind::trim_all:
        case Kind::trim_unused:
        case Kind::begin_pool:
        case Kind::end_pool:
        case Kind::close_pool:
        case Kind::trim_pool:
            with_pools(step);
            break;
        case Kind::reconfigure:
            difference = reconfigure(step);
            break;
        case Kind::compare:
            difference = compare_regions();
            break;
        case Kind::clone:
            clone();
            break;
    }
    return difference.empty() ? compare() : difference;
}

std::string Duel::allocate(const DuelStep& step) {
    Slot& slot = slots_[step.slot];
    slot.used = true;
    const SlowTorch::Grant expected = model_.allocate(step.size, step.stream, slot.pool);
    const auto granted = policy_->allocate(
        {.size = step.size, .alignment = 512, .stream = step.stream, .pool = slot.pool});
    const std::string model =
        expected.refusal
            ? fmt::format("refused: {}", to_text(*expected.refusal))
            : fmt::format("{:#x} +{}", to_integer(expected.block.begin), expected.block.size);
    const std::string policy =
        granted ? fmt::format("{:#x} +{}", to_integer(granted->address), granted->size)
                : fmt::format("refused: {}", to_text(granted.error().cause));
    if (granted)
        live_.push_back(*granted);
    if (model == policy)
        return {};
    return fmt::format("model: {}, {}\npolicy: {}, {}", model, text_of(driver_.effects()), policy,
                       text_of(device_->driver().effects()));
}

void Duel::with_live(const DuelStep& step) {
    if (live_.empty())
        return;
    const std::size_t back = DuelStep::kNewest - step.which;
    const std::size_t number =
        back < 2 ? live_.size() - 1 - std::min(back, live_.size() - 1) : step.which % live_.size();
    Allocation& allocation = live_[number];
    const Address address = allocation.address;
    if (step.kind == Kind::deallocate) {
        model_.deallocate(address);
        policy_->deallocate(allocation, step.stream);
        live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(number));
    } else if (allocation.retired) {
        return;
    } else if (step.kind == Kind::retire) {
        model_.retire(address);
        policy_->retire(allocation);
    } else {
        model_.record_use(address, step.stream);
        policy_->record_use(allocation, step.stream);
    }
}

void Duel::with_device(const DuelStep& step) {
    for (Driver* const driver : {&driver_, &device_->driver()}) {
        if (step.kind == Kind::finish)
            driver->finish(step.stream, step.which);
        else if (step.kind == Kind::crowd)
            driver->take_by_others(step.size);
        else
            driver->begin_refusal(step.which, step.size);
    }
}

void Duel::with_pools(const DuelStep& step) {
    Slot& slot = slots_[step.slot];
    switch (step.kind) {
        case Kind::trim_all:
            model_.empty_cache();
            policy_->trim(TrimLevel::all);
            break;
        case Kind::trim_unused:
            model_.trim_unused();
            policy_->trim(TrimLevel::unused);
            break;
        case Kind::begin_pool:
            model_.begin_pool(slot.pool, traits_of(step.slot));
            policy_->begin_pool(slot.pool, traits_of(step.slot));
            slot.used = true;
            ++slot.scopes;
            break;
        case Kind::end_pool:
            if (slot.scopes == 0)
                break;
            --slot.scopes;
            model_.end_pool(slot.pool);
            policy_->end_pool(slot.pool);
            break;
        case Kind::close_pool:
            close(slot);
            break;
        default:
            trim_pool(step.which);
    }
}

// Of the closed pools that still hold something.
void Duel::trim_pool(std::uint32_t which) {
    std::vector<PoolId> held;
    for (const Region& region : model_.regions()) {
        const bool known = std::find(held.begin(), held.end(), region.pool) != held.end();
        if (!known && std::find(closed_.begin(), closed_.end(), region.pool) != closed_.end())
            held.push_back(region.pool);
    }
    if (held.empty() || model_.in_scope())
        return;
    model_.trim_pool(held[which % held.size()]);
    policy_->trim_pool(held[which % held.size()]);
}

// Nobody asks for the pool any more; the slot gets another one.
void Duel::close(Slot& slot) {
    if (!slot.used || slot.scopes != 0)
        return;
    model_.close_pool(slot.pool);
    policy_->close_pool(slot.pool);
    closed_.push_back(slot.pool);
    slot = {.pool = PoolId{next_pool_++}};
}

std::string Duel::reconfigure(const DuelStep& step) {
    const DuelSettings& settings = program_.settings[step.which % program_.settings.size()];
    const Result<PolicySpec> spec = parse_policy(settings.text);
    TM_CHECK(spec);
    model_.change_settings(settings.values);
    const Result<void> changed = policy_->reconfigure(spec->options);
    return changed ? std::string() : fmt::format("reconfigure: {}", changed.error().what);
}

void Duel::clone() {
    std::unique_ptr<DriverDevice> device = device_->copy();
    std::unique_ptr<Allocator> policy = policy_->clone(*device);
    TM_CHECK(policy);
    policy_ = std::move(policy);
    device_ = std::move(device);
}

std::string Duel::compare_counters() const {
    const auto line = [](const Usage& usage, const AllocatorStats& stats, const Driver& driver) {
        return fmt::format(
            "reserved {} allocated {} active {} retries {} out_of_memory {} segments +{} -{} maps "
            "+{} -{} of the device {}",
            usage.reserved, usage.allocated, usage.active, stats.retries, stats.out_of_memory,
            stats.segments_created, stats.segments_released, stats.maps, stats.unmaps,
            driver.used());
    };
    const std::string model = line(model_.usage(), model_.stats(), driver_);
    const std::string policy = line(policy_->usage(), policy_->stats(), device_->driver());
    return model == policy ? std::string() : fmt::format("model: {}\npolicy: {}", model, policy);
}

std::string Duel::compare() {
    if (!device_->misuse().empty())
        return "the policy misused the device: " + device_->misuse();
    if (driver_.effects() != device_->driver().effects())
        return fmt::format("model: {}\npolicy: {}", text_of(driver_.effects()),
                           text_of(device_->driver().effects()));
    driver_.clear_effects();
    device_->driver().clear_effects();
    const Usage& expected = model_.usage();
    const Usage& usage = policy_->usage();
    const AllocatorStats& wanted = model_.stats();
    const AllocatorStats& stats = policy_->stats();
    const bool equal =
        expected.reserved == usage.reserved && expected.allocated == usage.allocated &&
        expected.active == usage.active && wanted.retries == stats.retries &&
        wanted.out_of_memory == stats.out_of_memory &&
        wanted.segments_created == stats.segments_created &&
        wanted.segments_released == stats.segments_released && wanted.maps == stats.maps &&
        wanted.unmaps == stats.unmaps && driver_.used() == device_->driver().used();
    return equal ? std::string() : compare_counters();
}

std::string Duel::compare_regions() const {
    const std::vector<Region> expected = model_.regions();
    std::vector<Region> regions;
    policy_->for_each_region([&regions](const Region& region) { regions.push_back(region); });
    std::sort(regions.begin(), regions.end(),
              [](const Region& a, const Region& b) { return a.range.begin < b.range.begin; });
    for (std::size_t i = 0; i < std::max(expected.size(), regions.size()); ++i) {
        if (i < expected.size() && i < regions.size() && same(expected[i], regions[i]))
            continue;
        return fmt::format("region {}\nmodel: {}\npolicy: {}", i,
                           i < expected.size() ? text_of(expected[i]) : "none",
                           i < regions.size() ? text_of(regions[i]) : "none");
    }
    return {};
}

std::string Duel::finish() {
    std::string difference = compare_regions();
    for (std::uint32_t slot = 1; slot < kSlots && difference.empty(); ++slot) {
        while (slots_[slot].scopes != 0 && difference.empty())
            difference = take({.kind = Kind::end_pool, .slot = slot});
        if (difference.empty())
            difference = take({.kind = Kind::close_pool, .slot = slot});
    }
    while (!live_.empty() && difference.empty())
        difference = take({.kind = Kind::deallocate});
    if (difference.empty())
        difference = take({.kind = Kind::trim_all});
    if (difference.empty())
        difference = compare_regions();
    if (difference.empty() && model_.usage().reserved + driver_.used() != 0)
        return compare_counters() + " is left at the end";
    return difference;
}

}  // namespace

std::optional<Difference> duel(const DuelProgram& program, Coverage& coverage) {
    Duel run(program);
    std::string difference;
    std::size_t step = 0;
    while (step < program.steps.size() && difference.empty())
        difference = run.take(program.steps[step++]);
    if (difference.empty())
        difference = run.finish();
    coverage.add(run.coverage());
    if (difference.empty())
        return std::nullopt;
    return Difference{step, std::move(difference)};
}

// Leaves out runs of steps, ever shorter ones, as long as something still differs.
DuelProgram shrink(const DuelProgram& program, std::size_t attempts) {
    DuelProgram best = program;
    Coverage ignored;
    const auto found = duel(best, ignored);
    if (!found)
        return best;
    best.steps.resize(found->step);
    for (std::size_t run = std::max<std::size_t>(best.steps.size() / 2, 1); run != 0; run /= 2) {
        for (std::size_t at = best.steps.size(); at > 0 && attempts != 0; --attempts) {
            const std::size_t begin = at > run ? at - run : 0;
            DuelProgram candidate = best;
            candidate.steps.erase(candidate.steps.begin() + static_cast<std::ptrdiff_t>(begin),
                                  candidate.steps.begin() + static_cast<std::ptrdiff_t>(at));
            if (const auto difference = duel(candidate, ignored)) {
                candidate.steps.resize(std::min(candidate.steps.size(), difference->step));
                best = std::move(candidate);
            }
            at = std::min(begin, best.steps.size());
        }
    }
    return best;
}

std::string describe_difference(const DuelProgram& program, Coverage& coverage) {
    const auto difference = duel(program, coverage);
    if (!difference)
        return {};
    Coverage ignored;
    const DuelProgram shrunk = shrink(program, 3000);
    const auto shortest = duel(shrunk, ignored);
    std::ostringstream out;
    out << "seed " << program.seed << " step " << difference->step << '\n'
        << difference->text << "\n\nshrunk to " << shrunk.steps.size() << " steps, on "
        << shrunk.device.capacity << " bytes, placement "
        << static_cast<int>(shrunk.device.placement)
        << (shrunk.device.free_waits ? ", free waits" : ", free doesn't wait") << '\n';
    for (const DuelSettings& settings : shrunk.settings)
        out << "    " << settings.text << '\n';
    for (const DuelStep& step : shrunk.steps)
        out << "    " << step << '\n';
    if (shortest)
        out << shortest->text << '\n';
    return out.str();
}

}  // namespace tidemark::model

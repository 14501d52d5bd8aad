// The protocol of the caches, in every order in which threads can take its locks: what the threads
// are answered is what they would be answered if their calls were made one after the other, in some
// order; no two own the same bytes; and all memory goes back.
#include "tests/core/concurrent/every_order.h"

#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/concurrent/shared_allocator.inc"  // for a lock of our own
#include "tests/support/policy.h"

using namespace tidemark;
using support::EveryOrder;
using support::make_policy;
using support::ScheduledLock;
using support::small_device;

namespace {

using Scheduled = BasicSharedAllocator<ScheduledLock>;

constexpr Bytes kSize = 1_MiB;

enum class Op : std::uint8_t {
    take,         // keeps what it is granted
    take_larger,  // all that the device has
    drop,         // what this thread took last
    drop_given,   // the block that was there at the beginning
    use_given,    // on another stream
    trim,
    status,
    close,
};

using Program = std::vector<std::vector<Op>>;  // of each thread

// What happens in one order.
class Run {
  public:
    Run(std::size_t threads, Bytes capacity)
        : device_(small_device(capacity)),
          shared_(std::make_unique<Scheduled>(make_policy("best-fit", device_), device_,
                                              Scheduled::LeakReport{},
                                              ThreadCaches{.budget = 8_MiB, .threads = 2})),
          before_(device_.memory().free),
          answers_(threads),
          taken_(threads),
          capacity_(capacity) {
        given_ = shared_->allocate({.size = kSize})->begin;
        owned_.insert(given_);
    }

    void step(std::size_t thread, Op op) { answers_[thread] += answer(thread, op) + " "; }

    // Every thread's answers and the sums at the end.
    std::string outcome() {
        const SharedStatus status = shared_->status();
        std::string text = fmt::format("{} granted, {} freed, {} live, {} requested",
                                       status.granted, status.freed, status.live, status.requested);
        for (const std::string& each : answers_)
            text += " | " + each;
        return text;
    }

    // Nothing is lost: what lives is what the threads hold, and the rest is the device's.
    bool whole() {
        const SharedStatus status = shared_->status();
        bool right = !overlapped_ && status.usage.allocated == status.requested;
        const std::vector<LiveAllocation> left = shared_->close();
        if (!closed_)
            right = right && left.size() == owned_.size() && status.live == owned_.size();
        return right && (!left.empty() || closed_ || device_.memory().free == before_);
    }

  private:
    std::string answer(std::size_t thread, Op op) {
        switch (op) {
            case Op::take:
                return take(thread, kSize);
            case Op::take_larger:
                return take(thread, capacity_);
            case Op::drop: {
                if (taken_[thread].empty())
                    return "nothing";
                const Address address = taken_[thread].back();
                taken_[thread].pop_back();
                return drop(address);
            }
            case Op::drop_given:
                return drop(given_);
            case Op::use_given: {
                const auto used = shared_->record_use(given_, StreamId{9});
                return used ? "used" : std::string(to_text(used.error()));
            }
            case Op::trim:
                shared_->trim(TrimLevel::all);
                return "trimmed";
            case Op::status: {
                const SharedStatus status = shared_->status();
                return fmt::format("{}-{}={} {}", status.granted, status.freed, status.live,
                                   status.usage.allocated);
            }
            case Op::close:
                closed_ = true;
                return fmt::format("closed with {}", shared_->close().size());
        }
        return {};
    }

    std::string take(std::size_t thread, Bytes size) {
        const auto granted = shared_->allocate({.size = size});
        if (!granted)
            return "refused";
        overlapped_ = !owned_.insert(granted->begin).second || overlapped_;
        taken_[thread].push_back(granted->begin);
        return "granted";
    }

    // The claim goes first: once it is freed any thread may take it. If somebody else freed it
    // meanwhile, that was its claim.
    std::string drop(Address address) {
        owned_.erase(address);
        const auto freed = shared_->free(address);
        return freed ? "freed" : std::string(to_text(freed.error()));
    }

    SimDevice device_;
    std::unique_ptr<Scheduled> shared_;
    Bytes before_;
    std::vector<std::string> answers_;
    std::vector<std::vector<Address>> taken_;
    std::set<Address> owned_;
    Bytes capacity_;
    Address given_ = Address::null;
    bool overlapped_ = false;
    bool closed_ = false;
};

// The outcomes of whole calls one after the other, in every order that the threads allow.
void collect(const Program& program, Bytes capacity, std::vector<std::size_t>& order,
             std::vector<std::size_t> next, std::set<std::string>& outcomes) {
    bool ended = true;
    for (std::size_t i = 0; i < program.size(); ++i) {
        if (next[i] == program[i].size())
            continue;
        ended = false;
        order.push_back(i);
        ++next[i];
        collect(program, capacity, order, next, outcomes);
        --next[i];
        order.pop_back();
    }
    if (!ended)
        return;
    Run run(program.size(), capacity);
    std::vector<std::size_t> at(program.size());
    for (const std::size_t thread : order)
        run.step(thread, program[thread][at[thread]++]);
    outcomes.insert(run.outcome());
}

void check_every_order(const Program& program, Bytes capacity = 64_MiB) {
    std::set<std::string> allowed;
    std::vector<std::size_t> order;
    collect(program, capacity, order, std::vector<std::size_t>(program.size()), allowed);
    std::set<std::string> seen;
    std::unique_ptr<Run> run;
    std::string wrong;
    EveryOrder orders(static_cast<unsigned>(program.size()));

    const std::uint64_t tried =
        orders.run([&] { run = std::make_unique<Run>(program.size(), capacity); },
                   [&](unsigned thread) {
                       for (const Op op : program[thread])
                           run->step(thread, op);
                   },
                   [&] {
                       const std::string outcome = run->outcome();
                       seen.insert(outcome);
                       if (!allowed.contains(outcome))
                           wrong = outcome;
                       else if (!run->whole())
                           wrong = "memory was lost or granted twice: " + outcome;
                       return wrong.empty();
                   });

    INFO(tried << " orders, " << seen.size() << " outcomes of " << allowed.size());
    CHECK(tried > 1);
    CHECK(wrong == "");
}

}  // namespace

TEST_CASE("in every order: threads that allocate and free the same size",
          "[concurrent][orders][one-thread]") {
    check_every_order({{Op::take, Op::drop, Op::take}, {Op::take, Op::drop, Op::take}});
}

TEST_CASE("in every order: a block freed by another thread than its own",
          "[concurrent][orders][one-thread]") {
    check_every_order({{Op::drop_given, Op::take}, {Op::take, Op::drop, Op::status}});
}

TEST_CASE("in every order: of threads that free one block one does",
          "[concurrent][orders][one-thread]") {
    check_every_order({{Op::drop_given, Op::status}, {Op::drop_given}, {Op::drop_given}});
}

TEST_CASE("in every order: a request gets what another thread's cache holds",
          "[concurrent][orders][one-thread]") {
    check_every_order({{Op::drop_given, Op::status}, {Op::take_larger}}, 4_MiB);
    check_every_order({{Op::take, Op::drop, Op::take}, {Op::drop_given, Op::take_larger}}, 4_MiB);
}

TEST_CASE("in every order: a use on another stream beside the free",
          "[concurrent][orders][one-thread]") {
    check_every_order({{Op::use_given, Op::status}, {Op::drop_given, Op::take}});
}

TEST_CASE("in every order: caches are emptied while others free",
          "[concurrent][orders][one-thread]") {
    check_every_order({{Op::take, Op::drop}, {Op::trim}});
    check_every_order({{Op::drop_given, Op::take}, {Op::trim, Op::status}});
}

TEST_CASE("in every order: three threads that share what they have",
          "[concurrent][orders][one-thread]") {
    check_every_order({{Op::drop_given, Op::take}, {Op::take, Op::drop}, {Op::status}});
    check_every_order({{Op::drop_given}, {Op::take_larger}, {Op::take, Op::drop}}, 4_MiB);
    check_every_order({{Op::drop_given}, {Op::trim}, {Op::take, Op::drop}});
}

TEST_CASE("in every order: the allocator is closed under its threads",
          "[concurrent][orders][one-thread]") {
    check_every_order({{Op::drop_given, Op::take}, {Op::close}});
}

// DeviceShadow: what a device handed out and has not got back: memory, reservations, handles and
// mappings, from its calls that succeeded. It reports anything that is freed twice or was never
// handed out; and at the end, what is missing.
//
// Physical bytes have addresses of their own, so that two mappings of one handle share them; memory
// that is not mapped keeps its address.
//
// Not thread-safe. O(log ranges) a call, and O(mappings) if a range has many.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "backends/wrap/device_call.h"
#include "backends/wrap/hazards.h"

namespace tidemark {

// When things were freed, by address or handle, to recognise a second free. Bounded: the oldest are
// dropped.
class FreedLog {
  public:
    void add(std::uint64_t key, std::uint64_t event);

    // The event at which `key` was freed, or null.
    const std::uint64_t* find(std::uint64_t key) const;

    void forget(std::uint64_t key) { events_.erase(key); }

  private:
    static constexpr std::size_t kMostKept = std::size_t{1} << 20;

    std::unordered_map<std::uint64_t, std::uint64_t> events_;
    std::deque<std::uint64_t> order_;
};

class DeviceShadow {
  public:
    enum class LoanKind : std::uint8_t { plain, pool, host, registered, reservation, graph };
    enum class Access : std::uint8_t { outside, none, read, write };

    // A range that the device handed out.
    struct Loan {
        Bytes size = 0;
        LoanKind kind = LoanKind::plain;
        std::uint64_t event = 0;
    };

    struct Mapping {
        Bytes size = 0;
        std::uint64_t handle = 0;
        Address physical = Address::null;
        std::uint64_t event = 0;
        Access access = Access::none;
    };

    // The physical memory behind a range of addresses.
    struct Backing {
        std::vector<Range> extents;     // physical
        Access access = Access::write;  // to all of it
    };

    // `log` must outlive it.
    explicit DeviceShadow(HazardLog& log) : log_(log) {}

    Backing backing_of(Range range) const;

    // The device handed out a range, or a handle of `size` bytes.
    void add_loan(Range range, LoanKind kind);
    void add_handle(std::uint64_t id, Bytes size);

    // The loan at call.address if it is of `kind`, otherwise null; then the call was wrong and is
    // reported, unless it succeeded (`ok`). Memory that a launch left may be freed like either kind
    // of device memory; `kind` says so afterwards.
    const Loan* find_loan(const CallArguments& call, bool ok, LoanKind& kind);

    // The loan is returned.
    void end_loan(Address begin);

    // Graph memory stops being memory when its capture has ended (false: it wasn't graph memory),
    // until a launch.
    bool suspend_loan(Address begin) { return loans_.erase(begin) != 0; }

    void resume_loan(Range range);

    void mapped(const CallArguments& call);
    void access_set(const CallArguments& call);
    void releasing(const CallArguments& call, bool ok);
    void unreserving(const CallArguments& call, bool ok);

    // An unmap that the device refused.
    void unmap_refused(const CallArguments& call);

    // Ends the mappings that begin in `range`, and calls visit(begin, mapping) for each before.
    template <class Visit>
    void end_mappings(Range range, Visit visit) {
        auto mapping = mappings_.lower_bound(range.begin);
        while (mapping != mappings_.end() && mapping->first < range.begin + range.size) {
            visit(mapping->first, mapping->second);
            freed_loans_.add(to_integer(mapping->first), log_.event());
            drop(mapping->second);
            mapping = mappings_.erase(mapping);
        }
    }

    // Whatever is still handed out is a leak. Afterwards nothing is.
    void report_leaks();

  private:
    static constexpr std::uint64_t kPhysicalBegin = std::uint64_t{1} << 62;

    struct Handle {
        Bytes size = 0;
        Address physical = Address::null;
        std::uint64_t event = 0;
        std::uint32_t mappings = 0;
        bool released = false;
    };

    const Loan* loan_around(Range range) const;
    void drop(const Mapping& mapping);
    void freed_wrongly(const CallArguments& call, std::uint64_t key, const FreedLog& log);

    HazardLog& log_;
    std::map<Address, Loan> loans_;
    std::map<Address, Mapping> mappings_;
    std::map<std::uint64_t, Handle> handles_;
    std::uint64_t next_physical_ = kPhysicalBegin;
    FreedLog freed_loans_;  // by address; mappings too
    FreedLog freed_handles_;
};

}  // namespace tidemark

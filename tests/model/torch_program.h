// Random programs for the comparison of the slow model with the `torch` policy: settings, a device,
// and thousands of steps. A step names things by number ("the 7th of what is live"), so that any
// list of steps is a program: what finds nothing to act on does nothing.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/base/units.h"
#include "tests/model/driver.h"
#include "tests/model/slow_settings.h"

namespace tidemark::model {

// The same settings twice: as the model takes them, and as the policy does ("torch:key=value").
struct DuelSettings {
    SlowSettings values;
    std::string text;
};

struct DuelStep {
    enum class Kind : std::uint8_t {
        allocate,     // `size` on `stream` for pool `slot`
        deallocate,   // live number `which`
        retire,       // live number `which`
        record_use,   // live number `which` on `stream`
        finish,       // `which` per cent of what `stream` has to do
        trim_all,     //
        trim_unused,  //
        begin_pool,   // of `slot`
        end_pool,     //
        close_pool,   // the slot gets another pool then
        trim_pool,    // closed pool number `which`
        reconfigure,  // to settings number `which`
        crowd,        // others have `size` bytes of the device
        refuse,       // after `which` more pages or segments, `size` of them are refused
        compare,      // the complete maps
        clone,        // the policy goes on as its own clone
    };
    static constexpr std::uint32_t kNewest = ~std::uint32_t{0};  // for `which`; - 1: the one before

    Kind kind = Kind::allocate;
    StreamId stream = StreamId::default_stream;
    std::uint32_t which = 0;
    std::uint32_t slot = 0;  // 0: the default pool
    Bytes size = 0;
};

constexpr std::uint32_t kSlots = 5;

std::ostream& operator<<(std::ostream& out, const DuelStep& step);

struct DuelProgram {
    std::uint64_t seed = 0;
    DriverSetup device;
    std::vector<DuelSettings> settings;  // the first to begin with; never empty
    std::vector<DuelStep> steps;
};

// The program of that seed, with about `steps` steps.
DuelProgram make_program(std::uint64_t seed, std::size_t steps);

// The version of a program, 100 * major + minor, and settings for it on a device of that capacity.
unsigned make_version(Random& random);
DuelSettings make_settings(Random& random, Bytes capacity, unsigned version);

}  // namespace tidemark::model

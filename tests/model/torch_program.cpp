// Random programs: phases in which memory grows, shrinks or is churned, by programs of a few kinds.
#include "tests/model/torch_program.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>

namespace tidemark::model {
namespace {

constexpr std::array<std::string_view, 16> kStepKinds{
    "allocate",    "deallocate", "retire",   "record_use", "finish",    "trim_all",
    "trim_unused", "begin_pool", "end_pool", "close_pool", "trim_pool", "reconfigure",
    "crowd",       "refuse",     "compare",  "clone"};

using Kind = DuelStep::Kind;

// How a stretch of the program behaves.
struct Phase {
    enum class Sizes : std::uint8_t { mixed, small, large, edges, repeated };
    enum class Order : std::uint8_t { any, newest, oldest };

    std::size_t steps = 0;
    unsigned allocates = 50;  // per cent of allocations and frees
    Sizes sizes = Sizes::mixed;
    Order order = Order::any;
    std::uint32_t streams = 1;
    unsigned pools = 0;  // per cent of requests that are for private pools
    unsigned uses = 0;   // per cent of steps
    Bytes largest = 0;   // as a rule
    unsigned trims = 0;  // per cent of steps, and half as many refusals by the device
    std::array<Bytes, 4> repeated{};
};

class Generator {
  public:
    Generator(DuelProgram& program, Random& random) : program_(program), random_(random) {}

    void run(std::size_t steps);

  private:
    bool chance(unsigned percent) { return random_.below(100) < percent; }

    bool chance_in(std::uint64_t count) { return random_.below(count) == 0; }

    Phase make_phase();
    Bytes any_size(const Phase& phase);
    Bytes edge();
    Bytes log_uniform(Bytes lowest, Bytes highest);
    std::uint32_t any_live(const Phase& phase);
    StreamId any_stream(const Phase& phase);
    void add(const Phase& phase);
    void add_rare(const Phase& phase);
    void add_refusal();
    void add_gap(const Phase& phase);
    void add_pool_step();

    void add(DuelStep step) { program_.steps.push_back(step); }

    DuelProgram& program_;
    Random& random_;
};

void Generator::run(std::size_t steps) {
    while (program_.steps.size() < steps) {
        const Phase phase = make_phase();
        for (std::size_t i = 0; i < phase.steps; ++i)
            add(phase);
        for (std::uint32_t slot = 1; slot < kSlots; ++slot) {
            for (int i = 0; i < 3 && chance(80); ++i)
                add({.kind = Kind::end_pool, .slot = slot});
        }
        if (chance(20))
            add({.kind = Kind::crowd});
    }
}

Phase Generator::make_phase() {
    Phase phase;
    phase.steps = 20 + random_.below(300);
    static constexpr unsigned kAllocates[] = {5, 20, 40, 45, 50, 50, 55, 75, 90};
    phase.allocates = kAllocates[random_.below(std::size(kAllocates))];
    phase.sizes = Phase::Sizes{static_cast<std::uint8_t>(random_.below(5))};
    phase.order = Phase::Order{static_cast<std::uint8_t>(random_.below(3))};
    phase.streams = chance(60) ? 1 : 2 + static_cast<std::uint32_t>(random_.below(3));
    phase.pools = chance(60) ? 0 : static_cast<unsigned>(random_.below(80));
    phase.uses = chance(60) ? 0 : static_cast<unsigned>(random_.below(25));
    static constexpr Bytes kParts[] = {6, 12, 25, 50, 100};
    phase.largest =
        std::max(program_.device.capacity / kParts[random_.below(std::size(kParts))], 3_MiB);
    phase.trims = chance(60) ? 0 : 1 + static_cast<unsigned>(random_.below(12));
    for (Bytes& size : phase.repeated) {
        size = any_size(phase);
        if (size > 10_MiB && chance(50))
            size = align_up(size, 2_MiB);  // so that sums of blocks fit exactly
    }
    return phase;
}

Bytes Generator::log_uniform(Bytes lowest, Bytes highest) {
    const auto octaves = static_cast<unsigned>(std::bit_width(highest / lowest));
    const Bytes floor = lowest << random_.below(octaves);
    return std::min(highest, floor + random_.below(floor));
}

// A size at which something changes, or next to it.
Bytes Generator::edge() {
    const SlowSettings& settings =
        program_.settings[random_.below(program_.settings.size())].values;
    const Bytes bounded = std::min(settings.max_split, program_.device.capacity);
    const Bytes edges[] = {512,
                           1_MiB,
                           2_MiB,
                           10_MiB,
                           20_MiB,
                           settings.large_segment,
                           settings.large_segment - 1_MiB,
                           bounded,
                           bounded - 1_MiB,
                           bounded + settings.max_non_split_rounding,
                           Bytes{512} << random_.below(16),
                           Bytes{1_MiB} << random_.below(6),
                           (Bytes{1_MiB} << random_.below(6)) / 8 * (9 + random_.below(7)),
                           2_MiB * (1 + random_.below(30))};
    static constexpr std::int64_t kOffsets[] = {0, 0, 0, 1, -1, 512, -512, 513, -511};
    const Bytes size = edges[random_.below(std::size(edges))] +
                       static_cast<Bytes>(kOffsets[random_.below(std::size(kOffsets))]);
    return std::max<Bytes>(size, 1);
}

Bytes Generator::any_size(const Phase& phase) {
    const Bytes capacity = program_.device.capacity;
    if (chance_in(400)) {
        const Bytes extremes[] = {0,
                                  1,
                                  kLargestRequest,
                                  kLargestRequest - 1,
                                  capacity,
                                  capacity / 2 + random_.below(capacity)};
        return extremes[random_.below(std::size(extremes))];
    }
    if (phase.trims != 0 && chance_in(8))
        return 10_MiB + random_.below(capacity / 3);
    switch (phase.sizes) {
        case Phase::Sizes::small:
            return log_uniform(1, 1_MiB);
        case Phase::Sizes::large:
            return log_uniform(1_MiB, phase.largest);
        case Phase::Sizes::edges:
            return edge();
        case Phase::Sizes::mixed:
        case Phase::Sizes::repeated:
            break;
    }
    return chance(20) ? edge() : log_uniform(256, phase.largest);
}

std::uint32_t Generator::any_live(const Phase& phase) {
    if (phase.order == Phase::Order::oldest && chance(90))
        return 0;
    if (phase.order == Phase::Order::newest && chance(90))
        return DuelStep::kNewest;
    return static_cast<std::uint32_t>(random_.below(1U << 30U));
}

StreamId Generator::any_stream(const Phase& phase) {
    return StreamId{static_cast<std::uint32_t>(random_.below(phase.streams))};
}

void Generator::add(const Phase& phase) {
    if (chance(phase.uses)) {
        const StreamId stream{static_cast<std::uint32_t>(random_.below(4))};
        if (chance(30))
            add({.kind = Kind::finish,
                 .stream = stream,
                 .which = chance(50) ? 100 : static_cast<std::uint32_t>(random_.below(100))});
        else
            add({.kind = Kind::record_use, .stream = stream, .which = any_live(phase)});
        return;
    }
    if (chance_in(25)) {
        add_rare(phase);
        return;
    }
    if (chance(phase.trims)) {
        if (chance(33))
            add_refusal();
        else
            add({.kind = chance(50) ? Kind::trim_all : Kind::trim_unused});
        return;
    }
    if (!chance(phase.allocates)) {
        add({.kind = chance_in(30) ? Kind::retire : Kind::deallocate, .which = any_live(phase)});
        return;
    }
    DuelStep step{.kind = Kind::allocate, .stream = any_stream(phase)};
    if (chance(phase.pools))
        step.slot = static_cast<std::uint32_t>(random_.below(kSlots));
    if (phase.sizes == Phase::Sizes::repeated && chance(95))
        step.size = phase.repeated[random_.below(phase.repeated.size())] * (chance(90) ? 1 : 2);
    else
        step.size = any_size(phase);
    add(step);
}

void Generator::add_rare(const Phase& phase) {
    const auto number = static_cast<std::uint32_t>(random_.below(1U << 30U));
    if (phase.pools != 0 && chance(80)) {
        add_pool_step();
        return;
    }
    switch (random_.below(10)) {
        case 0:
            add({.kind = chance(50) ? Kind::trim_all : Kind::trim_unused});
            break;
        case 1:
            add({.kind = Kind::crowd,
                 .size = chance(50) ? 0 : random_.below(program_.device.capacity)});
            break;
        case 2:
        case 3:
            add_refusal();
            break;
        case 4:
            add({.kind = Kind::reconfigure, .which = number});
            break;
        case 5:
            add({.kind = chance(20) ? Kind::clone : Kind::compare});
            break;
        case 6:
            add_gap(phase);
            break;
        default:
            add({.kind = Kind::finish,
                 .stream = StreamId{static_cast<std::uint32_t>(random_.below(4))},
                 .which = 100});
    }
}

// Leaves a gap without pages before a small block, lets go of that, and wants more than the gap.
void Generator::add_gap(const Phase& phase) {
    const StreamId stream = any_stream(phase);
    const Bytes first = 12_MiB + random_.below(50_MiB);
    const Bytes second = 1_MiB + 1 + random_.below(4_MiB);
    add({.kind = Kind::allocate, .stream = stream, .size = first});
    add({.kind = Kind::allocate, .stream = stream, .size = second});
    add({.kind = Kind::deallocate, .which = DuelStep::kNewest - 1});
    add({.kind = Kind::trim_unused});
    add({.kind = Kind::deallocate, .which = DuelStep::kNewest});
    if (chance(40))
        add_refusal();
    add({.kind = Kind::allocate, .stream = stream, .size = first + second + random_.below(60_MiB)});
}

void Generator::add_refusal() {
    add({.kind = Kind::refuse,
         .which = static_cast<std::uint32_t>(random_.below(chance(50) ? 3 : 12)),
         .size = 1 + random_.below(3)});
}

void Generator::add_pool_step() {
    const auto slot = 1 + static_cast<std::uint32_t>(random_.below(kSlots - 1));
    const auto number = static_cast<std::uint32_t>(random_.below(1U << 30U));
    switch (random_.below(10)) {
        case 0:
            add({.kind = Kind::end_pool, .slot = slot});
            add({.kind = Kind::close_pool, .slot = slot});
            break;
        case 1:
        case 2:
            add({.kind = Kind::trim_pool, .which = number});
            break;
        case 3:
        case 4:
        case 5:
            add({.kind = Kind::begin_pool, .slot = slot});
            break;
        default:
            add({.kind = Kind::end_pool, .slot = slot});
    }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const DuelStep& step) {
    return out << kStepKinds[static_cast<std::size_t>(step.kind)] << " size " << step.size
               << " stream " << to_integer(step.stream) << " slot " << step.slot << " which "
               << step.which;
}

DuelProgram make_program(std::uint64_t seed, std::size_t steps) {
    Random random(seed);
    DuelProgram program{.seed = seed, .device = {}, .settings = {}, .steps = {}};
    // 320 MiB + 7: what is reserved ends 7 bytes beyond a page.
    static constexpr Bytes kCapacities[] = {96_MiB, 320_MiB + 7, 640_MiB, 1_GiB + 1_MiB, 3_GiB};
    program.device.capacity = kCapacities[random.below(std::size(kCapacities))];
    program.device.placement = DriverSetup::Placement{static_cast<std::uint8_t>(random.below(3))};
    program.device.free_waits = random.below(2) == 0;
    const std::size_t settings = random.below(2) == 0 ? 1 : 2 + random.below(3);
    const unsigned version = make_version(random);
    for (std::size_t i = 0; i < settings; ++i)
        program.settings.push_back(make_settings(random, program.device.capacity, version));
    Generator(program, random).run(steps);
    return program;
}

}  // namespace tidemark::model

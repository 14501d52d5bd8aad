// TierProgram: gaps, kernels, next uses, and what is assumed where a trace says nothing.
#include "tests/replay/tiers/programs.h"

using namespace tidemark;
using support::TierTrace;

TEST_CASE("uses with one launch number are one kernel, each buffer once", "[tiers][program]") {
    const TierProgram program = TierTrace()
                                    .allocate(0, 0, 100)
                                    .allocate(5, 1, 50)
                                    .use(10, 0, kWrites, 7)
                                    .use(11, 1, kReads, 7)
                                    .use(12, 0, kReads, 7)
                                    .use(30, 0, kReads, 8)
                                    .program();

    REQUIRE(program.steps.size() == 4);
    const TierStep& kernel = program.steps[2];
    CHECK(kernel.kind == StepKind::kernel);
    CHECK(kernel.count == 2);
    CHECK(kernel.gap == 5);
    CHECK(program.steps[3].gap == 20);  // from the kernel's begin
    CHECK(program.uses[0].reads);
    CHECK(program.uses[0].writes);
    CHECK(program.uses[0].next == 2);
    CHECK(program.uses[1].next == kNoUse);
    CHECK(program.peak_bytes == 150);
    CHECK(program.largest_kernel == 150);
}

TEST_CASE("kernels of two streams that are told of in turns stay whole", "[tiers][program]") {
    const TierProgram program = TierTrace()
                                    .allocate(0, 0, 10)
                                    .allocate(0, 1, 20)
                                    .allocate(0, 2, 40)
                                    .use(10, 0, kWrites, 1, 0)
                                    .use(11, 1, kWrites, 2, 1)
                                    .use(12, 2, kWrites, 1, 0)
                                    .until(20, 0)
                                    .until(20, 1)
                                    .program();

    std::uint32_t kernels = 0;
    for (const TierStep& step : program.steps)
        kernels += step.kind == StepKind::kernel ? 1U : 0U;
    CHECK(kernels == 2);
    CHECK(program.largest_kernel == 50);
}

TEST_CASE("a buffer that is read first had content from its birth", "[tiers][program]") {
    const TierProgram program = TierTrace()
                                    .allocate(0, 0, 10)
                                    .allocate(0, 1, 10)
                                    .use(1, 0, kReads, 1)
                                    .use(2, 1, kWrites, 2)
                                    .program();

    CHECK(program.steps[0].has_content);
    CHECK_FALSE(program.steps[1].has_content);
}

TEST_CASE("the host's memory takes part in nothing, and unknown launches are said",
          "[tiers][program]") {
    TraceInfo info;
    info.devices = {{"GPU"}, {"GPU"}, {std::string(kHostMemory)}};
    info.streams = {0};
    TraceEvent event;
    std::vector<TraceEvent> events;
    const auto add = [&](EventKind kind, std::uint32_t slot, std::uint16_t device,
                         std::uint8_t flags) {
        event.kind = kind;
        event.slot = slot;
        event.size = 10;
        event.device = device;
        event.flags = flags;
        events.push_back(event);
    };
    add(EventKind::allocate, 0, 0, 0);
    add(EventKind::allocate, 1, 2, 0);
    add(EventKind::use, 1, 2, kReads);
    add(EventKind::use, 0, 0, kWrites | kPerhaps);
    add(EventKind::use, kNoSlot, 0, kPerhaps);
    add(EventKind::free, 1, 2, 0);
    const auto program = make_tier_program(support::VectorTrace(events, info));
    REQUIRE(program);
    CHECK(program->devices == 1);
    CHECK(program->peak_bytes == 10);
    REQUIRE(program->uses.size() == 1);
    CHECK(program->uses[0].buffer == BufferId{0});
    CHECK(program->assumption.find("1 launch ") != std::string::npos);
}

TEST_CASE("without uses a buffer counts as written at birth and read at its end",
          "[tiers][program]") {
    const TierProgram program = TierTrace().allocate(0, 0, 10).free(9, 0).program();

    CHECK_FALSE(program.assumption.empty());
    REQUIRE(program.uses.size() == 2);
    CHECK(program.uses[0].writes);
    CHECK(program.uses[0].next == 1);
    CHECK(program.uses[1].reads);
}

TEST_CASE("a number that is used again is another buffer", "[tiers][program]") {
    const TierProgram program = TierTrace()
                                    .allocate(0, 0, 10)
                                    .use(1, 0, kWrites, 1)
                                    .free(2, 0)
                                    .allocate(3, 0, 30)
                                    .use(4, 0, kWrites, 2)
                                    .program();

    CHECK(program.uses[0].next == kNoUse);
    CHECK(program.steps[3].use == 1);
    CHECK(program.peak_bytes == 30);
}

TEST_CASE("events about buffers that do not live are passed over", "[tiers][program]") {
    const TierProgram program =
        TierTrace().allocate(0, 0, 10).free(1, 0).use(2, 0, kReads, 1).free(3, 0).program();

    CHECK(program.steps.size() == 2);
}

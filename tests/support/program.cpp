// How random programs are drawn and printed.
#include "tests/support/program.h"

#include <ostream>
#include <tuple>

namespace tidemark::support {
namespace {

// Mostly what real programs ask for; sometimes what nobody should.
rc::Gen<Bytes> sizes() {
    return rc::gen::weightedOneOf<Bytes>({
        {1, rc::gen::just(Bytes{0})},
        {6, rc::gen::inRange<Bytes>(1, 2048)},
        {6, rc::gen::map(rc::gen::inRange<Bytes>(1, 256), [](Bytes n) { return n * 4096; })},
        {5, rc::gen::map(rc::gen::inRange<Bytes>(1, 48), [](Bytes n) { return n * 512_KiB; })},
        {1, rc::gen::element<Bytes>(1_MiB - 1, 1_MiB, 1_MiB + 1, 2_MiB, 10_MiB, 20_MiB)},
        {1, rc::gen::element<Bytes>(1_GiB, 1024_GiB, kLargestRequest - 1, kLargestRequest,
                                    ~Bytes{0} - 511, ~Bytes{0})},
    });
}

rc::Gen<Step::Kind> kinds() {
    using Kind = Step::Kind;
    return rc::gen::weightedElement<Kind>({
        {10, Kind::allocate},
        {8, Kind::deallocate},
        {2, Kind::retire},
        {4, Kind::use},
        {1, Kind::synchronize},
        {2, Kind::idle},
        {1, Kind::trim_unused},
        {1, Kind::trim_all},
    });
}

// Streams beyond those that a StreamSet tracks one by one are among them.
rc::Gen<StreamId> streams() {
    return rc::gen::weightedElement<StreamId>({
        {8, StreamId{0}},
        {4, StreamId{1}},
        {4, StreamId{2}},
        {1, StreamId{62}},
        {1, StreamId{63}},
        {1, StreamId{1000}},
    });
}

rc::Gen<Step> steps() {
    const auto alignments = rc::gen::weightedElement<Bytes>({{6, Bytes{1}},
                                                             {2, Bytes{256}},
                                                             {1, Bytes{512}},
                                                             {1, 1_KiB},
                                                             {1, 4_KiB},
                                                             {1, 64_KiB},
                                                             {1, 2_MiB}});
    const auto pools = rc::gen::weightedElement<PoolId>({{9, PoolId{0}}, {1, PoolId{7}}});
    const auto parts = rc::gen::tuple(kinds(), rc::gen::inRange<std::uint32_t>(0, 64), streams(),
                                      sizes(), alignments, pools);
    return rc::gen::map(parts, [](const auto& values) {
        const auto& [kind, which, stream, size, alignment, pool] = values;
        return Step{kind, which, stream, size, alignment, pool};
    });
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Step& step) {
    const auto stream = to_integer(step.stream);
    switch (step.kind) {
        case Step::Kind::allocate:
            return out << "allocate " << step.size << " aligned " << step.alignment << " on stream "
                       << stream << " of pool " << to_integer(step.pool);
        case Step::Kind::deallocate:
            return out << "deallocate " << step.which;
        case Step::Kind::retire:
            return out << "retire " << step.which;
        case Step::Kind::use:
            return out << "use " << step.which << " on stream " << stream;
        case Step::Kind::synchronize:
            return out << "synchronize stream " << stream;
        case Step::Kind::idle:
            return out << "idle " << step.size << " ns";
        case Step::Kind::trim_unused:
            return out << "trim unused";
        case Step::Kind::trim_all:
            return out << "trim all";
    }
    return out;
}

rc::Gen<Program> programs(double scale) {
    return rc::gen::scale(scale, rc::gen::container<Program>(steps()));
}

}  // namespace tidemark::support

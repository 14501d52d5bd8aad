// A plan of any bytes: it is refused, or it serves whatever is asked for.
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/capture/packing_csv.h"
#include "core/policies/plan_rows.h"
#include "tests/fuzz/targets.h"

namespace tidemark::fuzz {

void plan_file(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const Result<NamedIntervals> packing = read_packing_csv(text, "plan.csv");
    if (!packing || packing->offsets.size() != packing->intervals.size())
        return;
    Result<policies::PlanRows> rows = policies::PlanRows::of(packing->intervals, packing->offsets);
    if (!rows)
        return;
    tidemark::Random random(bytes.size());
    std::vector<std::uint32_t> live;
    for (std::size_t step = 0; step < 2 * packing->intervals.size(); ++step) {
        const Interval& like = packing->intervals[random.below(packing->intervals.size())];
        if (const auto found = rows->find(like.size, 1)) {
            rows->take(found->row, StreamId{0});
            TM_CHECK(rows->offset(found->row) + rows->size(found->row) <= rows->height());
            live.push_back(found->row);
        }
        if (!live.empty() && random.below(2) == 0) {
            rows->let_go(live.back());
            live.pop_back();
        }
    }
    Bytes end = 0;
    for (const std::uint32_t row : rows->live_rows()) {
        TM_CHECK(rows->offset(row) >= end);
        end = rows->offset(row) + rows->size(row);
    }
    TM_CHECK(rows->live() == live.size());
}

}  // namespace tidemark::fuzz

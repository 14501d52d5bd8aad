// Maxima of what is needed, minima of what fits.
#include "replay/analysis/scale/scale_ranks.h"

#include <algorithm>

namespace tidemark {
namespace {

void take_more(ScaledPeak& peak, const ScaledPeak& other) {
    for (Bytes ScaledPeak::*const figure :
         {&ScaledPeak::likely, &ScaledPeak::least, &ScaledPeak::most})
        peak.*figure = std::max(peak.*figure, other.*figure);
}

void join(ScaleRow& row, const ScaleRow& other) {
    if (other.peak.likely > row.peak.likely)
        row.held_back = other.held_back;
    row.recorded = row.recorded && other.recorded;
    row.before = std::max(row.before, other.before);
    take_more(row.peak, other.peak);
    take_more(row.one_more, other.one_more);
    row.fits.surely = std::min(row.fits.surely, other.fits.surely);
    row.fits.perhaps = std::min(row.fits.perhaps, other.fits.perhaps);
}

}  // namespace

ScaleReport over_ranks(std::span<const ScaleReport> ranks) {
    ScaleReport joined = ranks.front();
    for (const ScaleReport& rank : ranks.subspan(1)) {
        std::erase_if(joined.rows, [&](const ScaleRow& row) {
            return std::ranges::find(rank.rows, row.policy, &ScaleRow::policy) == rank.rows.end();
        });
        for (ScaleRow& row : joined.rows)
            join(row, *std::ranges::find(rank.rows, row.policy, &ScaleRow::policy));
        for (const std::string& note : rank.notes)
            if (std::ranges::find(joined.notes, note) == joined.notes.end())
                joined.notes.push_back(note);
    }
    return joined;
}

}  // namespace tidemark

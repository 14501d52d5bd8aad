// FragmentationCurve: how much of a run's memory could not be released to its devices, after each
// event: the blocks, and the free memory in the same pieces (release_units.h). Other reserved
// memory is cached: whole segments and pages that hold nothing. A block takes its bytes until they
// can be allocated again.
//
// One sweep over the events makes it, at about 50 ns each on one core (250 if every allocation is a
// segment of its own); where a history grows, the sweep goes on. Its columns are in files without
// names, 8.3 bytes an event. Apart from them it holds the live segments and pages, about 150 bytes
// each. The curve of a history that is kept in the cache is kept with it
// (replay/scenario/kept_fragmentation.h), and not swept again.
//
// One thread extends it while any number of others read what is known so far.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include "replay/timeline/history.h"
#include "replay/timeline/mapped_column.h"

namespace tidemark {

// Bytes that could not be released, over one column of a chart.
struct HeldColumn {
    Bytes min = 0;  // of all values that held within, the one on entry included
    Bytes max = 0;
    Bytes last = 0;  // on leaving

    friend bool operator==(const HeldColumn&, const HeldColumn&) = default;
};

// The least and most that was held in 64 events, or 16 such nodes.
struct HeldNode {
    Bytes min = ~Bytes{0};
    Bytes max = 0;
};

// What a curve consists of, as it is kept.
struct FragmentationColumns {
    MappedColumn<Bytes> held;      // by event
    MappedColumn<HeldNode> nodes;  // in TreeOrder

    // How many nodes a whole curve of so many events has. O(log events).
    static std::size_t nodes_of(std::size_t events);
};

class FragmentationCurve {
  public:
    // Knows nothing yet. Errors: io.
    static Result<std::shared_ptr<FragmentationCurve>> create(
        std::shared_ptr<const History> history);

    // A whole one of a complete history: nothing is swept. The columns are as long as it is.
    static std::shared_ptr<FragmentationCurve> of(std::shared_ptr<const History> history,
                                                  FragmentationColumns columns);

    FragmentationCurve(const FragmentationCurve&) = delete;
    FragmentationCurve& operator=(const FragmentationCurve&) = delete;
    ~FragmentationCurve();

    // Sweeps the events that the history has by now, unless it is cancelled before. False: what is
    // known has turned out wrong (a block ended unsaid); only another curve would be right. Errors:
    // io, and it cannot be extended any more.
    Result<bool> extend(const std::atomic<bool>& cancelled);

    // How many events are known, from the first onward.
    std::size_t events() const { return columns_.held.size(); }

    // How many of them it has swept itself. For the thread that extends it.
    std::size_t swept() const { return swept_; }

    // What could not be released after the event; event < events(). O(1).
    Bytes held(EventIndex event) const { return columns_.held[event]; }

    // Of that, what no block takes: History says how much blocks do. O(64).
    Bytes fragmentation(EventIndex event) const;

    // The same columns as those that History::series gave. Columns that begin beyond what is known
    // are zero. O(columns * log events), 0.5 to 1.8 ms for 2,000 columns of 10^7 events.
    void columns(std::span<const SeriesColumn> of, std::span<HeldColumn> columns) const;

    // What it consists of: for code that keeps it.
    const FragmentationColumns& all() const { return columns_; }

  private:
    struct Sweep;

    explicit FragmentationCurve(std::shared_ptr<const History> history);

    HeldColumn column(std::size_t begin, std::size_t end) const;

    std::shared_ptr<const History> history_;
    FragmentationColumns columns_;
    std::unique_ptr<Sweep> sweep_;
    std::size_t swept_ = 0;
};

}  // namespace tidemark

// VirtualStage: a program's copies on the links of a machine that need not exist. Time advances
// only on request. A copy occupies the link between its locations, or, if there is none, the two
// links through a host, which passes the bytes on piece by piece.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "replay/tiers/tier_links.h"
#include "replay/tiers/tier_stage.h"
#include "replay/tiers/tier_timeline.h"

namespace tidemark {

class VirtualStage final : public TierStage, private Transfers {
  public:
    // Both must outlive it.
    VirtualStage(const MachineSpec& machine, TierTimeline& timeline);

    Transfers& transfers() override { return *this; }

    Nanoseconds now() override { return now_; }

    bool wait_until(Nanoseconds when) override;
    std::vector<TierLinkUse> links() const override;

  private:
    struct Flight {
        Nanoseconds end = 0;
        std::uint64_t copy = 0;
        Bytes size = 0;

        friend bool operator>(const Flight& left, const Flight& right) {
            return left.end != right.end ? left.end > right.end : left.copy > right.copy;
        }
    };

    // Over one link, or two with a host between.
    struct Way {
        std::size_t first = 0;
        std::optional<std::size_t> second;
        Bytes piece = 0;  // of the host's blocks
    };

    Way way(SpaceId source, SpaceId target) const;
    LinkTransfer record(std::size_t link, const LinkTransfer& transfer, const CopyOrder& order);

    Result<BlockLocation> allocate(SpaceId space, Bytes size) override;

    void free(const BlockLocation& /*location*/) override {}

    std::vector<Range> pieces(const BlockLocation& /*location*/) const override { return {}; }

    Result<UsePoint> record(SpaceId space, StreamId stream, bool wrote) override;

    Result<void> order(SpaceId /*space*/, StreamId /*stream*/,
                       std::span<const UsePoint> /*points*/) override {
        return {};
    }

    bool passed(const UsePoint& /*point*/) override { return true; }

    CopyId start(CopyOrder order) override;

    void cancel(CopyId /*copy*/) override {}  // what is on a link stays there to its end

    void poll(std::vector<CopyDone>& ended) override;

    const MachineSpec& machine_;
    TierTimeline& timeline_;
    TierLinks links_;
    Nanoseconds now_ = 0;
    std::uint64_t locations_ = 0;
    std::uint64_t copies_ = 0;
    std::priority_queue<Flight, std::vector<Flight>, std::greater<>> flights_;
};

}  // namespace tidemark

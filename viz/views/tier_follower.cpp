// Makes tracks when they are needed.
#include "viz/views/tier_follower.h"

namespace tidemark::viz {

std::shared_ptr<const TierTracks> TierFollower::look(const ViewedRun& run, bool wait) {
    if (run_ != run.tiers.get()) {
        job_.cancel();
        tracks_ = nullptr;
        run_ = run.tiers.get();
        if (run_ != nullptr)
            job_.start([tiers = run_](const Cancelled& cancelled) {
                return TierTracks::build(*tiers, cancelled);
            });
    }
    auto made = wait ? job_.wait() : job_.take();
    if (made)
        tracks_ = std::move(*made);
    return tracks_;
}

}  // namespace tidemark::viz

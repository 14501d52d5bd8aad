// Decides which call fails.
#include "backends/wrap/faulty.h"

namespace tidemark {

bool FaultyDevice::fails(DeviceCall call) {
    if (plan_.call && *plan_.call != call)
        return false;
    ++calls_;
    if (plan_.nth == 0)
        return false;
    const bool now = plan_.and_all_after ? calls_ >= plan_.nth : calls_ == plan_.nth;
    failures_ += now ? 1 : 0;
    return now;
}

}  // namespace tidemark

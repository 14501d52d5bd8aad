// Optional functions of a Transfers.
#include "core/tiers/engine/transfer.h"

namespace tidemark {

Result<BlockLocation> Transfers::allocate_at(SpaceId space,
                                             std::shared_ptr<const AddressRange> /*range*/) {
    return fail(ErrorCode::unsupported, "no memory at addresses that are kept", to_text(space));
}

}  // namespace tidemark

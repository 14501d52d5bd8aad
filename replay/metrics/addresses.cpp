// addresses: how much address space is reserved at the end, and how much of it has no memory, for
// policies that report it (Allocator::for_each_address). Others show nothing.
#include "core/allocator/address_spans.h"
#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class Addresses final : public Metric {
  public:
    std::vector<Measurement> results(std::span<const DeviceContext> contexts) const override {
        AddressTotals sum;
        for (const DeviceContext& context : contexts)
            context.allocator->for_each_address([&sum](const AddressSpan& span) { sum.add(span); });
        return {
            bytes("end_addresses_bytes", "bytes of addresses reserved at the end", sum.reserved,
                  Better::neither),
            bytes("end_hole_bytes", "of these, without memory", sum.holes, Better::neither),
            bytes("end_zombie_bytes",
                  "of these, still mapped to memory that is used at other addresses", sum.zombies,
                  Better::neither),
        };
    }
};

}  // namespace

MetricInfo addresses() {
    return {"addresses", "reserved addresses, holes and zombies at the end",
            make_metric<Addresses>};
}

}  // namespace tidemark::metrics

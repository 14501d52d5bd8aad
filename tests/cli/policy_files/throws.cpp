// One whose exception crosses from its library into the program, which may have a C++ library of
// its own (scripts/make_wheel tries that).
#include <stdexcept>
#include <string>

#include "core/allocator/policy_file.h"

namespace {

using namespace tidemark;

struct OwnFault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Throws final : public Allocator {
  public:
    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        throw OwnFault("no idea for a request of " + std::to_string(request.size) + " bytes");
    }

    void deallocate(const Allocation& /*allocation*/, StreamId /*stream*/) override {}

    void record_use(const Allocation& /*allocation*/, StreamId /*stream*/) override {}

    void trim(TrimLevel /*level*/) override {}

    Bytes largest_free() const override { return 0; }

    void for_each_region(const std::function<void(const Region&)>& /*visit*/) const override {}
};

Result<std::unique_ptr<Allocator>> make(Device& /*device*/, const Options& /*options*/) {
    return std::make_unique<Throws>();
}

}  // namespace

TIDEMARK_POLICY_FILE({.name = "throws", .summary = "", .source = "", .options = {}, .make = make})

// The built-in policies.
#include "core/tiers/spaces/oom_policy.h"

#include <utility>

#include "core/base/check.h"

namespace tidemark {
namespace {

class Rethrow final : public OomPolicy {
  public:
    OomAnswer refused(const OomFacts& /*facts*/) override { return OomAnswer::give_up; }
};

class SpillAndRetry final : public OomPolicy {
  public:
    SpillAndRetry(Spiller& spiller, std::uint32_t attempts)
        : spiller_(spiller), attempts_(attempts) {}

    // If a plan or an error freed nothing, there is no hope. A refusal that freeing can't change is
    // left alone.
    OomAnswer refused(const OomFacts& facts) override {
        if (facts.attempt >= attempts_ || facts.missing == 0)
            return OomAnswer::give_up;
        const Result<Bytes> freed = spiller_.free_bytes(facts.missing);
        return freed && *freed > 0 ? OomAnswer::try_again : OomAnswer::give_up;
    }

  private:
    Spiller& spiller_;
    std::uint32_t attempts_;
};

class Callback final : public OomPolicy {
  public:
    explicit Callback(std::function<OomAnswer(const OomFacts&)> callback)
        : callback_(std::move(callback)) {
        TM_CHECK(callback_ != nullptr);
    }

    OomAnswer refused(const OomFacts& facts) override { return callback_(facts); }

  private:
    std::function<OomAnswer(const OomFacts&)> callback_;
};

}  // namespace

OomHandling rethrow_oom() {
    static const OomHandling policy = std::make_shared<Rethrow>();
    return policy;
}

OomHandling spill_and_retry(Spiller& spiller, std::uint32_t attempts) {
    return std::make_shared<SpillAndRetry>(spiller, attempts);
}

OomHandling oom_callback(std::function<OomAnswer(const OomFacts&)> callback) {
    return std::make_shared<Callback>(std::move(callback));
}

}  // namespace tidemark

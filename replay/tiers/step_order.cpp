// One pass over the steps, with what is known of each buffer so far.
#include "replay/tiers/step_order.h"

#include <utility>

namespace tidemark {
namespace {

constexpr std::uint32_t kStepOrderNone = 0xffffffffU;

class Orderer {
  public:
    explicit Orderer(const TierProgram& program) : program_(program), buffers_(program.buffers) {}

    // Appends what step `index` needs to `needs`. In order.
    void add(std::uint32_t index, std::vector<std::uint32_t>& needs) {
        const TierStep& step = program_.steps[index];
        switch (step.kind) {
            case StepKind::allocate:
                need(buffers_[step.value].ended, step, needs);
                buffers_[step.value] = {.begun = index};
                break;
            case StepKind::kernel:
                for (std::uint32_t i = step.first; i < step.first + step.count; ++i)
                    use(program_.uses[i].buffer, index, needs);
                break;
            case StepKind::move:
                use(BufferId{step.value}, index, needs);
                break;
            case StepKind::free:
                end(step, index, needs);
                break;
            default:
                break;
        }
    }

  private:
    struct Buffer {
        std::uint32_t begun = kStepOrderNone;
        std::uint32_t ended = kStepOrderNone;  // of the one before, or this one
        // Its last use by each other stream: few, mostly none.
        std::vector<std::pair<std::uint32_t, std::uint32_t>> users = {};
    };

    void need(std::uint32_t earlier, const TierStep& step, std::vector<std::uint32_t>& needs) {
        if (earlier != kStepOrderNone && program_.steps[earlier].stream != step.stream)
            needs.push_back(earlier);
    }

    void use(BufferId id, std::uint32_t index, std::vector<std::uint32_t>& needs) {
        Buffer& buffer = buffers_[to_integer(id)];
        const TierStep& step = program_.steps[index];
        need(buffer.begun, step, needs);
        for (auto& [stream, last] : buffer.users) {
            if (stream == step.stream) {
                last = index;
                return;
            }
        }
        buffer.users.emplace_back(step.stream, index);
    }

    void end(const TierStep& step, std::uint32_t index, std::vector<std::uint32_t>& needs) {
        Buffer& buffer = buffers_[step.value];
        need(buffer.begun, step, needs);
        for (const auto& [stream, last] : buffer.users)
            need(last, step, needs);
        buffer.users.clear();
        buffer.ended = index;
    }

    const TierProgram& program_;
    std::vector<Buffer> buffers_;
};

}  // namespace

StepOrder::StepOrder(const TierProgram& program) {
    if (program.streams == 1)
        return;
    Orderer orderer(program);
    first_.reserve(program.steps.size() + 1);
    for (std::uint32_t i = 0; i < program.steps.size(); ++i) {
        first_.push_back(static_cast<std::uint32_t>(needs_.size()));
        orderer.add(i, needs_);
    }
    first_.push_back(static_cast<std::uint32_t>(needs_.size()));
}

}  // namespace tidemark

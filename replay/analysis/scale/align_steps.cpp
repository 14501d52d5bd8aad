// The scores of all pairs in a band, and the way back from the last of them.
#include "replay/analysis/scale/align_steps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tidemark {
namespace {

constexpr std::ptrdiff_t kLeastBand = 128, kMostBand = 4096;  // next to the diagonal
constexpr std::ptrdiff_t kMostCells = 1 << 27;                // of all rows together, a byte each
constexpr int kSameSymbol = 2, kSameSize = 3, kGap = -1;
constexpr int kNoScore = -(1 << 29);

enum class Move : std::uint8_t { match, skip_reference, skip_step };

class Aligner {
  public:
    Aligner(std::span<const StepRequest> reference, std::span<const StepRequest> step,
            double growth)
        : reference_(reference), step_(step), growth_(growth) {
        const auto rows = static_cast<std::ptrdiff_t>(step.size());
        const auto columns = static_cast<std::ptrdiff_t>(reference.size());
        band_ = std::min(
            {kMostBand, std::abs(rows - columns) + kLeastBand, kMostCells / (2 * (rows + 1))});
        width_ = static_cast<std::size_t>(2 * band_ + 1);
        moves_.resize((step.size() + 1) * width_, Move::skip_reference);
    }

    std::vector<std::uint32_t> align() {
        score_all();
        return way_back();
    }

  private:
    // The column in the middle of a row's band.
    std::ptrdiff_t middle(std::size_t row) const {
        return static_cast<std::ptrdiff_t>(row * reference_.size() / step_.size());
    }

    bool inside(std::size_t row, std::ptrdiff_t column) const {
        return column >= 0 && column <= static_cast<std::ptrdiff_t>(reference_.size()) &&
               std::abs(column - middle(row)) <= band_;
    }

    std::size_t cell(std::size_t row, std::ptrdiff_t column) const {
        return static_cast<std::size_t>(column - middle(row) + band_);
    }

    int alike(std::size_t row, std::ptrdiff_t column) const {
        const StepRequest& one = step_[row - 1];
        const StepRequest& other = reference_[static_cast<std::size_t>(column - 1)];
        const auto size = static_cast<double>(one.size), before = static_cast<double>(other.size);
        const bool same_size = one.size == other.size || same_ratio(size, before * growth_) ||
                               same_ratio(size, before * growth_ * growth_);
        return (one.symbol == other.symbol ? kSameSymbol : 0) + (same_size ? kSameSize : 0);
    }

    void score_all() {
        std::vector<int> above(width_, kNoScore), row(width_, kNoScore);
        for (std::size_t i = 0; i <= step_.size(); ++i) {
            std::fill(row.begin(), row.end(), kNoScore);
            const std::ptrdiff_t first = std::max<std::ptrdiff_t>(0, middle(i) - band_);
            const std::ptrdiff_t last =
                std::min(static_cast<std::ptrdiff_t>(reference_.size()), middle(i) + band_);
            for (std::ptrdiff_t j = first; j <= last; ++j)
                row[cell(i, j)] = best_of(i, j, above, row);
            std::swap(above, row);
        }
    }

    int best_of(std::size_t i, std::ptrdiff_t j, const std::vector<int>& above,
                const std::vector<int>& row) {
        if (i == 0 && j == 0)
            return 0;
        int best = kNoScore;
        Move move = Move::skip_reference;
        const auto offer = [&](int score, Move by) {
            if (score > best) {
                best = score;
                move = by;
            }
        };
        if (i > 0 && inside(i - 1, j - 1))
            if (const int score = alike(i, j); score > 0)
                offer(above[cell(i - 1, j - 1)] + score, Move::match);
        if (inside(i, j - 1))
            offer(row[cell(i, j - 1)] + kGap, Move::skip_reference);
        if (i > 0 && inside(i - 1, j))
            offer(above[cell(i - 1, j)] + kGap, Move::skip_step);
        moves_[i * width_ + cell(i, j)] = move;
        return best;
    }

    std::vector<std::uint32_t> way_back() const {
        std::vector<std::uint32_t> found(step_.size(), kUnaligned);
        std::size_t i = step_.size();
        auto j = static_cast<std::ptrdiff_t>(reference_.size());
        while (i > 0 && inside(i, j)) {
            switch (moves_[i * width_ + cell(i, j)]) {
                case Move::match:
                    found[--i] = static_cast<std::uint32_t>(--j);
                    break;
                case Move::skip_step:
                    --i;
                    break;
                case Move::skip_reference:
                    --j;
                    break;
            }
        }
        return found;
    }

    std::span<const StepRequest> reference_, step_;
    double growth_;
    std::ptrdiff_t band_ = 0;
    std::size_t width_ = 0;
    std::vector<Move> moves_;
};

bool same_order(std::span<const StepRequest> one, std::span<const StepRequest> other) {
    return std::ranges::equal(one, other, {}, &StepRequest::symbol, &StepRequest::symbol);
}

}  // namespace

std::vector<std::uint32_t> align_steps(std::span<const StepRequest> reference,
                                       std::span<const StepRequest> step, double growth) {
    if (reference.empty() || step.empty())
        return std::vector<std::uint32_t>(step.size(), kUnaligned);
    if (!same_order(reference, step))
        return Aligner(reference, step, growth).align();
    std::vector<std::uint32_t> all(step.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::uint32_t>(i);
    return all;
}

}  // namespace tidemark

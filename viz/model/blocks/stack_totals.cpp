// First sums by stack, then a tree of the stacks that have any, then its nodes in order of size.
#include "viz/model/blocks/stack_totals.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "viz/model/blocks/frame_fold.h"
#include "viz/model/blocks/site_index.h"
#include "viz/model/blocks/site_names.h"

namespace tidemark::viz {
namespace {

struct StackSum {
    std::int64_t bytes = 0;
    std::int64_t blocks = 0;
};

class Summer {
  public:
    Summer(const History& history, const Filter& filter, const Cancelled& cancelled)
        : history_(history), cancelled_(cancelled), filter_(history, filter, cancelled) {
        sums_.resize(history.stacks().size());
    }

    void add_live(EventIndex event, std::int64_t sign) {
        if (event != kNever)
            history_.for_each_live(event, [&](BlockIndex block) { add(block, sign); });
    }

    void add_born(const EventSpan& span) {
        if (span.end() <= span.begin())
            return;
        const BlockIndex end = history_.born_before(span.end());
        for (BlockIndex block = history_.born_before(span.begin()); block < end; ++block) {
            if (cancelled_)
                return;
            add(block, 1);
        }
    }

    // By stack.
    const std::vector<StackSum>& sums() const { return sums_; }

  private:
    void add(BlockIndex index, std::int64_t sign) {
        if (cancelled_)
            return;
        const Block block = history_.block(index);
        if (!filter_.lets_through(block))
            return;
        const std::uint32_t stack = history_.site(block.site).stack;
        StackSum& sum = sums_[stack < sums_.size() ? stack : 0];
        // Sizes in a broken feed may add up to more than all memory: then the sum stays at the
        // maximum.
        constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
        const auto bytes =
            static_cast<std::int64_t>(std::min(block.size, static_cast<Bytes>(kMost)));
        if (__builtin_add_overflow(sum.bytes, sign * bytes, &sum.bytes) || sum.bytes < -kMost)
            sum.bytes = sign * kMost;
        sum.blocks += sign;
    }

    const History& history_;
    const Cancelled& cancelled_;
    BlockFilter filter_;
    std::vector<StackSum> sums_;
};

// A child of a node, by its frame.
struct ChildKey {
    std::uint32_t parent = 0;
    tidemark::Frame frame;

    friend bool operator==(const ChildKey&, const ChildKey&) = default;
};

struct ChildHash {
    std::size_t operator()(const ChildKey& key) const {
        std::uint64_t hash = key.parent;
        for (const std::uint32_t part : {key.frame.name, key.frame.file, key.frame.line})
            hash = (hash ^ part) * 0x9e3779b97f4a7c15U + (hash >> 29);
        return static_cast<std::size_t>(hash);
    }
};

// The tree while it grows: children are found by hash, in no order.
class Tree {
  public:
    Tree() : nodes_(1), best_(1) {}

    // `frames` in their order below the root, the last one at the root.
    void add(std::span<const tidemark::Frame> frames, std::uint32_t stack, const StackSum& sum) {
        const auto bytes = static_cast<Bytes>(sum.bytes);
        const auto blocks = static_cast<std::uint64_t>(std::max<std::int64_t>(sum.blocks, 0));
        std::uint32_t node = 0;
        count(node, stack, bytes, blocks);
        const std::size_t depth = std::min<std::size_t>(frames.size(), kDeepestStack);
        for (std::size_t i = 0; i < depth; ++i) {
            node = child(node, frames[frames.size() - 1 - i]);
            count(node, stack, bytes, blocks);
        }
        if (frames.empty()) {
            node = child(node, {});
            count(node, stack, bytes, blocks);
        }
        nodes_[node].own += bytes;
    }

    // Level by level, the children of a node next to each other, the largest first.
    std::vector<TotalsNode> in_order() const {
        std::vector<std::vector<std::uint32_t>> children(nodes_.size());
        for (std::uint32_t i = 1; i < nodes_.size(); ++i)
            children[nodes_[i].parent].push_back(i);
        std::vector<TotalsNode> ordered{nodes_[0]};
        std::vector<std::uint32_t> origin{0};
        for (std::uint32_t at = 0; at < ordered.size(); ++at) {
            std::vector<std::uint32_t>& below = children[origin[at]];
            std::sort(below.begin(), below.end(), [this](std::uint32_t a, std::uint32_t b) {
                return std::pair(nodes_[b].bytes, a) < std::pair(nodes_[a].bytes, b);
            });
            ordered[at].first_child = static_cast<std::uint32_t>(ordered.size());
            ordered[at].children = static_cast<std::uint32_t>(below.size());
            for (const std::uint32_t child : below) {
                ordered.push_back(nodes_[child]);
                ordered.back().parent = at;
                origin.push_back(child);
            }
        }
        return ordered;
    }

  private:
    std::uint32_t child(std::uint32_t parent, const tidemark::Frame& frame) {
        const auto fresh = static_cast<std::uint32_t>(nodes_.size());
        const auto [found, is_new] = index_.try_emplace({parent, frame}, fresh);
        if (is_new) {
            TotalsNode node;
            node.frame = frame;
            node.parent = parent;
            node.depth = nodes_[parent].depth + 1;
            nodes_.push_back(node);
            best_.push_back(0);
        }
        return found->second;
    }

    void count(std::uint32_t node, std::uint32_t stack, Bytes bytes, std::uint64_t blocks) {
        nodes_[node].bytes += bytes;
        nodes_[node].blocks += blocks;
        if (bytes > best_[node]) {
            best_[node] = bytes;
            nodes_[node].stack = stack;
        }
    }

    std::vector<TotalsNode> nodes_;
    std::vector<Bytes> best_;  // of each node, the bytes of TotalsNode::stack
    std::unordered_map<ChildKey, std::uint32_t, ChildHash> index_;
};

std::vector<SiteTotals> by_call_site(const History& history, const std::vector<StackSum>& sums,
                                     const Cancelled& cancelled) {
    struct CallSiteSum {
        SiteTotals totals;
        std::int64_t best = 0;
    };

    SiteNames names(history);
    std::map<std::string, CallSiteSum> sites;
    for (std::uint32_t stack = 0; stack < sums.size() && !cancelled; ++stack) {
        if (sums[stack].bytes <= 0)
            continue;
        CallSiteSum& site = sites[names.call_site(stack)];
        site.totals.bytes += static_cast<Bytes>(sums[stack].bytes);
        site.totals.blocks +=
            static_cast<std::uint64_t>(std::max<std::int64_t>(sums[stack].blocks, 0));
        if (sums[stack].bytes > site.best) {
            site.best = sums[stack].bytes;
            site.totals.stack = stack;
        }
    }
    std::vector<SiteTotals> list;
    for (auto& [name, site] : sites) {
        site.totals.name = name.empty() ? "no stack recorded" : name;
        list.push_back(std::move(site.totals));
    }
    std::ranges::stable_sort(list, std::greater(), &SiteTotals::bytes);
    return list;
}

std::vector<StackSum> sums_of(const History& history, const TotalsQuestion& question,
                              const Cancelled& cancelled) {
    Summer summer(history, question.filter, cancelled);
    switch (question.of) {
        case TotalsOf::live:
            summer.add_live(question.event, 1);
            break;
        case TotalsOf::allocated:
            summer.add_born(question.span);
            break;
        case TotalsOf::growth:
            summer.add_live(question.span.last, 1);
            summer.add_live(question.span.first, -1);
            break;
    }
    return summer.sums();
}

struct Open {
    std::uint32_t node = 0;
    double left = 0;
    double right = 0;
};

// Puts the children of `open` below it: those that are wide enough go into `next`.
void split(const StackTotals& totals, const Open& open, double narrowest, std::uint32_t row,
           std::vector<Open>& next, std::vector<IcicleBar>& bars) {
    const TotalsNode& node = totals.nodes[open.node];
    if (node.bytes == 0)
        return;
    const double each = (open.right - open.left) / static_cast<double>(node.bytes);
    double left = open.left;
    Bytes rest = node.bytes - node.own;
    for (std::uint32_t i = 0; i < node.children; ++i) {
        const std::uint32_t child = node.first_child + i;
        const Bytes bytes = totals.nodes[child].bytes;
        const double right = left + each * static_cast<double>(bytes);
        if (right - left < narrowest) {
            const double end = left + each * static_cast<double>(rest);
            if (end - left >= narrowest)
                bars.push_back({left, end, row, child, node.children - i, rest});
            return;
        }
        bars.push_back({left, right, row, child, 0, bytes});
        next.push_back({child, left, right});
        left = right;
        rest -= bytes;
    }
}

}  // namespace

StackTotals stack_totals(const History& history, const TotalsQuestion& question,
                         const Cancelled& cancelled) {
    const std::vector<StackSum> sums = sums_of(history, question, cancelled);
    const FrameFold fold(history, question.folded);
    StackTotals totals;
    Tree tree;
    for (std::uint32_t stack = 0; stack < sums.size() && !cancelled; ++stack) {
        const StackSum& sum = sums[stack];
        if (sum.bytes < 0)
            totals.shrunk += static_cast<Bytes>(-sum.bytes);
        if (sum.bytes <= 0)
            continue;
        std::vector<tidemark::Frame> frames = fold.shown(history.stacks()[stack]);
        if (question.inverted)
            std::ranges::reverse(frames);
        if (frames.empty())
            totals.unknown += static_cast<Bytes>(sum.bytes);
        tree.add(frames, stack, sum);
    }
    totals.call_sites = by_call_site(history, sums, cancelled);
    if (cancelled)
        return {};
    totals.question = question;
    totals.nodes = tree.in_order();
    totals.depth = totals.nodes.back().depth;
    return totals;
}

std::vector<IcicleBar> icicle(const StackTotals& totals, std::uint32_t top, double narrowest,
                              std::uint32_t first_row, std::uint32_t rows) {
    std::vector<IcicleBar> bars;
    if (top >= totals.nodes.size() || rows == 0)
        return bars;
    std::vector<Open> level{{top, 0, 1}};
    if (first_row == 0)
        bars.push_back({0, 1, 0, top, 0, totals.nodes[top].bytes});
    std::vector<IcicleBar> above;
    for (std::uint32_t row = 1; row < first_row + rows && !level.empty(); ++row) {
        std::vector<Open> next;
        above.clear();
        for (const Open& open : level)
            split(totals, open, narrowest, row, next, row < first_row ? above : bars);
        level = std::move(next);
    }
    return bars;
}

std::uint32_t where_stacks_part(const StackTotals& totals) {
    std::uint32_t node = 0;
    while (node < totals.nodes.size() && totals.nodes[node].children == 1 &&
           totals.nodes[node].own == 0)
        node = totals.nodes[node].first_child;
    return node;
}

std::vector<std::uint32_t> path_to(const StackTotals& totals, std::uint32_t node) {
    std::vector<std::uint32_t> path;
    for (std::uint32_t at = node; at < totals.nodes.size(); at = totals.nodes[at].parent) {
        path.push_back(at);
        if (at == 0)
            break;
    }
    std::reverse(path.begin(), path.end());
    return path;
}

}  // namespace tidemark::viz

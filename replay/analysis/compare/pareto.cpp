// Every point against every other: there are as many as policies.
#include "replay/analysis/compare/pareto.h"

#include <algorithm>

namespace tidemark {
namespace {

bool beats(const MemoryAndTime& a, const MemoryAndTime& b) {
    return a.competes && a.memory <= b.memory && a.driver_time <= b.driver_time &&
           (a.memory < b.memory || a.driver_time < b.driver_time);
}

}  // namespace

std::vector<bool> pareto_front(std::span<const MemoryAndTime> points) {
    std::vector<bool> front;
    for (const MemoryAndTime& point : points)
        front.push_back(point.competes && std::ranges::none_of(points, [&](const auto& other) {
                            return beats(other, point);
                        }));
    return front;
}

}  // namespace tidemark

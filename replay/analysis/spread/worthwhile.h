// What is worth a change: the common threshold of advise, compare and the findings.
#pragma once

namespace tidemark {

// Savings below this share, of peak memory or of a run's time, are not worth advising: another
// version of PyTorch or another batch changes as much by itself, and a setting is one more thing to
// maintain.
constexpr double kWorthwhileSaving = 0.01;

}  // namespace tidemark

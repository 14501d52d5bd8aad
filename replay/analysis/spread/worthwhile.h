// What is worth a change: the one threshold of advise, compare and the findings.
#pragma once

namespace tidemark {

// Savings below this share, of peak memory or of a run's time, are no advice: they are within what
// another version of PyTorch or another batch does by itself, and a setting is one more thing to
// keep in mind.
constexpr double kWorthwhileSaving = 0.01;

}  // namespace tidemark

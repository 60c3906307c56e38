// How fast is a core right now? A fixed piece of work, timed beside each row.
//
// The problem: a hyperthread's neighbour, another guest on the same physical core or a power limit
// halves a core's speed for seconds, without load in this system and without steal time. A row
// measured then is repeatable within itself, and wrong by a factor.
//   wrong:  trust the load average                (it counts this system's own threads only)
//   wrong:  one core at a time                    (two guests' cores may be one physical core's two
//                                                  threads today, and alone each is fast)
//   wrong:  before and after a row alone          (a neighbour comes and goes within milliseconds)
//   right:  the same work before and after a row and by glances in between, set against the fastest
//           seen in the run
// The work fills the slots by which a core issues operations, because these a neighbour takes away;
// a chain of dependent operations would hardly notice one. Caveat: what disturbs a whole run alike
// cannot be seen by comparing its rows.
#pragma once

#include <vector>

namespace ftax {

// Seconds per round of the fixed work on each of `cores` (below 0: wherever the thread runs), all
// at the same time, so that cores which turn out to share a physical one take from each other what
// they could take from a row; the median of some repetitions, 1.1 ms in all.
std::vector<double> fixed_work(const std::vector<int>& cores);

// Seconds per round of the fixed work where the calling thread runs, by a glance of some 7 us that
// fits between two bursts of a row; for a core that has run no wide vector instructions just
// before.
double glance();

}  // namespace ftax

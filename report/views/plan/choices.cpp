#include "choices.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace peakline::report {
namespace {

constexpr uint64_t kNoCost = std::numeric_limits<uint64_t>::max();
constexpr int64_t kLowestStep = 4096;

// See Note [Rows of a plan]. Depth first; choices are decided in one order, the most useful first.
class Search {
public:
    Search(const PlanProblem& problem, int64_t budget, uint64_t most_nodes)
        : problem_(problem), budget_(budget), most_nodes_(most_nodes) {
        order_choices();
        keep_binding_rows();
        for (const uint64_t cost : problem.costs) {
            unit_ = std::gcd(unit_, cost);
        }
    }

    PlanSolution run() {
        PlanSolution found;
        found.chosen.assign(count(), false);
        best_ = kNoCost;
        taken_.assign(count(), false);
        std::vector<int64_t> excess(rows_.size());
        for (size_t row = 0; row < rows_.size(); ++row) {
            excess[row] = rows_[row].excess;
        }
        const uint64_t root = bound(0, excess);
        take_first_incumbent();
        visit(0, excess, 0);
        found.nodes = nodes_;
        found.is_proved = nodes_ < most_nodes_;
        found.is_feasible = best_ != kNoCost;
        found.bound_cost = found.is_proved && found.is_feasible ? best_ : root;
        if (found.is_feasible) {
            found.chosen = incumbent_;
            found.cost = best_;
        }
        return found;
    }

private:
    struct Row {
        int64_t excess = 0;           // over the budget, with no choice taken
        std::vector<int64_t> change;  // by place in `order_`
        std::vector<uint32_t> cheap;  // places that lower it, the cheapest per byte first
    };

    size_t count() const { return problem_.costs.size(); }
    uint64_t cost_at(size_t place) const { return problem_.costs[order_[place]]; }

    void order_choices() {
        order_.resize(count());
        std::iota(order_.begin(), order_.end(), size_t{0});
        std::vector<double> worth(count(), 0);
        for (size_t i = 0; i < count(); ++i) {
            int64_t most = 0;
            for (const PlanRow& row : problem_.rows) {
                most = std::max(most, -row.change[i]);
            }
            worth[i] = static_cast<double>(most) /
                       static_cast<double>(std::max<uint64_t>(1, problem_.costs[i]));
        }
        std::stable_sort(
            order_.begin(), order_.end(), [&](size_t a, size_t b) { return worth[a] > worth[b]; });
    }

    // A row that no set lifts above the budget is left out.
    void keep_binding_rows() {
        for (const PlanRow& from : problem_.rows) {
            Row row;
            row.excess = from.level - budget_;
            int64_t highest = row.excess;
            for (size_t place = 0; place < count(); ++place) {
                row.change.push_back(from.change[order_[place]]);
                highest += std::max<int64_t>(0, row.change.back());
                if (row.change.back() < 0) {
                    row.cheap.push_back(static_cast<uint32_t>(place));
                }
            }
            if (highest <= 0) {
                continue;
            }
            std::stable_sort(row.cheap.begin(), row.cheap.end(), [&](uint32_t a, uint32_t b) {
                return price(row, a) < price(row, b);
            });
            rows_.push_back(std::move(row));
        }
    }

    double price(const Row& row, uint32_t place) const {
        return static_cast<double>(cost_at(place)) / static_cast<double>(-row.change[place]);
    }

    // The least cost of the places from `first` on. kNoCost: they cannot do it.
    uint64_t bound(size_t first, const std::vector<int64_t>& excess) const {
        double least = 0;
        for (size_t r = 0; r < rows_.size(); ++r) {
            auto need = static_cast<double>(excess[r]);
            double cost = 0;
            const Row& row = rows_[r];
            for (size_t i = 0; need > 0 && i < row.cheap.size(); ++i) {
                const uint32_t place = row.cheap[i];
                if (place >= first) {
                    const auto bytes = static_cast<double>(-row.change[place]);
                    cost += std::min(1.0, need / bytes) * static_cast<double>(cost_at(place));
                    need -= bytes;
                }
            }
            if (need > 0.5) {
                return kNoCost;
            }
            least = std::max(least, cost);
        }
        if (unit_ == 0) {
            return 0;
        }
        const auto unit = static_cast<double>(unit_);
        return static_cast<uint64_t>(std::ceil(least / unit - 1e-6)) * unit_;
    }

    // The first layers of the run that suffice: for equal layers this is the best set.
    void take_first_incumbent() {
        Chosen chosen(count(), false);
        for (size_t i = 0; i <= count(); ++i) {
            if (peak_of(problem_, chosen) <= budget_) {
                incumbent_ = chosen;
                best_ = cost_of(problem_, chosen);
                return;
            }
            if (i < count()) {
                chosen[i] = true;
            }
        }
    }

    void visit(size_t place, const std::vector<int64_t>& excess, uint64_t cost) {
        if (++nodes_ >= most_nodes_) {
            return;
        }
        const bool fits =
            std::all_of(excess.begin(), excess.end(), [](int64_t over) { return over <= 0; });
        if (fits && cost < best_) {
            best_ = cost;
            incumbent_ = taken_;
        }
        if (place == count()) {
            return;
        }
        const uint64_t rest = bound(place, excess);
        if (rest == kNoCost || cost + rest >= best_) {
            return;
        }
        std::vector<int64_t> with = excess;
        for (size_t r = 0; r < rows_.size(); ++r) {
            with[r] += rows_[r].change[place];
        }
        taken_[order_[place]] = true;
        visit(place + 1, with, cost + cost_at(place));
        taken_[order_[place]] = false;
        visit(place + 1, excess, cost);
    }

    const PlanProblem& problem_;
    int64_t budget_;
    uint64_t most_nodes_;
    std::vector<size_t> order_;
    std::vector<Row> rows_;
    uint64_t unit_ = 0;  // greatest common divisor of the costs
    uint64_t nodes_ = 0;
    uint64_t best_ = kNoCost;
    Chosen taken_;
    Chosen incumbent_;
};

}  // namespace

const PlanRow* highest_row(const PlanProblem& problem, const Chosen& chosen) {
    const PlanRow* highest = nullptr;
    int64_t most = std::numeric_limits<int64_t>::min();
    for (const PlanRow& row : problem.rows) {
        int64_t level = row.level;
        for (size_t i = 0; i < chosen.size(); ++i) {
            level += chosen[i] ? row.change[i] : 0;
        }
        if (level > most) {
            most = level;
            highest = &row;
        }
    }
    return highest;
}

int64_t peak_of(const PlanProblem& problem, const Chosen& chosen) {
    const PlanRow* const row = highest_row(problem, chosen);
    int64_t level = row == nullptr ? 0 : row->level;
    for (size_t i = 0; row != nullptr && i < chosen.size(); ++i) {
        level += chosen[i] ? row->change[i] : 0;
    }
    return level;
}

uint64_t cost_of(const PlanProblem& problem, const Chosen& chosen) {
    uint64_t cost = 0;
    for (size_t i = 0; i < chosen.size(); ++i) {
        cost += chosen[i] ? problem.costs[i] : 0;
    }
    return cost;
}

PlanSolution cheapest_choices(const PlanProblem& problem, int64_t budget, uint64_t most_nodes) {
    return Search(problem, budget, most_nodes).run();
}

PlanSolution lowest_choices(const PlanProblem& problem, uint64_t cost) {
    constexpr uint64_t kNodes = 20'000;
    int64_t high = peak_of(problem, Chosen(problem.costs.size(), false));
    int64_t low = 0;
    PlanSolution best = cheapest_choices(problem, high, kNodes);
    if (!best.is_feasible || best.cost >= cost) {
        best.is_feasible = false;
        return best;
    }
    uint64_t nodes = best.nodes;
    bool is_proved = best.is_proved;
    while (high - low > kLowestStep) {
        const int64_t middle = low + (high - low) / 2;
        const PlanSolution found = cheapest_choices(problem, middle, kNodes);
        nodes += found.nodes;
        is_proved = is_proved && found.is_proved;
        if (found.is_feasible && found.cost < cost) {
            best = found;
            high = std::min(middle, peak_of(problem, found.chosen));
        } else {
            low = middle;
        }
    }
    best.nodes = nodes;
    best.is_proved = is_proved;
    return best;
}

}  // namespace peakline::report

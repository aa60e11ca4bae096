// The search of `plan`: compared with all sets, one by one.
#include <algorithm>
#include <chrono>
#include <random>

#include "report/views/plan/choices.h"
#include "tests/unit/catching.h"

using namespace peakline::report;

namespace {

constexpr int64_t kMb = 1 << 20;

// A step of layers, as a recording gives it: each forward pass holds more, each backward pass less.
PlanProblem step_of(const std::vector<int64_t>& held, const std::vector<uint64_t>& costs) {
    const size_t count = held.size();
    PlanProblem problem;
    problem.costs = costs;
    std::vector<int64_t> change(count);
    int64_t level = 1000 * kMb;
    const auto add = [&](int64_t bytes, size_t layer, int64_t more) {
        PlanRow row{level + bytes, change};
        if (layer < count) {
            row.change[layer] += more;
        }
        problem.rows.push_back(row);
    };
    for (size_t i = 0; i < count; ++i) {
        add(held[i] * 11 / 10, i, 0);
        level += held[i] * 11 / 10;
        change[i] -= held[i];
    }
    add(300 * kMb, count, 0);
    for (size_t i = count; i-- > 0;) {
        add(held[i] * 3 / 10, i, held[i] * 21 / 20);
        level += 20 * kMb - held[i] * 11 / 10;
        change[i] += held[i];
    }
    return problem;
}

struct Best {
    uint64_t cost = UINT64_MAX;
    int64_t lowest = INT64_MAX;
};

Best best_of_all_sets(const PlanProblem& problem, int64_t budget) {
    Best best;
    const size_t count = problem.costs.size();
    for (size_t set = 0; set < size_t{1} << count; ++set) {
        uint64_t cost = 0;
        for (size_t i = 0; i < count; ++i) {
            cost += (set >> i & 1) != 0 ? problem.costs[i] : 0;
        }
        int64_t peak = INT64_MIN;
        for (const PlanRow& row : problem.rows) {
            int64_t level = row.level;
            for (size_t i = 0; i < count; ++i) {
                level += (set >> i & 1) != 0 ? row.change[i] : 0;
            }
            peak = std::max(peak, level);
        }
        best.lowest = std::min(best.lowest, peak);
        if (peak <= budget) {
            best.cost = std::min(best.cost, cost);
        }
    }
    return best;
}

PlanProblem unequal_step(size_t count, std::mt19937& random) {
    std::vector<int64_t> held;
    std::vector<uint64_t> costs;
    for (size_t i = 0; i < count; ++i) {
        held.push_back(static_cast<int64_t>(40 + random() % 260) * kMb);
        costs.push_back((20 + random() % 200) * 1'000'003);
    }
    return step_of(held, costs);
}

Chosen first_layers(size_t count, size_t all) {
    Chosen chosen(all, false);
    std::fill_n(chosen.begin(), count, true);
    return chosen;
}

}  // namespace

TEST_CASE("the plan costs what the cheapest of all sets costs", "[plan]") {
    std::mt19937 random(7);
    for (size_t round = 0; round < 30; ++round) {
        const PlanProblem problem = unequal_step(4 + round % 9, random);
        const int64_t high = peak_of(problem, Chosen(problem.costs.size(), false));
        const int64_t low = best_of_all_sets(problem, high).lowest;
        for (const int64_t part : {0, 15, 50, 85, 100}) {
            const int64_t budget = low + (high - low) * part / 100;
            const PlanSolution found = cheapest_choices(problem, budget);
            const Best best = best_of_all_sets(problem, budget);
            REQUIRE(found.is_feasible);
            CHECK(found.is_proved);
            CHECK(found.cost == best.cost);
            CHECK(found.bound_cost == best.cost);
            CHECK(peak_of(problem, found.chosen) <= budget);
            CHECK(cost_of(problem, found.chosen) == found.cost);
        }
        const PlanSolution none = cheapest_choices(problem, low - 1);
        CHECK_FALSE(none.is_feasible);
        CHECK(none.is_proved);
        const PlanSolution lowest = lowest_choices(problem, UINT64_MAX);
        CHECK(peak_of(problem, lowest.chosen) - low < 4096);
    }
}

TEST_CASE("of the sets that cost less than a plan, none fits", "[plan]") {
    std::mt19937 random(11);
    for (size_t round = 0; round < 6; ++round) {
        const PlanProblem problem = unequal_step(10, random);
        const int64_t high = peak_of(problem, Chosen(10, false));
        const int64_t budget = high - (high - best_of_all_sets(problem, high).lowest) / 2;
        const PlanSolution found = cheapest_choices(problem, budget);
        const PlanSolution cheaper = lowest_choices(problem, found.cost);
        REQUIRE(cheaper.is_feasible);
        CHECK(cheaper.cost < found.cost);
        CHECK(peak_of(problem, cheaper.chosen) > budget);
        // No set that costs less has a lower peak.
        const Best below = best_of_all_sets(problem, peak_of(problem, cheaper.chosen) - 4096);
        CHECK(below.cost >= found.cost);
    }
}

TEST_CASE("of equal layers the first ones are taken", "[plan]") {
    for (const size_t count : {12U, 64U, 128U}) {
        const PlanProblem problem = step_of(std::vector<int64_t>(count, 100 * kMb),
                                            std::vector<uint64_t>(count, 141'733'920'768));
        const int64_t high = peak_of(problem, Chosen(count, false));
        const int64_t low = peak_of(problem, Chosen(count, true));
        for (const int64_t part : {20, 50, 80}) {
            const int64_t budget = low + (high - low) * part / 100;
            const PlanSolution found = cheapest_choices(problem, budget);
            const auto taken =
                static_cast<size_t>(std::count(found.chosen.begin(), found.chosen.end(), true));
            REQUIRE(found.is_feasible);
            CHECK(found.is_proved);
            CHECK(found.chosen == first_layers(taken, count));
            CHECK(peak_of(problem, first_layers(taken - 1, count)) > budget);
        }
    }
}

TEST_CASE("a plan of 128 unequal layers takes less than a second", "[plan]") {
    std::mt19937 random(3);
    const PlanProblem problem = unequal_step(128, random);
    const int64_t high = peak_of(problem, Chosen(128, false));
    const int64_t low = peak_of(problem, Chosen(128, true));
    for (const int64_t part : {20, 50, 80}) {
        const auto begin = std::chrono::steady_clock::now();
        const PlanSolution found = cheapest_choices(problem, low + (high - low) * part / 100);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        CHECK(found.is_feasible);
        CHECK(found.is_proved);
        CHECK(seconds.count() < 1);
    }
}

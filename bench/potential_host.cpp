// All arrays begin at cache lines, so that the rows of a ladder can be compared.
#include "bench/potential_host.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "bench/potential_problem.hpp"
#include "core/aligned_allocator.hpp"
#include "core/parallel.hpp"
#include "physics/charges/potential_backends.hpp"

namespace smallbatch {

namespace {

/// Some planes from the middle of a lattice, with memory for their potential.
template <class T>
class HostPlanes {
 public:
  HostPlanes(std::int64_t edge, std::int64_t charges, std::int64_t planes)
      : problem_({edge, edge, edge}, {charges}), planes_(problem_.lattice()) {
    planes_.plane_count = std::min(planes, edge);
    planes_.first_plane = (edge - planes_.plane_count) / 2;
    const ChargeBatch from = problem_.charges();
    for (int axis = 0; axis < 4; ++axis)
      for (std::int64_t i = 0; i < charges; ++i)
        split_[axis].push_back(static_cast<T>(axis < 3 ? from.position[3 * i + axis] : from.charge[i]));
    potential_.resize(static_cast<std::size_t>(planes_.plane_count * planes_.shape.plane_points()));
  }

  [[nodiscard]] double points() const { return static_cast<double>(potential_.size()); }
  [[nodiscard]] std::int64_t plane_count() const { return planes_.plane_count; }
  /// Returns the number of points in these planes, as a part of all points of the lattice.
  [[nodiscard]] double part() const { return points() / static_cast<double>(problem_.points()); }
  void poison() { std::fill(potential_.begin(), potential_.end(), std::numeric_limits<T>::quiet_NaN()); }
  [[nodiscard]] Judgement judge() const { return judge_potential<T>(problem_.charges(), planes_, potential_, {}); }
  void by_eigen() {
    potential_by_eigen({static_cast<std::int64_t>(split_[3].size()), split_[0].data(), split_[1].data(),
                        split_[2].data(), split_[3].data()},
                       planes_, potential_.data());
  }
  void by_backend(Potential& backend) {
    PotentialResult<T> result;
    result.potential = potential_.data();
    result.info = &info_;
    backend.evaluate(problem_.charges(), planes_, {}, result);
  }

 private:
  PotentialProblem problem_;
  LatticeBatch planes_;
  AlignedVector<T> split_[4];  // x, y, z, q
  AlignedVector<T> potential_;
  std::int32_t info_ = 0;
};

template <class T>
Step host_step(const std::shared_ptr<HostPlanes<T>>& planes, std::string name, std::string idea,
               std::function<void()> work) {
  Step step;
  step.name = std::move(name);
  step.idea = std::move(idea);
  step.host = true;
  step.prepare = [planes](cudaStream_t) { planes->poison(); };
  step.launch = [work = std::move(work)](cudaStream_t) { work(); };
  step.check = [planes] { return planes->judge(); };
  return step;
}

template <class T>
Step eigen_step(const std::shared_ptr<HostPlanes<T>>& planes) {
  Step step =
      host_step<T>(planes, "eigen_arrays", "an array expression of Eigen per point, over all charges; one thread",
                   [planes] { planes->by_eigen(); });
  step.l2_limit = sizeof(T) == 4 ? 1e-5 : 1e-12;
  return step;
}

/// Returns a step that calls the cpu backend.
template <class T>
Step backend_step(const std::shared_ptr<HostPlanes<T>>& planes, const DirectSumKernels& lanes, unsigned threads) {
  const std::shared_ptr<Potential> backend = make_cpu_potential(threads, lanes);
  const std::string of_threads = threads == 1 ? "one thread" : std::to_string(threads) + " threads";
  return host_step<T>(
      planes, std::string("cpu_") + lanes.name + (threads == 1 ? "" : "_" + std::to_string(threads) + "_threads"),
      "the cpu backend: lanes hold points, sums keep the bound; " + of_threads,
      [planes, backend] { planes->by_backend(*backend); });
}

}  // namespace

std::vector<Step> host_potential_steps(std::int64_t edge, std::int64_t charges, std::int64_t planes) {
  const auto some = std::make_shared<HostPlanes<float>>(edge, charges, planes);
  std::vector<Step> steps{eigen_step(some), backend_step(some, usable_direct_sum_kernels().front(), 1)};
  for (Step& step : steps) {
    step.part = some->part();
    step.idea += ", on " + std::to_string(some->plane_count()) + " of the planes";
  }
  return steps;
}

template <class T>
Ladder host_potential_ladder(std::int64_t edge, std::int64_t charges, std::int64_t planes) {
  const auto some = std::make_shared<HostPlanes<T>>(edge, charges, planes);
  Ladder ladder;
  ladder.title = "potential on the host, " + std::to_string(some->plane_count()) + " planes of a " +
                 std::to_string(edge) + "^3 lattice, " + std::to_string(charges) + " charges, " +
                 (sizeof(T) == 4 ? "float32" : "float64");
  const std::vector<DirectSumKernels> lanes = usable_direct_sum_kernels();
  ladder.note = "Host: " + std::to_string(hardware_threads()) + " threads, " + lanes.front().name +
                ". By the host's clock, data in host memory.";
  ladder.unit = "pairs";
  ladder.exponent = 9;
  ladder.work = some->points() * static_cast<double>(charges);
  ladder.bound = Bound::none;
  ladder.shows_l2 = true;
  ladder.poison = [some](cudaStream_t) { some->poison(); };
  ladder.check = [some] { return some->judge(); };
  ladder.steps.push_back(eigen_step(some));
  for (auto set = lanes.rbegin(); set != lanes.rend(); ++set) ladder.steps.push_back(backend_step(some, *set, 1));
  for (unsigned threads = 2; threads < hardware_threads(); threads *= 2)
    ladder.steps.push_back(backend_step(some, lanes.front(), threads));
  if (hardware_threads() > 1) ladder.steps.push_back(backend_step(some, lanes.front(), hardware_threads()));
  return ladder;
}

template Ladder host_potential_ladder<float>(std::int64_t, std::int64_t, std::int64_t);
template Ladder host_potential_ladder<double>(std::int64_t, std::int64_t, std::int64_t);

}  // namespace smallbatch

#include <algorithm>

#include <smallbatch/core/units.hpp>
#include <smallbatch/physics/potential.hpp>
#include <smallbatch/solvers/spd_solver.hpp>

#include "equilibration.hpp"
#include "stages.hpp"

namespace charge_equilibration {

Answer run_on_cpu(const Job& job, const TakeMaps& take_maps) {
  const SiteBatch sites = job.molecules.view();
  const smallbatch::SpdShape shape{site_capacity, 1};
  const auto count = static_cast<std::size_t>(sites.count);
  const smallbatch::Backend backend{smallbatch::BackendKind::cpu};
  Answer answer;
  answer.charge.resize(static_cast<std::size_t>(job.molecules.sites()));
  answer.info.resize(count);
  answer.backward_error.resize(count);
  smallbatch::AlignedVector<double> a(count * static_cast<std::size_t>(shape.matrix_size()));
  smallbatch::AlignedVector<double> b(count * site_capacity), x(count * site_capacity);
  const auto solver = smallbatch::make_spd_solver(backend);
  const auto potential = smallbatch::make_potential(backend);

  Clock clock;
#pragma omp parallel for schedule(static)
  for (std::int64_t molecule = 0; molecule < sites.count; ++molecule) {
    for (int row = 0; row < site_capacity; ++row) {
      double* const elements = &a[static_cast<std::size_t>(molecule * shape.matrix_size() + row * site_capacity)];
      for (int column = 0; column < site_capacity; ++column)
        elements[column] = matrix_element(sites, molecule, row, column);
      b[static_cast<std::size_t>(molecule * site_capacity + row)] = rhs_element(sites, molecule, row);
    }
  }
  answer.seconds.matrices = clock.lap();

  solver->solve({shape, sites.count, a.data(), b.data()}, {x.data(), answer.info.data(), answer.backward_error.data()});
  answer.seconds.solve = clock.lap();

  for (std::int64_t molecule = 0; molecule < sites.count; ++molecule)
    store_charges(sites, molecule, &x[static_cast<std::size_t>(molecule * site_capacity)], answer.charge.data());
  answer.seconds.charges = clock.lap();

  const smallbatch::PotentialOptions options{smallbatch::Singular::infinite,
                                             smallbatch::potential_unit_factor(smallbatch::PotentialUnit::volt)};
  const std::vector<double> origin = repeated(job.origin, molecules_per_block);
  const std::vector<double> spacing = repeated(job.spacing, molecules_per_block);
  for (std::int64_t first = 0; first < sites.count; first += molecules_per_block) {
    auto maps = map_block(job, first, std::min(molecules_per_block, sites.count - first));
    clock.lap();
    potential->evaluate({maps.count, sites.offset + first, sites.position, answer.charge.data()},
                        smallbatch::LatticeBatch{job.shape, origin.data(), spacing.data(), 0, job.shape.nz}, options,
                        maps.result());
    answer.seconds.maps += clock.lap();
    maps.count = std::min(maps.count, job.maps_wanted - first);
    if (maps.count > 0) take_maps(maps);
  }
  return answer;
}

}  // namespace charge_equilibration

// Potentials and pair energies: this file turns the caller's structs into those of physics/, and calls it.
#include "c/potentials.hpp"

#include <cmath>
#include <cstddef>
#include <string>

#include "c/device.hpp"
#include "core/aligned_allocator.hpp"
#include "core/grid_stride.hpp"
#include "physics/charge_layouts.hpp"
#include "physics/charges/potential_checks.hpp"

namespace smallbatch {

static_assert(sizeof(smallbatch_potential_summary) == sizeof(PotentialSummary));
static_assert(offsetof(smallbatch_potential_summary, lowest) == offsetof(PotentialSummary, lowest));
static_assert(offsetof(smallbatch_potential_summary, highest) == offsetof(PotentialSummary, highest));
static_assert(offsetof(smallbatch_potential_summary, sum) == offsetof(PotentialSummary, sum));
static_assert(offsetof(smallbatch_potential_summary, values) == offsetof(PotentialSummary, values));

namespace {

/// Checks that offsets run from 0 to the number of items. Without offsets, checks that the items can be divided evenly
/// among the problems. Offsets on the device are not read.
void check_offsets(const char* items, const char* offset_name, const std::int64_t* offset, std::int64_t count,
                   std::int64_t total, bool on_device) {
  if (offset == nullptr) {
    if (count > 0 && total % count != 0)
      refuse(std::string(offset_name) + " is NULL",
             std::to_string(total) + " " + items + " cannot be divided evenly among " + std::to_string(count) +
                 " problems",
             "Give the offsets.");
  } else if (!on_device && (offset[0] != 0 || offset[count] != total)) {
    refuse(
        std::string(offset_name) + " runs from " + std::to_string(offset[0]) + " to " + std::to_string(offset[count]),
        "there are " + std::to_string(total) + " " + items, "Let it run from 0 to that number.");
  }
}

ChargesCall call_of(const smallbatch_charges& charges, bool on_device) {
  check_count("charges->count", charges.count);
  check_count("charges->charge_count", charges.charge_count);
  check_size("charges", {charges.charge_count, 8});
  check_size("charges->offset", {charges.count});
  check_offsets("charges", "charges->offset", charges.offset, charges.count, charges.charge_count, on_device);
  ChargesCall call{charges.count,  charges.charge_count, charges.offset, charges.position,
                   charges.charge, charges.group,        charges.width};
  if (charges.xyzq != nullptr) {
    if (charges.position != nullptr || charges.charge != nullptr)
      refuse("charges are given twice", "as xyzq and as position or charge", "Set the others to NULL.");
    with_type("charges->xyzq_type", charges.xyzq_type, [&]<class T>(T) { call.xyzq_type = scalar_type_of<T>; });
    call.xyzq = charges.xyzq;
  } else {
    check_present("charges->position", charges.position, charges.charge_count);
    check_present("charges->charge", charges.charge, charges.charge_count);
  }
  return call;
}

TargetBatch targets_of(const smallbatch_targets& targets, std::int64_t count, bool on_device) {
  switch (number_of(targets.kind)) {
    case SMALLBATCH_AT_LATTICE:
      check_present("targets->origin", targets.origin, count);
      check_present("targets->spacing", targets.spacing, count);
      if (!(targets.smallest_spacing >= 0) || !std::isfinite(targets.smallest_spacing))
        refuse("targets->smallest_spacing is " + text_of(targets.smallest_spacing), "it is a length",
               "Give a finite length, or 0 if it is unknown.");
      check_size("targets", {count, targets.nx, targets.ny, targets.nz, 3});
      return LatticeBatch{{targets.nx, targets.ny, targets.nz},
                          targets.origin,
                          targets.spacing,
                          targets.first_plane,
                          targets.plane_count};
    case SMALLBATCH_AT_POINTS:
      check_count("targets->point_count", targets.point_count);
      check_size("targets", {targets.point_count, 3});
      check_offsets("points", "targets->point_offset", targets.point_offset, count, targets.point_count, on_device);
      check_present("targets->point", targets.point, targets.point_count);
      return PointBatch{targets.point_offset, targets.point};
    case SMALLBATCH_AT_CHARGES:
      return {};
    default:
      refuse_enumerator("targets->kind", number_of(targets.kind));
  }
}

PotentialOptions options_of(const smallbatch_potential_options* options) {
  PotentialOptions result;
  if (options == nullptr) return result;
  switch (number_of(options->singular)) {
    case SMALLBATCH_INFINITE:
      result.singular = Singular::infinite;
      break;
    case SMALLBATCH_SKIP:
      result.singular = Singular::skip;
      break;
    default:
      refuse_enumerator("options->singular", number_of(options->singular));
  }
  result.unit_factor = options->unit_factor;
  result.softening = options->softening;
  result.cutoff = options->cutoff;
  result.screening_length = options->screening_length;
  return result;
}

/// Checks what can be checked on the host without the arrays: the options, whether there are widths, the lattices'
/// shape.
void check_without_arrays(const ChargesCall& call, const TargetBatch& targets, const PotentialOptions& options) {
  ChargeBatch charges;  // no problems
  charges.width = call.width;
  check_potential_call(charges, targets, options);
}

template <class T>
PotentialCall<T> call_of(const smallbatch_charges& charges, const smallbatch_targets& targets,
                         const smallbatch_potentials& potentials, const smallbatch_potential_options* options,
                         bool on_device) {
  PotentialCall<T> call;
  call.charges = call_of(charges, on_device);
  call.targets = targets_of(targets, charges.count, on_device);
  call.options = options_of(options);
  check_without_arrays(call.charges, call.targets, call.options);
  call.smallest_spacing = targets.smallest_spacing;
  std::int64_t values = charges.charge_count;
  if (call.targets.kind == TargetKind::points) values = call.point_count = targets.point_count;
  if (call.targets.kind == TargetKind::lattice)
    values = charges.count * targets.plane_count * call.targets.lattice.shape.plane_points();
  check_present("potentials->potential", potentials.potential, values);
  check_present("potentials->info", potentials.info, charges.count);
  if (potentials.energy != nullptr && charges.charge_count > 0)
    check_present("charges->group, of an interaction energy,", charges.group);
  call.result.potential = static_cast<T*>(potentials.potential);
  call.result.info = potentials.info;
  call.result.field = static_cast<T*>(potentials.field);
  call.result.summary = reinterpret_cast<PotentialSummary*>(potentials.summary);
  call.result.energy = potentials.energy;
  return call;
}

PairEnergyCall call_of(const smallbatch_charges& charges, const smallbatch_pair_energies& energies,
                       const smallbatch_potential_options* options, bool on_device) {
  PairEnergyCall call;
  call.charges = call_of(charges, on_device);
  const PotentialOptions same = options_of(options);
  check_without_arrays(call.charges, TargetBatch(), same);
  call.options.singular = same.singular;
  call.options.unit_factor = same.unit_factor;
  call.options.softening = same.softening;
  call.options.cutoff = same.cutoff;
  call.options.screening_length = same.screening_length;
  with_type("energies->precision", energies.precision, [&]<class T>(T) { call.options.precision = scalar_type_of<T>; });
  check_present("energies->energy", energies.energy, charges.count);
  check_present("energies->info", energies.info, charges.count);
  call.result = {energies.energy, energies.info, energies.energy_per_charge};
  return call;
}

/// Charges on the host, and offsets of points, in the layout that the sums read. Arrays of the caller that already have
/// this layout are not copied.
class HostBatches {
 public:
  HostBatches(const ChargesCall& call, unsigned threads)
      : charges{call.count, call.offset, call.position, call.charge, call.group, call.width} {
    if (call.offset == nullptr) charges.offset = even_offsets(offset_, call.charge_count, call.count);
    if (call.xyzq == nullptr) return;
    const auto count = static_cast<std::size_t>(call.charge_count);
    position_.resize(3 * count);
    charge_.resize(count);
    if (call.xyzq_type == ScalarType::float32)
      split(static_cast<const float*>(call.xyzq), call.charge_count, threads);
    else
      split(static_cast<const double*>(call.xyzq), call.charge_count, threads);
    charges.position = position_.data();
    charges.charge = charge_.data();
  }

  TargetBatch with_offsets(TargetBatch targets, std::int64_t point_count) {
    if (targets.kind == TargetKind::points && targets.points.offset == nullptr)
      targets.points.offset = even_offsets(point_offset_, point_count, charges.count);
    return targets;
  }

  ChargeBatch charges;

 private:
  static const std::int64_t* even_offsets(AlignedVector<std::int64_t>& offset, std::int64_t items,
                                          std::int64_t problems) {
    offset.resize(static_cast<std::size_t>(problems) + 1);
    for_each_index(problems + 1, EvenOffset{share_of_each(items, problems), offset.data()});
    return offset.data();
  }
  template <class T>
  void split(const T* xyzq, std::int64_t count, unsigned threads) {
    for_each_index_on_threads(count, 1 << 16, threads, SplitCharge<T>{xyzq, position_.data(), charge_.data()});
  }

  AlignedVector<std::int64_t> offset_, point_offset_;
  AlignedVector<double> position_, charge_;
};

template <class T>
void run_on_host(Context& context, const PotentialCall<T>& call) {
  HostBatches batches(call.charges, context.backend.threads);
  const TargetBatch targets = batches.with_offsets(call.targets, call.point_count);
  context.potential().evaluate(batches.charges, targets, call.options, call.result);
}
void run_on_host(Context& context, const PairEnergyCall& call) {
  const HostBatches batches(call.charges, context.backend.threads);
  context.pair_energy().evaluate(batches.charges, call.options, call.result);
}

/// Runs a call after its arguments have been checked. If `wanted_bytes` is not null, stores the bytes of workspace
/// there and computes nothing.
template <class Call>
void run(Context& context, const Call& call, bool on_device, void* workspace, std::size_t bytes,
         std::size_t* wanted_bytes) {
  const std::size_t needed = on_device && call.charges.count > 0 ? device_workspace_bytes(call) : 0;
  if (wanted_bytes != nullptr) {
    *wanted_bytes = needed;
  } else if (call.charges.count == 0) {
    return;
  } else if (on_device) {
    check_workspace(workspace, bytes, needed);
    enqueue(context, call, workspace);
  } else {
    run_on_host(context, call);
  }
}

void run(Context& context, const smallbatch_charges* charges, const smallbatch_targets* targets,
         const smallbatch_potentials* potentials, const smallbatch_potential_options* options, void* workspace,
         std::size_t bytes, std::size_t* wanted_bytes) {
  check_present("charges", charges);
  check_present("targets", targets);
  check_present("potentials", potentials);
  const bool on_device = is_on_device(context, charges->memory);
  with_type("potentials->type", potentials->type, [&]<class T>(T) {
    run(context, call_of<T>(*charges, *targets, *potentials, options, on_device), on_device, workspace, bytes,
        wanted_bytes);
  });
}

void run(Context& context, const smallbatch_charges* charges, const smallbatch_pair_energies* energies,
         const smallbatch_potential_options* options, void* workspace, std::size_t bytes, std::size_t* wanted_bytes) {
  check_present("charges", charges);
  check_present("energies", energies);
  const bool on_device = is_on_device(context, charges->memory);
  run(context, call_of(*charges, *energies, options, on_device), on_device, workspace, bytes, wanted_bytes);
}

}  // namespace

}  // namespace smallbatch

using smallbatch::answer;
using smallbatch::check_present;
using smallbatch::Context;
using smallbatch::run;

void smallbatch_charges_init(smallbatch_charges* charges, smallbatch_memory memory, int64_t count,
                             int64_t charge_count) {
  if (charges == nullptr) return;
  *charges = {};
  charges->memory = memory;
  charges->count = count;
  charges->charge_count = charge_count;
}

void smallbatch_lattice_init(smallbatch_targets* targets, int64_t nx, int64_t ny, int64_t nz) {
  if (targets == nullptr) return;
  *targets = {};
  targets->kind = SMALLBATCH_AT_LATTICE;
  targets->nx = nx;
  targets->ny = ny;
  targets->nz = targets->plane_count = nz;
}

void smallbatch_points_init(smallbatch_targets* targets, int64_t point_count) {
  if (targets == nullptr) return;
  *targets = {};
  targets->kind = SMALLBATCH_AT_POINTS;
  targets->point_count = point_count;
}

void smallbatch_at_charges_init(smallbatch_targets* targets) {
  if (targets == nullptr) return;
  *targets = {};
  targets->kind = SMALLBATCH_AT_CHARGES;
}

void smallbatch_potential_options_init(smallbatch_potential_options* options) {
  if (options == nullptr) return;
  *options = {};
  options->unit_factor = 1;
}

void smallbatch_potentials_init(smallbatch_potentials* potentials, smallbatch_type type) {
  if (potentials == nullptr) return;
  *potentials = {};
  potentials->type = type;
}

void smallbatch_pair_energies_init(smallbatch_pair_energies* energies, smallbatch_type precision) {
  if (energies == nullptr) return;
  *energies = {};
  energies->precision = precision;
}

smallbatch_status smallbatch_potential(smallbatch_handle handle, const smallbatch_charges* charges,
                                       const smallbatch_targets* targets, const smallbatch_potentials* potentials,
                                       const smallbatch_potential_options* options, void* workspace,
                                       size_t workspace_bytes) {
  return answer(handle, [&](Context& context) {
    run(context, charges, targets, potentials, options, workspace, workspace_bytes, nullptr);
  });
}
smallbatch_status smallbatch_potential_workspace(smallbatch_handle handle, const smallbatch_charges* charges,
                                                 const smallbatch_targets* targets,
                                                 const smallbatch_potentials* potentials,
                                                 const smallbatch_potential_options* options, size_t* workspace_bytes) {
  return answer(handle, [&](Context& context) {
    check_present("workspace_bytes", workspace_bytes);
    run(context, charges, targets, potentials, options, nullptr, 0, workspace_bytes);
  });
}

smallbatch_status smallbatch_pair_energy(smallbatch_handle handle, const smallbatch_charges* charges,
                                         const smallbatch_pair_energies* energies,
                                         const smallbatch_potential_options* options, void* workspace,
                                         size_t workspace_bytes) {
  return answer(
      handle, [&](Context& context) { run(context, charges, energies, options, workspace, workspace_bytes, nullptr); });
}
smallbatch_status smallbatch_pair_energy_workspace(smallbatch_handle handle, const smallbatch_charges* charges,
                                                   const smallbatch_pair_energies* energies,
                                                   const smallbatch_potential_options* options,
                                                   size_t* workspace_bytes) {
  return answer(handle, [&](Context& context) {
    check_present("workspace_bytes", workspace_bytes);
    run(context, charges, energies, options, nullptr, 0, workspace_bytes);
  });
}

// Checks the arguments of a call about systems, and describes its matrices as solvers/layouts.hpp does.
#include <algorithm>
#include <string>

#include "c/systems.hpp"

namespace smallbatch {

namespace {

SpdOptions options_of(const smallbatch_solve_options* options) {
  SpdOptions result;
  if (options == nullptr) return result;
  switch (number_of(options->method)) {
    case SMALLBATCH_AUTOMATIC:
      result.method = SpdMethod::automatic;
      break;
    case SMALLBATCH_GAUSS_JORDAN:
      result.method = SpdMethod::gauss_jordan;
      break;
    case SMALLBATCH_LDLT:
      result.method = SpdMethod::ldlt;
      break;
    default:
      refuse_enumerator("options->method", number_of(options->method));
  }
  if (!(options->pivot_floor >= 0 && options->pivot_floor < 1))
    refuse("options->pivot_floor is " + text_of(options->pivot_floor), "it is a fraction of the diagonal element",
           "Give 0 for no repair, or a number below 1.");
  result.pivot_floor = options->pivot_floor;
  return result;
}

bool is_by_rows(const smallbatch_systems& systems) {
  switch (number_of(systems.order)) {
    case SMALLBATCH_ROW_MAJOR:
      return true;
    case SMALLBATCH_COLUMN_MAJOR:
      return false;
    default:
      refuse_enumerator("systems->order", number_of(systems.order));
  }
}

Triangle triangle_of(const smallbatch_systems& systems) {
  const bool by_rows = is_by_rows(systems);
  switch (number_of(systems.storage)) {
    case SMALLBATCH_BOTH_TRIANGLES:
      return Triangle::both;
    case SMALLBATCH_LOWER:
      return Triangle::lower;
    case SMALLBATCH_UPPER:
      return Triangle::upper;
    case SMALLBATCH_PACKED_LOWER:  // packed lower by columns is packed upper by rows
      return by_rows ? Triangle::packed_lower : Triangle::packed_upper;
    case SMALLBATCH_PACKED_UPPER:
      return by_rows ? Triangle::packed_upper : Triangle::packed_lower;
    default:
      refuse("systems->storage is " + std::to_string(number_of(systems.storage)), "that is none of its enumerators",
             "Use one of smallbatch.h; from Fortran, give 'L' or 'U' as uplo.");
  }
}

/// Layout of a caller's matrices, in one array or in many, by rows or by columns.
struct Layout {
  std::string name;  ///< name of the array in its struct, "systems->a"
  std::int64_t rows, columns;
  bool by_rows;
  std::int64_t leading_dimension, stride;
};

/// Checks the leading dimension and returns it. If it is 0, returns the least possible one.
std::int64_t leading_dimension_of(const Layout& layout) {
  const std::int64_t least = layout.by_rows ? layout.columns : layout.rows;
  if (layout.leading_dimension == 0) return least;
  if (layout.leading_dimension < least)
    refuse("the leading dimension of " + layout.name + " is " + std::to_string(layout.leading_dimension),
           "a " + std::string(layout.by_rows ? "row" : "column") + " has " + std::to_string(least) + " numbers",
           "Give at least that, or 0 for exactly that.");
  check_size(layout.name.c_str(), {layout.leading_dimension, layout.rows, layout.columns});
  return layout.leading_dimension;
}

template <class T, class Void>
MatrixArray<T> matrices_of(const Layout& layout, Void* data, Void* const* pointers, std::int64_t count) {
  if (count > 0 && (data == nullptr) == (pointers == nullptr))
    refuse(layout.name + " and " + layout.name + "_array are " + (data == nullptr ? "both NULL" : "both given"),
           "one of them says where the matrices lie", "Give one, and NULL for the other.");
  const std::int64_t leading = leading_dimension_of(layout);
  MatrixArray<T> matrices;
  matrices.data = static_cast<T*>(data);
  matrices.pointers = reinterpret_cast<T* const*>(pointers);
  matrices.row_step = layout.by_rows ? leading : 1;
  matrices.column_step = layout.by_rows ? 1 : leading;
  const std::int64_t tight_stride = leading * (layout.by_rows ? layout.rows : layout.columns);
  matrices.stride = layout.stride == SMALLBATCH_TIGHT || pointers != nullptr ? tight_stride : layout.stride;
  if (matrices.stride < 0)
    refuse("the stride of " + layout.name + " is " + std::to_string(matrices.stride), "a stride cannot be negative",
           "Give the distance between matrices in elements, SMALLBATCH_TIGHT, or 0 for one matrix for all systems.");
  if (count == 1) matrices.stride = tight_stride;  // with one matrix, the stride has no effect
  check_size(layout.name.c_str(), {matrices.stride, count});
  return matrices;
}

/// Checks that every pointer is set. Pointers on the device are not read.
template <class T>
void check_pointers(const char* name, const MatrixArray<T>& matrices, std::int64_t count) {
  if (matrices.pointers == nullptr) return;
  const auto* end = matrices.pointers + count;
  const auto* none = std::find(matrices.pointers, end, nullptr);
  if (none != end)
    refuse(std::string(name) + "[" + std::to_string(none - matrices.pointers) + "] is NULL",
           "it must point to a matrix", "Give its address, even if its size is 0.");
}

/// Checks that matrices do not overlap: they follow one another, or lie side by side within the leading dimension.
template <class T>
void check_apart(const Layout& layout, const MatrixArray<T>& matrices, std::int64_t count) {
  if (count <= 1 || matrices.pointers != nullptr) return;
  const std::int64_t run = layout.by_rows ? layout.columns : layout.rows;  // length of a run of neighbouring numbers
  const std::int64_t runs = layout.by_rows ? layout.rows : layout.columns;
  const std::int64_t leading = layout.by_rows ? matrices.row_step : matrices.column_step;
  const bool follow = matrices.stride >= leading * (runs - 1) + run;
  const bool side_by_side = matrices.stride >= run && matrices.stride * (count - 1) + run <= leading;
  if (!follow && !side_by_side)
    refuse("the stride of " + layout.name + " is " + std::to_string(matrices.stride),
           std::to_string(count) + " systems would write to the same places",
           "Give the distance between matrices in elements, or SMALLBATCH_TIGHT.");
}

template <class T>
void set_factors(SystemsCall<T>& call, const smallbatch_factors& factors) {
  const bool makes_them = call.operation == SystemsOperation::factor;
  check_present("factors->factor", factors.factor, call.count);
  check_present("factors->info", factors.info, call.count);
  const std::int64_t size = std::int64_t{call.n} * (call.n + 1) / 2;
  const bool is_tight = factors.stride == SMALLBATCH_TIGHT, is_shared = factors.stride == 0;
  if (!is_tight && !(is_shared && !makes_them) && factors.stride < size)
    refuse("the stride of factors->factor is " + std::to_string(factors.stride),
           "a factor has " + std::to_string(size) + " numbers",
           std::string("Give at least that, or SMALLBATCH_TIGHT") + (makes_them ? "." : "; 0 is one for all systems."));
  if (!is_tight && call.count > 1) check_size("factors->factor", {factors.stride, call.count});
  call.factors.factors = static_cast<T*>(factors.factor);
  call.factors.info = factors.info;
  call.factors.factors_stride = is_tight ? tight : factors.stride;
  if (!makes_them) return;
  call.factors.smallest_pivot = static_cast<T*>(factors.smallest_pivot);
  call.factors.log_determinant = factors.log_determinant;
}

template <class T>
void set_solutions(SystemsCall<T>& call, const smallbatch_systems& systems, const smallbatch_solutions& solutions) {
  const bool by_rows = is_by_rows(systems), inverts = call.operation == SystemsOperation::invert;
  if (reads_b(call.operation))
    call.b = matrices_of<const T>(Layout{"systems->b", call.n, call.nrhs, by_rows, systems.ldb, systems.b_stride},
                                  systems.b, systems.b_array, call.count);
  if (writes_x(call.operation)) {
    // An inverse is symmetric, so its rows equal its columns.
    const Layout layout{"solutions->x",     call.n,        call.columns_of_x(),
                        by_rows || inverts, solutions.ldx, solutions.x_stride};
    call.x = matrices_of<T>(layout, solutions.x, solutions.x_array, call.count);
    check_apart(layout, call.x, call.count);
  }
  if (reads_b(call.operation) && call.count > 0) {
    const bool same_place = call.x.pointers != nullptr
                                ? static_cast<const void*>(call.x.pointers) == static_cast<const void*>(call.b.pointers)
                                : call.b.pointers == nullptr && call.x.data == call.b.data;
    const bool same_steps = call.x.row_step == call.b.row_step && call.x.column_step == call.b.column_step &&
                            call.x.stride == call.b.stride;
    if (same_place && !same_steps)
      refuse("solutions->x is systems->b with another leading dimension or stride",
             "solutions would be written over right-hand sides that are not read yet",
             "Give x the leading dimension and stride of b, or separate memory.");
    call.is_in_place = same_place;
  }
  check_present("solutions->info", solutions.info, call.count);
  call.numbers.info = solutions.info;
  if (call.operation == SystemsOperation::solve_factored) {
    for (const void* number : {solutions.backward_error, solutions.rcond, solutions.smallest_pivot,
                               static_cast<void*>(solutions.log_determinant), static_cast<void*>(solutions.repaired),
                               solutions.perturbation})
      if (number != nullptr)
        refuse("a result other than x and info is wanted", "factors give no other results",
               "Set those members of the solutions to NULL, or call smallbatch_solve().");
    return;
  }
  if (call.operation != SystemsOperation::log_determinant)
    call.numbers.backward_error = static_cast<T*>(solutions.backward_error);
  call.numbers.rcond = static_cast<T*>(solutions.rcond);
  call.numbers.smallest_pivot = static_cast<T*>(solutions.smallest_pivot);
  call.numbers.log_determinant = solutions.log_determinant;
  call.numbers.repaired = solutions.repaired;
  call.numbers.perturbation = static_cast<T*>(solutions.perturbation);
}

}  // namespace

template <class T>
SystemsCall<T> systems_call(SystemsOperation operation, const SystemsArguments& given) {
  const smallbatch_systems& systems = *given.systems;
  if (systems.n < 1 || systems.n > max_system_size)
    refuse("systems->n is " + std::to_string(systems.n), "it must lie between 1 and " + std::to_string(max_system_size),
           "Split the systems or pad them.");
  check_count("systems->count", systems.count);
  SystemsCall<T> call;
  call.operation = operation;
  call.options = options_of(given.options);
  call.n = static_cast<int>(systems.n);
  call.count = systems.count;
  call.sizes = systems.sizes;
  if (call.sizes != nullptr && !has_options(operation))
    refuse("systems->sizes is given", "factors have n rows each",
           "Give NULL, or solve the systems directly with smallbatch_solve().");
  if (reads_b(operation)) {
    if (systems.nrhs < 1 || systems.nrhs > max_spd_rhs)
      refuse("systems->nrhs is " + std::to_string(systems.nrhs), "it counts right-hand sides",
             "Give 1 to " + std::to_string(max_spd_rhs) + ".");
    call.nrhs = static_cast<int>(systems.nrhs);
  }
  check_size("systems", {systems.count, systems.n, std::max<std::int64_t>(systems.n, call.nrhs)});
  if (reads_a(operation)) {
    call.triangle = triangle_of(systems);
    Layout layout{"systems->a", call.n, call.n, is_by_rows(systems), systems.lda, systems.a_stride};
    if (call.triangle == Triangle::packed_lower || call.triangle == Triangle::packed_upper)
      layout = {layout.name, 1, std::int64_t{call.n} * (call.n + 1) / 2, true, 0, systems.a_stride};
    call.a = matrices_of<const T>(layout, systems.a, systems.a_array, call.count);
  }
  if (given.factors != nullptr) set_factors(call, *given.factors);
  if (given.solutions != nullptr) set_solutions(call, systems, *given.solutions);
  if (number_of(systems.memory) == SMALLBATCH_HOST) {
    check_pointers("systems->a_array", call.a, call.count);
    check_pointers("systems->b_array", call.b, call.count);
    check_pointers("solutions->x_array", call.x, call.count);
  }
  return call;
}

template SystemsCall<float> systems_call(SystemsOperation, const SystemsArguments&);
template SystemsCall<double> systems_call(SystemsOperation, const SystemsArguments&);

}  // namespace smallbatch

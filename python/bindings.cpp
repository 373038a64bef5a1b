// Python bindings of c/smallbatch.h, as smallbatch._core. Its structs have addresses in place of arrays. Its functions
// raise exceptions when they fail. The friendly part of the package is written in Python, in smallbatch/.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <smallbatch.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(const char* sentence) : sentence_(sentence) {}
  [[nodiscard]] const char* what() const noexcept override { return sentence_.what(); }

 private:
  std::runtime_error sentence_;
};

void check(smallbatch_status status, smallbatch_handle handle) {
  if (status == SMALLBATCH_SUCCESS) return;
  const char* sentence = smallbatch_last_error(handle);
  if (status == SMALLBATCH_INVALID_ARGUMENT) throw nb::value_error(sentence);
  if (status == SMALLBATCH_OUT_OF_MEMORY) throw OutOfMemory(sentence);
  throw std::runtime_error(sentence);
}

class Handle {
 public:
  Handle(smallbatch_backend backend, int device) { check(smallbatch_create(&handle_, backend, device), nullptr); }
  ~Handle() { smallbatch_destroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  [[nodiscard]] smallbatch_handle get() const { return handle_; }

 private:
  smallbatch_handle handle_ = nullptr;
};

/// A view of an array of any library, through DLPack. The view keeps the array alive. Strides are in elements.
struct View {
  nb::ndarray<nb::ro> array;

  [[nodiscard]] std::string type() const {
    const nb::dlpack::dtype type = array.dtype();
    const char* kinds[] = {"int", "uint", "float", "", "", "complex", "bool"};
    return type.code < std::size(kinds) ? kinds[type.code] + std::to_string(type.bits) : std::string("?");
  }
};

nb::tuple tuple_of(const std::int64_t* numbers, std::size_t count) {
  nb::list list;
  for (std::size_t k = 0; k < count; ++k) list.append(numbers[k]);
  return nb::tuple(list);
}

/// Defines a member that is a pointer. Python sees its address, or 0 for null.
template <class Struct, class Pointee>
void define_pointer(nb::class_<Struct>& type, const char* name, Pointee* Struct::*member) {
  type.def_prop_rw(
      name, [member](const Struct& object) { return reinterpret_cast<std::uintptr_t>(object.*member); },
      [member](Struct& object, std::uintptr_t address) { object.*member = reinterpret_cast<Pointee*>(address); });
}

/// A computation on structs: the call, and the function that returns the bytes of its workspace.
template <class... Structs>
struct Computation {
  using Call = smallbatch_status (*)(smallbatch_handle, const Structs*..., void*, std::size_t);
  using Ask = smallbatch_status (*)(smallbatch_handle, const Structs*..., std::size_t*);

  static void define(nb::class_<Handle>& type, const std::string& name, Call call, Ask ask) {
    type.def(name.c_str(),
             [call](const Handle& handle, const Structs&... structs, std::uintptr_t workspace, std::size_t bytes) {
               const nb::gil_scoped_release others_may_run;
               check(call(handle.get(), &structs..., reinterpret_cast<void*>(workspace), bytes), handle.get());
             });
    type.def((name + "_workspace").c_str(), [ask](const Handle& handle, const Structs&... structs) {
      std::size_t bytes = 0;
      check(ask(handle.get(), &structs..., &bytes), handle.get());
      return bytes;
    });
  }
};

using Describe = std::size_t (*)(std::int32_t, char*, std::size_t);
void define_sentence(nb::module_& module, const char* name, Describe describe) {
  module.def(
      name,
      [describe](std::int32_t info) {
        std::string sentence(describe(info, nullptr, 0) + 1, '\0');
        describe(info, sentence.data(), sentence.size());
        sentence.pop_back();
        return sentence;
      },
      "info"_a);
}

void define_unit(nb::module_& module, const char* name, smallbatch_status (*worth)(const char*, double*)) {
  module.def(
      name,
      [worth](const std::string& unit) {
        double factor = 0;
        check(worth(unit.c_str(), &factor), nullptr);
        return factor;
      },
      "unit"_a);
}

void define_enumerations(nb::module_& module) {
  nb::enum_<smallbatch_backend>(module, "Backend")
      .value("auto", SMALLBATCH_AUTO)
      .value("cpu", SMALLBATCH_CPU)
      .value("cuda", SMALLBATCH_CUDA)
      .value("reference", SMALLBATCH_REFERENCE);
  nb::enum_<smallbatch_type>(module, "Type").value("float32", SMALLBATCH_FLOAT32).value("float64", SMALLBATCH_FLOAT64);
  nb::enum_<smallbatch_memory>(module, "Memory").value("host", SMALLBATCH_HOST).value("device", SMALLBATCH_DEVICE);
  nb::enum_<smallbatch_order>(module, "Order")
      .value("row", SMALLBATCH_ROW_MAJOR)
      .value("column", SMALLBATCH_COLUMN_MAJOR);
  nb::enum_<smallbatch_storage>(module, "Storage")
      .value("both", SMALLBATCH_BOTH_TRIANGLES)
      .value("lower", SMALLBATCH_LOWER)
      .value("upper", SMALLBATCH_UPPER)
      .value("packed_lower", SMALLBATCH_PACKED_LOWER)
      .value("packed_upper", SMALLBATCH_PACKED_UPPER);
  nb::enum_<smallbatch_method>(module, "Method")
      .value("auto", SMALLBATCH_AUTOMATIC)
      .value("gauss_jordan", SMALLBATCH_GAUSS_JORDAN)
      .value("ldlt", SMALLBATCH_LDLT);
  nb::enum_<smallbatch_singular>(module, "Singular").value("inf", SMALLBATCH_INFINITE).value("skip", SMALLBATCH_SKIP);
  nb::enum_<smallbatch_sample_type>(module, "SampleType")
      .value("float32", SMALLBATCH_SAMPLE_FLOAT32)
      .value("int8", SMALLBATCH_SAMPLE_INT8)
      .value("int4", SMALLBATCH_SAMPLE_INT4);
  nb::enum_<smallbatch_sum_type>(module, "SumType")
      .value("float32", SMALLBATCH_SUM_FLOAT32)
      .value("int32", SMALLBATCH_SUM_INT32)
      .value("int64", SMALLBATCH_SUM_INT64);
}

void define_structs(nb::module_& module) {
  nb::class_<smallbatch_systems> systems(module, "Systems");
  systems.def("__init__", [](smallbatch_systems* made, smallbatch_type type, smallbatch_memory memory, std::int64_t n,
                             std::int64_t nrhs, std::int64_t count) {
    smallbatch_systems_init(new (made) smallbatch_systems, type, memory, n, nrhs, count);
  });
  systems.def_rw("order", &smallbatch_systems::order)
      .def_rw("storage", &smallbatch_systems::storage)
      .def_rw("lda", &smallbatch_systems::lda)
      .def_rw("a_stride", &smallbatch_systems::a_stride)
      .def_rw("ldb", &smallbatch_systems::ldb)
      .def_rw("b_stride", &smallbatch_systems::b_stride);
  define_pointer(systems, "a", &smallbatch_systems::a);
  define_pointer(systems, "b", &smallbatch_systems::b);
  define_pointer(systems, "sizes", &smallbatch_systems::sizes);

  nb::class_<smallbatch_solutions> solutions(module, "Solutions");
  solutions.def("__init__",
                [](smallbatch_solutions* made) { smallbatch_solutions_init(new (made) smallbatch_solutions); });
  define_pointer(solutions, "x", &smallbatch_solutions::x);
  define_pointer(solutions, "info", &smallbatch_solutions::info);
  define_pointer(solutions, "backward_error", &smallbatch_solutions::backward_error);
  define_pointer(solutions, "rcond", &smallbatch_solutions::rcond);
  define_pointer(solutions, "smallest_pivot", &smallbatch_solutions::smallest_pivot);
  define_pointer(solutions, "log_determinant", &smallbatch_solutions::log_determinant);
  define_pointer(solutions, "repaired", &smallbatch_solutions::repaired);
  define_pointer(solutions, "perturbation", &smallbatch_solutions::perturbation);

  nb::class_<smallbatch_solve_options>(module, "SolveOptions")
      .def("__init__", [](smallbatch_solve_options* made, smallbatch_method method, double pivot_floor) {
        new (made) smallbatch_solve_options{method, pivot_floor};
      });

  nb::class_<smallbatch_factors> factors(module, "Factors");
  factors.def("__init__", [](smallbatch_factors* made) { smallbatch_factors_init(new (made) smallbatch_factors); });
  factors.def_rw("stride", &smallbatch_factors::stride);
  define_pointer(factors, "factor", &smallbatch_factors::factor);
  define_pointer(factors, "info", &smallbatch_factors::info);
  define_pointer(factors, "smallest_pivot", &smallbatch_factors::smallest_pivot);
  define_pointer(factors, "log_determinant", &smallbatch_factors::log_determinant);

  nb::class_<smallbatch_charges> charges(module, "Charges");
  charges.def("__init__",
              [](smallbatch_charges* made, smallbatch_memory memory, std::int64_t count, std::int64_t charge_count) {
                smallbatch_charges_init(new (made) smallbatch_charges, memory, count, charge_count);
              });
  charges.def_rw("xyzq_type", &smallbatch_charges::xyzq_type);
  define_pointer(charges, "offset", &smallbatch_charges::offset);
  define_pointer(charges, "position", &smallbatch_charges::position);
  define_pointer(charges, "charge", &smallbatch_charges::charge);
  define_pointer(charges, "xyzq", &smallbatch_charges::xyzq);
  define_pointer(charges, "group", &smallbatch_charges::group);
  define_pointer(charges, "width", &smallbatch_charges::width);

  nb::class_<smallbatch_targets> targets(module, "Targets");
  targets.def_static("at_lattice", [](std::int64_t nx, std::int64_t ny, std::int64_t nz) {
    smallbatch_targets made;
    smallbatch_lattice_init(&made, nx, ny, nz);
    return made;
  });
  targets.def_static("at_points", [](std::int64_t point_count) {
    smallbatch_targets made;
    smallbatch_points_init(&made, point_count);
    return made;
  });
  targets.def_static("at_charges", [] {
    smallbatch_targets made;
    smallbatch_at_charges_init(&made);
    return made;
  });
  targets.def_rw("smallest_spacing", &smallbatch_targets::smallest_spacing);
  define_pointer(targets, "origin", &smallbatch_targets::origin);
  define_pointer(targets, "spacing", &smallbatch_targets::spacing);
  define_pointer(targets, "point_offset", &smallbatch_targets::point_offset);
  define_pointer(targets, "point", &smallbatch_targets::point);

  nb::class_<smallbatch_potential_options>(module, "PotentialOptions")
      .def("__init__", [](smallbatch_potential_options* made, smallbatch_singular singular, double unit_factor,
                          double softening, double cutoff, double screening_length) {
        new (made) smallbatch_potential_options{singular, unit_factor, softening, cutoff, screening_length};
      });

  nb::class_<smallbatch_potentials> potentials(module, "Potentials");
  potentials.def("__init__", [](smallbatch_potentials* made, smallbatch_type type) {
    smallbatch_potentials_init(new (made) smallbatch_potentials, type);
  });
  define_pointer(potentials, "potential", &smallbatch_potentials::potential);
  define_pointer(potentials, "field", &smallbatch_potentials::field);
  define_pointer(potentials, "info", &smallbatch_potentials::info);
  define_pointer(potentials, "energy", &smallbatch_potentials::energy);

  nb::class_<smallbatch_pair_energies> energies(module, "PairEnergies");
  energies.def("__init__", [](smallbatch_pair_energies* made, smallbatch_type precision) {
    smallbatch_pair_energies_init(new (made) smallbatch_pair_energies, precision);
  });
  define_pointer(energies, "energy", &smallbatch_pair_energies::energy);
  define_pointer(energies, "info", &smallbatch_pair_energies::info);
  define_pointer(energies, "energy_per_charge", &smallbatch_pair_energies::energy_per_charge);

  nb::class_<smallbatch_signals> signals(module, "Signals");
  signals.def("__init__", [](smallbatch_signals* made, smallbatch_memory memory, smallbatch_sample_type type,
                             std::int64_t channels, std::int64_t times, std::int64_t inputs) {
    smallbatch_signals_init(new (made) smallbatch_signals, memory, type, channels, times, inputs);
  });
  signals.def_rw("integrate", &smallbatch_signals::integrate);
  define_pointer(signals, "signal", &smallbatch_signals::signal);
  define_pointer(signals, "flag", &smallbatch_signals::flag);

  nb::class_<smallbatch_visibilities> visibilities(module, "Visibilities");
  visibilities.def("__init__", [](smallbatch_visibilities* made, const smallbatch_signals& of) {
    smallbatch_visibilities_init(new (made) smallbatch_visibilities, &of);
  });
  visibilities.def_ro("type", &smallbatch_visibilities::type);
  define_pointer(visibilities, "visibility", &smallbatch_visibilities::visibility);
  define_pointer(visibilities, "weight", &smallbatch_visibilities::weight);
  define_pointer(visibilities, "info", &smallbatch_visibilities::info);
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "smallbatch.h: structs with addresses in place of arrays, and functions that raise exceptions";
  define_enumerations(module);
  define_structs(module);

  nb::class_<View>(module, "View")
      .def(nb::init<nb::ndarray<nb::ro>>(), "array"_a.noconvert(), nb::sig("def __init__(self, array: object) -> None"))
      .def_prop_ro("address", [](const View& view) { return reinterpret_cast<std::uintptr_t>(view.array.data()); })
      .def_prop_ro("dtype", &View::type)
      .def_prop_ro(
          "shape", [](const View& view) { return tuple_of(view.array.shape_ptr(), view.array.ndim()); },
          nb::sig("def shape(self, /) -> tuple[int, ...]"))
      .def_prop_ro(
          "strides", [](const View& view) { return tuple_of(view.array.stride_ptr(), view.array.ndim()); },
          nb::sig("def strides(self, /) -> tuple[int, ...]"));

  nb::class_<Handle> handle(module, "Handle");
  handle.def(nb::init<smallbatch_backend, int>(), "backend"_a, "device"_a)
      .def("set_stream",
           [](const Handle& handle, std::uintptr_t stream) {
             check(smallbatch_set_stream(handle.get(), reinterpret_cast<void*>(stream)), handle.get());
           })
      .def("synchronize",
           [](const Handle& handle) {
             const nb::gil_scoped_release others_may_run;
             check(smallbatch_synchronize(handle.get()), handle.get());
           })
      .def("set_threads", [](const Handle& handle,
                             int threads) { check(smallbatch_set_threads(handle.get(), threads), handle.get()); })
      .def_prop_ro("backend", [](const Handle& handle) {
        smallbatch_backend backend{};
        check(smallbatch_get_backend(handle.get(), &backend, nullptr), handle.get());
        return backend;
      });
  using Systems = smallbatch_systems;
  using Solutions = smallbatch_solutions;
  using SolveOptions = smallbatch_solve_options;
  using PotentialOptions = smallbatch_potential_options;
  Computation<Systems, Solutions, SolveOptions>::define(handle, "solve", smallbatch_solve, smallbatch_solve_workspace);
  Computation<Systems, Solutions, SolveOptions>::define(handle, "invert", smallbatch_invert,
                                                        smallbatch_invert_workspace);
  Computation<Systems, Solutions, SolveOptions>::define(handle, "log_determinant", smallbatch_log_determinant,
                                                        smallbatch_log_determinant_workspace);
  Computation<Systems, smallbatch_factors>::define(handle, "factor", smallbatch_factor, smallbatch_factor_workspace);
  Computation<smallbatch_factors, Systems, Solutions>::define(handle, "solve_factored", smallbatch_solve_factored,
                                                              smallbatch_solve_factored_workspace);
  Computation<smallbatch_charges, smallbatch_targets, smallbatch_potentials, PotentialOptions>::define(
      handle, "potential", smallbatch_potential, smallbatch_potential_workspace);
  Computation<smallbatch_charges, smallbatch_pair_energies, PotentialOptions>::define(
      handle, "pair_energy", smallbatch_pair_energy, smallbatch_pair_energy_workspace);
  Computation<smallbatch_signals, smallbatch_visibilities>::define(handle, "correlate", smallbatch_correlate,
                                                                   smallbatch_correlate_workspace);

  define_sentence(module, "describe_solve_info", smallbatch_describe_solve_info);
  define_sentence(module, "describe_potential_info", smallbatch_describe_potential_info);
  define_sentence(module, "describe_pair_energy_info", smallbatch_describe_pair_energy_info);
  define_sentence(module, "describe_correlation_info", smallbatch_describe_correlation_info);
  module.def("version", smallbatch_version, "The version of the library, '0.2.0'.");
  module.def("device_count", smallbatch_device_count, "The number of CUDA devices; 0 in a build without CUDA.");
  module.def(
      "potential_unit_factor",
      [](const std::string& unit, double temperature) {
        double factor = 0;
        check(smallbatch_potential_unit_factor(unit.c_str(), temperature, &factor), nullptr);
        return factor;
      },
      "unit"_a, "temperature_kelvin"_a);
  define_unit(module, "length_unit_in_angstrom", smallbatch_length_unit_in_angstrom);
  define_unit(module, "charge_unit_in_e", smallbatch_charge_unit_in_e);
}

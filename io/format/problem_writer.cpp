#include "io/problem_writer.hpp"

#include <limits>

#include "core/error.hpp"
#include "io/format/common.hpp"
#include "io/format/triangles.hpp"
#include "io/hdf5/output.hpp"

namespace smallbatch {

struct ProblemWriter::Impl {
  Hdf5Output file;

  void add_charges(const std::string& group, const ChargesOfSet& set) {
    if (set.offset.size() != static_cast<std::size_t>(set.batch) + 1) {
      throw Error(ErrorKind::usage,
                  "set " + quoted(set.name) + " has " + std::to_string(set.batch) + " problems and " +
                      std::to_string(set.offset.size()) + " offsets",
                  "expected one offset more than problems", "Give where each problem begins, and the end.");
    }
    if (set.has_widths) {
      throw Error(ErrorKind::usage, "set " + quoted(set.name) + " has a width for each charge",
                  "expected one for all of them, or none", "Write it with another HDF5 library.");
    }
    file.create(group + "/position", element_type(set.type), {set.charges(), 3});
    file.attribute(group + "/position", "unit", std::string("angstrom"));
    file.create(group + "/charge", element_type(set.type), {set.charges()});
    file.attribute(group + "/charge", "unit", std::string("e"));
    file.create(group + "/offset", ElementType::int64, {set.batch + 1});
    file.write(group + "/offset", {}, set.offset.data());
    if (set.has_atomic_numbers) file.create(group + "/atomic_number", ElementType::int8, {set.charges()});
  }

  void write_charges(const std::string& group, const ChargesOfSet& set, std::int64_t first_charge,
                     ArrayView<double> position, ArrayView<double> charge) {
    if (position.size() != 3 * charge.size()) {
      throw Error(ErrorKind::usage,
                  "set " + quoted(set.name) + " was given " + std::to_string(charge.size()) + " charges and " +
                      std::to_string(position.size()) + " coordinates",
                  "expected 3 per charge", "Give both for the same charges.");
    }
    const AxisRange charges{first_charge, static_cast<std::int64_t>(charge.size())};
    file.write(group + "/position", {charges}, position.data());
    file.write(group + "/charge", {charges}, charge.data());
  }
};

ProblemWriter::ProblemWriter(const std::string& path, bool overwrite)
    : impl_(new Impl{Hdf5Output(path, overwrite, "problems")}) {}
ProblemWriter::~ProblemWriter() = default;
ProblemWriter::ProblemWriter(ProblemWriter&&) noexcept = default;

void ProblemWriter::add(const SolveSet& set) {
  const std::string group = set_path(set);
  const ElementType type = element_type(set.type);
  const std::int64_t n = set.shape.n;
  if (set.shape.storage == Storage::packed_lower) {
    impl_->file.create(group + "/A", type, {set.batch, set.shape.matrix_size()});
    impl_->file.attribute(group, "storage", set.is_upper ? storage_packed_upper : storage_packed);
  } else {
    impl_->file.create(group + "/A", type, {set.batch, n, n});
  }
  if (set.shape.storage == Storage::dense_lower)
    impl_->file.attribute(group, "uplo", set.is_upper ? uplo_upper : uplo_lower);
  if (set.shape.determinant_only) impl_->file.attribute(group, "compute", compute_log_determinant);
  if (set.shape.has_sizes) impl_->file.create(group + "/size", ElementType::int32, {set.batch});
  if (set.shape.nrhs == 0) return;
  if (set.rhs_is_vector) {
    impl_->file.create(group + "/b", type, {set.batch, n});
  } else {
    impl_->file.create(group + "/b", type, {set.batch, n, set.shape.nrhs});
  }
}

template <class T>
void ProblemWriter::write(const SolveSet& set, const SpdBlock<T>& block) {
  const std::string group = set_path(set);
  if (set.is_upper) {
    AlignedVector<T> a = block.a;
    exchange_triangles(set.shape, TrianglesFrom::lower, block.count, a.data());
    impl_->file.write(group + "/A", {{block.first, block.count}}, a.data());
  } else {
    impl_->file.write(group + "/A", {{block.first, block.count}}, block.a.data());
  }
  if (set.shape.nrhs > 0) impl_->file.write(group + "/b", {{block.first, block.count}}, block.b.data());
  if (set.shape.has_sizes) impl_->file.write(group + "/size", {{block.first, block.count}}, block.sizes.data());
}

template void ProblemWriter::write(const SolveSet&, const SpdBlock<float>&);
template void ProblemWriter::write(const SolveSet&, const SpdBlock<double>&);

void ProblemWriter::add(const PotentialSet& set) {
  if (set.targets == TargetKind::points || set.has_groups) {
    throw Error(ErrorKind::usage, "set " + quoted(set.name) + " has points or groups",
                "expected lattices, or V at the charges", "Write it with another HDF5 library.");
  }
  impl_->add_charges(set_path(set), set);
  write_potential_attributes(impl_->file, set);
}

void ProblemWriter::add(const PairEnergySet& set) {
  const std::string group = set_path(set);
  impl_->add_charges(group, set);
  if (set.has_groups) impl_->file.create(group + "/group", ElementType::int8, {set.charges()});
  impl_->file.attribute(group, "per_charge", std::int64_t{set.per_charge});
  write_charge_attributes(impl_->file, group, set);
}

void ProblemWriter::write_charges(const PotentialSet& set, std::int64_t first_charge, ArrayView<double> position,
                                  ArrayView<double> charge) {
  impl_->write_charges(set_path(set), set, first_charge, position, charge);
}

void ProblemWriter::write_charges(const PairEnergySet& set, std::int64_t first_charge, ArrayView<double> position,
                                  ArrayView<double> charge) {
  impl_->write_charges(set_path(set), set, first_charge, position, charge);
}

void ProblemWriter::write_atomic_numbers(const PotentialSet& set, std::int64_t first_charge,
                                         ArrayView<std::int8_t> numbers) {
  impl_->file.write(set_path(set) + "/atomic_number", {{first_charge, static_cast<std::int64_t>(numbers.size())}},
                    numbers.data());
}

void ProblemWriter::write_groups(const PairEnergySet& set, std::int64_t first_charge, ArrayView<std::int8_t> group) {
  impl_->file.write(set_path(set) + "/group", {{first_charge, static_cast<std::int64_t>(group.size())}}, group.data());
}

void ProblemWriter::add(const CorrelationSet& set) {
  const std::string group = set_path(set);
  if (set.integrate > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::usage, "cannot write " + group,
                "an integration would have " + std::to_string(set.integrate) + " samples, more than an int32 holds",
                "Integrate fewer (--integrate).");
  const std::vector<std::int64_t> samples{set.batch, set.times, set.inputs};
  switch (set.type) {
    case SampleType::complex_float32:
      impl_->file.create(group + "/signal", ElementType::float32, samples, NumberForm::complex);
      break;
    case SampleType::complex_int8:
      impl_->file.create(group + "/signal", ElementType::int8, {set.batch, set.times, set.inputs, 2});
      break;
    case SampleType::complex_int4:
      impl_->file.create(group + "/signal", ElementType::uint8, samples);
      impl_->file.attribute(group, "packing", packing_int4);
      break;
  }
  if (set.has_flags) impl_->file.create(group + "/flag", ElementType::uint8, samples);
  write_correlation_attributes(impl_->file, set);
}

void ProblemWriter::write(const CorrelationSet& set, const SignalBlock& block) {
  const std::string group = set_path(set), signal = group + "/signal";
  const AxisRange channels{block.first, block.channels}, times{block.first_time, block.times};
  const std::byte* const values = block.signal.data();
  switch (set.type) {
    case SampleType::complex_float32:
      impl_->file.write(signal, {channels, times}, reinterpret_cast<const float*>(values));
      break;
    case SampleType::complex_int8:
      impl_->file.write(signal, {channels, times}, reinterpret_cast<const std::int8_t*>(values));
      break;
    case SampleType::complex_int4:
      impl_->file.write(signal, {channels, times}, reinterpret_cast<const std::uint8_t*>(values));
      break;
  }
  if (set.has_flags) impl_->file.write(group + "/flag", {channels, times}, block.flag.data());
}

void ProblemWriter::provenance(const std::string& key, const std::string& value) {
  impl_->file.attribute("/provenance", key, short_enough(value));
}

void ProblemWriter::provenance(const std::string& key, double value) {
  impl_->file.attribute("/provenance", key, value);
}

void ProblemWriter::commit() { impl_->file.commit(); }

}  // namespace smallbatch

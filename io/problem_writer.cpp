#include "io/problem_writer.hpp"

#include "io/hdf5_format.hpp"
#include "io/hdf5_output.hpp"

namespace smallbatch {

struct ProblemWriter::Impl {
  Hdf5Output file;
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
  } else {
    impl_->file.create(group + "/A", type, {set.batch, n, n});
  }
  if (set.shape.storage == Storage::dense_lower) impl_->file.attribute(group, "uplo", uplo_lower);
  if (set.shape.determinant_only) impl_->file.attribute(group, "compute", compute_log_determinant);
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
  impl_->file.write(group + "/A", {{block.first, block.count}}, block.a.data());
  if (set.shape.nrhs > 0) impl_->file.write(group + "/b", {{block.first, block.count}}, block.b.data());
}

template void ProblemWriter::write(const SolveSet&, const SpdBlock<float>&);
template void ProblemWriter::write(const SolveSet&, const SpdBlock<double>&);

void ProblemWriter::add(const PotentialSet& set) {
  if (set.targets == TargetKind::points || set.has_groups) {
    throw Error(ErrorKind::usage, "set " + quoted(set.name) + " has points or groups",
                "expected lattices, or V at the charges", "Write it with another HDF5 library.");
  }
  if (set.offset.size() != static_cast<std::size_t>(set.batch) + 1) {
    throw Error(ErrorKind::usage,
                "set " + quoted(set.name) + " has " + std::to_string(set.batch) + " problems and " +
                    std::to_string(set.offset.size()) + " offsets",
                "expected one more than problems", "Give where each begins and the end.");
  }
  const std::string group = set_path(set);
  impl_->file.create(group + "/position", element_type(set.type), {set.charges(), 3});
  impl_->file.attribute(group + "/position", "unit", std::string("angstrom"));
  impl_->file.create(group + "/charge", element_type(set.type), {set.charges()});
  impl_->file.attribute(group + "/charge", "unit", std::string("e"));
  impl_->file.create(group + "/offset", ElementType::int64, {set.batch + 1});
  impl_->file.write(group + "/offset", {}, set.offset.data());
  write_potential_attributes(impl_->file, set);
}

void ProblemWriter::write_charges(const PotentialSet& set, std::int64_t first_charge, std::span<const double> position,
                                  std::span<const double> charge) {
  const std::string group = set_path(set);
  if (position.size() != 3 * charge.size()) {
    throw Error(ErrorKind::usage,
                "set " + quoted(set.name) + " was given " + std::to_string(charge.size()) + " charges and " +
                    std::to_string(position.size()) + " coordinates",
                "expected 3 per charge", "Give both for the same charges.");
  }
  const AxisRange charges{first_charge, static_cast<std::int64_t>(charge.size())};
  impl_->file.write(group + "/position", {charges}, position.data());
  impl_->file.write(group + "/charge", {charges}, charge.data());
}

void ProblemWriter::provenance(const std::string& key, const std::string& value) {
  impl_->file.attribute("/provenance", key, value);
}

void ProblemWriter::commit() { impl_->file.commit(); }

}  // namespace smallbatch

// Charges from H5MD 1.1 files (molecular dynamics trajectories): /particles/<group>/position and charge.
//
// Each is a dataset, position (N,3) and charge (N), or a group with frames: position/value (T,N,3), charge/value (T,N).
// A charge without frames holds for every frame. `unit` attributes are converted; boundaries are open here, so a
// periodic box is a warning.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/scalar_type.hpp"
#include "io/hdf5_input.hpp"
#include "io/molecule.hpp"

namespace smallbatch {

/// True where the file is HDF5, and so perhaps H5MD; false for anything else, also where it cannot be opened.
bool is_hdf5(const std::string& path);

/// One particles group of an open file.
class H5mdParticles {
 public:
  /// The file must outlive this object. An empty `group` takes the only one there is. Throws Error(bad_input).
  H5mdParticles(const InputFile& file, const std::string& group);

  [[nodiscard]] std::int64_t frames() const { return frames_; }
  [[nodiscard]] std::int64_t charges_per_frame() const { return charges_; }
  /// Of the positions in the file.
  [[nodiscard]] ScalarType type() const { return type_; }
  /// Length of the file's position unit.
  [[nodiscard]] double unit_in_angstrom() const { return unit_in_angstrom_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// Frames [first, first + count), one after the other: position (count, charges, 3) in angstrom, charge (count,
  /// charges) in e.
  void read(std::int64_t first, std::int64_t count, double* position, double* charge) const;

 private:
  const InputFile* file_;
  std::string position_, charge_;  ///< the datasets
  bool position_has_frames_ = false, charge_has_frames_ = false;
  std::int64_t frames_ = 0, charges_ = 0;
  ScalarType type_ = ScalarType::float64;
  double unit_in_angstrom_ = 1, charge_unit_in_e_ = 1;
  std::vector<std::string> warnings_;
};

/// An H5MD file, frame by frame.
class H5mdReader {
 public:
  /// `group` is a name under /particles; empty takes the only one there is. Throws Error naming file and dataset.
  H5mdReader(const std::string& path, const std::string& group);

  [[nodiscard]] std::int64_t frames() const { return particles_.frames(); }
  [[nodiscard]] std::int64_t charges_per_frame() const { return particles_.charges_per_frame(); }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return particles_.warnings(); }
  [[nodiscard]] Molecule read(std::int64_t frame) const;

 private:
  std::unique_ptr<InputFile> file_;
  H5mdParticles particles_;
};

}  // namespace smallbatch

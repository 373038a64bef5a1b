// Charges from H5MD 1.1 files (molecular dynamics trajectories): /particles/<group>/position and charge.
//
// Each is a dataset, position (N,3) and charge (N), or a group with frames: position/value (T,N,3), charge/value (T,N).
// A charge without frames holds for every frame. Where the group has none, /observables/<group>/charge and
// /observables/charge, or charges, are looked for: MDAnalysis writes what it was told of frames there. The frames'
// steps and times are position/step and position/time, one each or every so many; charges of other steps are refused.
// `unit` attributes are converted; boundaries are open here, so a periodic box is a warning.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/scalar_type.hpp"
#include "io/hdf5_input.hpp"
#include "io/molecule.hpp"
#include "io/problem_labels.hpp"

namespace smallbatch {

/// True where the file is HDF5, and so perhaps H5MD; false for anything else, also where it cannot be opened.
bool is_hdf5(const std::string& path);

/// Of a trajectory that has none: in e, one for each of its particles, in their order.
struct GivenCharges {
  std::string source;  ///< for messages
  std::vector<double> charge;
};

/// One particles group of an open file.
class H5mdParticles {
 public:
  /// The file must outlive this object. An empty `group` takes the only one there is. Throws Error(bad_input), also
  /// where charges are given and the file has its own.
  H5mdParticles(const InputFile& file, const std::string& group, const std::optional<GivenCharges>& given = {});

  [[nodiscard]] std::int64_t frames() const { return frames_; }
  [[nodiscard]] std::int64_t charges_per_frame() const { return charges_; }
  /// Of the positions in the file.
  [[nodiscard]] ScalarType type() const { return type_; }
  /// Length of the file's position unit.
  [[nodiscard]] double unit_in_angstrom() const { return unit_in_angstrom_; }
  /// Steps and times of the frames.
  [[nodiscard]] const ProblemLabels& labels() const { return labels_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// The same of charges.
  [[nodiscard]] double charge_unit_in_e() const { return charge_unit_in_e_; }
  /// Throws where particles have ids, which say that they are not in the same places in all frames, so that what is in
  /// one order for all frames, as charges without frames, is not theirs.
  void expect_one_order(const std::string& of_all_frames);
  /// Frames [first, first + count), one after the other: position (count, charges, 3) and charge (count, charges), in
  /// these units.
  void read(std::int64_t first, std::int64_t count, double* position, double* charge) const;

 private:
  void open_charges(const std::string& particles, const std::string& group, const std::optional<GivenCharges>& given);
  void open_labels(const std::string& position);
  void expect_steps_of_positions();
  template <class T>
  [[nodiscard]] std::vector<T> read_of_frames(const std::string& dataset);

  const InputFile* file_;
  std::string position_, charge_;      ///< the datasets
  std::vector<double> given_charges_;  ///< in place of the second
  ProblemLabels labels_;
  bool position_has_frames_ = false, charge_has_frames_ = false;
  bool has_one_order_ = false;  ///< as has been looked at
  std::int64_t frames_ = 0, charges_ = 0;
  ScalarType type_ = ScalarType::float64;
  double unit_in_angstrom_ = 1, charge_unit_in_e_ = 1;
  std::vector<std::string> warnings_;
};

/// An H5MD file, frame by frame.
class H5mdReader {
 public:
  /// `group` is a name under /particles; empty takes the only one there is. Throws Error naming file and dataset.
  H5mdReader(const std::string& path, const std::string& group, const std::optional<GivenCharges>& given = {});

  [[nodiscard]] std::int64_t frames() const { return particles_.frames(); }
  [[nodiscard]] std::int64_t charges_per_frame() const { return particles_.charges_per_frame(); }
  [[nodiscard]] const ProblemLabels& labels() const { return particles_.labels(); }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return particles_.warnings(); }
  [[nodiscard]] Molecule read(std::int64_t frame) const;

 private:
  std::unique_ptr<InputFile> file_;
  H5mdParticles particles_;
};

}  // namespace smallbatch

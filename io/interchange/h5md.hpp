// Charges from H5MD 1.1 files (molecular dynamics trajectories): /particles/<group>/position and charge.
//
// Each is a dataset, position (N,3) and charge (N), or a group with frames: position/value (T,N,3), charge/value (T,N).
// A charge without frames holds for every frame. Where the group has none, /observables/<group>/charge and
// /observables/charge, or charges, are looked for: MDAnalysis writes what it was told of frames there. The frames'
// steps and times are position/step and position/time, one each or every so many; charges of other steps are refused.
// `unit` attributes are converted; boundaries are open here, so a periodic box is a warning.
//
// Particles are told apart by id, or id/value, and without one by their places. A place of a frame is empty where its
// id is the dataset's fill value, -1 or NaN. It is also empty where its position is three NaNs, or three times a fill
// value other than 0. io/FORMAT.md says which frames were never written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/scalar_type.hpp"
#include "io/hdf5/input.hpp"
#include "io/interchange/molecule.hpp"
#include "io/problem_labels.hpp"

namespace smallbatch {

/// Of a trajectory that has none: one for each of its particles, in the order of their ids.
struct GivenCharges {
  std::string source;                      ///< for messages
  std::vector<double> charge;              ///< in e
  std::vector<std::int8_t> atomic_number;  ///< may be empty
};

/// One particles group of an open file. Opening reads all ids and positions: frames may have different numbers of
/// particles.
class H5mdParticles {
 public:
  /// The file must outlive this object. An empty `group` takes the only one there is. Throws Error(bad_input), also
  /// where charges are given and the file has its own.
  H5mdParticles(const InputFile& file, const std::string& group, const std::optional<GivenCharges>& given = {});

  /// Those that were written.
  [[nodiscard]] std::int64_t frames() const { return static_cast<std::int64_t>(rows_.size()); }
  /// Places that the file has for particles in each frame, of which some may be empty.
  [[nodiscard]] std::int64_t places() const { return places_; }
  /// Particles of the frames: frame f has [offset[f], offset[f + 1]).
  [[nodiscard]] const std::vector<std::int64_t>& offset() const { return offset_; }
  /// Of the positions in the file.
  [[nodiscard]] ScalarType type() const { return type_; }
  /// Length of the file's position unit.
  [[nodiscard]] double unit_in_angstrom() const { return unit_in_angstrom_; }
  /// Steps and times of the frames.
  [[nodiscard]] const ProblemLabels& labels() const { return labels_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// The same of charges.
  [[nodiscard]] double charge_unit_in_e() const { return charge_unit_in_e_; }
  /// Throws where it is not known whose the numbers are that are there once, in one order, for all frames.
  void expect_one_order(const std::string& of_all_frames);
  /// Frames [first, first + count), one after the other: position (particles, 3) and charge (particles), in these
  /// units.
  void read(std::int64_t first, std::int64_t count, double* position, double* charge) const;
  /// `numbers` has one for each place. `values` gets that of each particle of those frames. To be called after
  /// expect_one_order().
  template <class Values>
  void spread(const Values& numbers, std::int64_t first, std::int64_t count, Values& values) const {
    values.clear();
    for (const std::int64_t place : find_places(first, count))
      values.push_back(numbers[static_cast<std::size_t>(place)]);
  }
  /// Atomic numbers of a frame, where they are given.
  [[nodiscard]] std::vector<std::int8_t> atomic_numbers(std::int64_t frame) const;

 private:
  /// Numbers of particles, in a dataset.
  struct Element {
    std::string path, dataset;
    bool has_frames = false;  ///< each frame has its own
  };
  /// Whose the numbers are that all frames share: those of the places, or of sorted ids the ones at `index`.
  struct Order {
    bool is_of_places = true;
    std::vector<std::int64_t> ids, index;
  };
  /// Of some frames what their places hold. Where there are no ids, the places' numbers stand for them.
  struct Places {
    std::vector<double> position;  ///< (frames, places, 3)
    std::vector<std::int64_t> id;  ///< (frames, places), `nobody` where no particle is
  };

  [[nodiscard]] Element element(const std::string& path, const std::vector<std::int64_t>& row) const;
  void open_charges(const std::string& particles, const std::string& group, const std::optional<GivenCharges>& given);
  void open_frames();
  void open_ids(const std::string& particles);
  void expect_steps_of_positions(const Element& element) const;
  void find_particles();
  void add_ids(const std::int64_t* ids, std::int64_t frame, std::vector<std::int64_t>& id_of_place);
  void order_charges();
  template <class T>
  [[nodiscard]] std::vector<T> read_of_frames(const std::string& dataset);
  template <class T>
  void read_frames(const Element& element, std::int64_t first, std::int64_t count, T* values) const;
  [[nodiscard]] Places read_places(std::int64_t first, std::int64_t count) const;
  template <class T>
  void read_ids(std::int64_t first, std::int64_t count, std::vector<std::int64_t>& ids) const;
  [[nodiscard]] std::vector<std::int64_t> find_places(const Order& order, const std::vector<std::int64_t>& ids) const;
  [[nodiscard]] std::vector<std::int64_t> find_places(std::int64_t first, std::int64_t count) const;

  const InputFile* file_;
  Element position_, charge_, id_;     ///< the second without a dataset: given; the third likewise: there are none
  std::optional<GivenCharges> given_;  ///< in place of the second
  ProblemLabels labels_;
  std::vector<std::int64_t> rows_;  ///< of the frames in the file
  std::vector<std::int64_t> offset_;
  std::vector<std::int64_t> known_ids_;  ///< sorted
  Order by_place_, by_charge_;
  bool has_one_order_ = true, was_ordered_ = false;  ///< particles keep their places; by_place_ is known
  std::int64_t frames_in_file_ = 0, places_ = 0;
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
  [[nodiscard]] const ProblemLabels& labels() const { return particles_.labels(); }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return particles_.warnings(); }
  [[nodiscard]] Molecule read(std::int64_t frame) const;

 private:
  std::unique_ptr<InputFile> file_;
  H5mdParticles particles_;
};

}  // namespace smallbatch

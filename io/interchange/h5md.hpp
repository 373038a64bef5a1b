// Charges from H5MD 1.1 files (molecular dynamics trajectories): /particles/<group>/position and charge.
//
// Each is a dataset, position (N,3) and charge (N), or a group with frames: position/value (T,N,3), charge/value (T,N).
// A charge without frames holds for every frame. If the group has no charge, `charge` or `charges` is looked for in
// /observables/<group> and /observables, where MDAnalysis writes them. Steps and times of the frames are position/step
// and position/time, a number per frame or an interval. Charges with other steps than the positions are refused. Units
// are converted. Boundaries are open here, so a periodic box causes a warning.
//
// Particles are identified by id, or id/value. Without ids, a particle is identified by its place in the frame. A place
// of a frame is empty if its id is -1, NaN or the dataset's fill value. A place is also empty if each of its
// coordinates is NaN, or a fill value other than 0. See io/FORMAT.md for frames that were never written.
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

/// Charges for a trajectory without charges: one per particle, in the order of the ids.
struct GivenCharges {
  std::string source;                      ///< for messages
  std::vector<double> charge;              ///< in e
  std::vector<std::int8_t> atomic_number;  ///< may be empty
};

/// One particles group of an open file. The constructor reads all ids and positions, because frames may have different
/// numbers of particles.
class H5mdParticles {
 public:
  /// The file must outlive this object. An empty `group` takes the only group of the file. Throws Error(bad_input),
  /// also if charges are given and the file has its own.
  H5mdParticles(const InputFile& file, const std::string& group, const std::optional<GivenCharges>& given = {});

  /// Number of frames that were written.
  [[nodiscard]] std::int64_t frames() const { return static_cast<std::int64_t>(rows_.size()); }
  /// Number of places for particles in each frame of the file. Some places may be empty.
  [[nodiscard]] std::int64_t places() const { return places_; }
  /// Offsets of the frames' particles: frame f has the particles [offset[f], offset[f + 1]).
  [[nodiscard]] const std::vector<std::int64_t>& offset() const { return offset_; }
  /// Type of the positions in the file.
  [[nodiscard]] ScalarType type() const { return type_; }
  /// Unit of the positions in the file.
  [[nodiscard]] double unit_in_angstrom() const { return unit_in_angstrom_; }
  /// Steps and times of the frames.
  [[nodiscard]] const ProblemLabels& labels() const { return labels_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// Unit of the charges in the file.
  [[nodiscard]] double charge_unit_in_e() const { return charge_unit_in_e_; }
  /// Throws if it is unknown which particles the numbers of `of_all_frames` belong to. That dataset has one number per
  /// place, for all frames.
  void expect_one_order(const std::string& of_all_frames);
  /// Reads frames [first, first + count), one after the other: position (particles, 3) and charge (particles), in the
  /// units of the file.
  void read(std::int64_t first, std::int64_t count, double* position, double* charge) const;
  /// Sets `values` to the numbers of the particles in frames [first, first + count). `numbers` has one number for each
  /// place. To be called after expect_one_order().
  template <class Values>
  void spread(const Values& numbers, std::int64_t first, std::int64_t count, Values& values) const {
    values.clear();
    for (const std::int64_t place : find_places(first, count))
      values.push_back(numbers[static_cast<std::size_t>(place)]);
  }
  /// Returns the atomic numbers of a frame; empty if they were not given.
  [[nodiscard]] std::vector<std::int8_t> atomic_numbers(std::int64_t frame) const;

 private:
  /// One property of the particles: position, charge or id.
  struct Element {
    std::string path, dataset;
    bool has_frames = false;  ///< each frame has its own numbers
  };
  /// Says which particles own numbers that the file has once for all frames. Either number k belongs to place k, or
  /// number index[i] belongs to the particle ids[i].
  struct Order {
    bool is_of_places = true;
    std::vector<std::int64_t> ids, index;  ///< ids are sorted; both are empty if numbers belong to places
  };
  /// Contents of the places of some frames. Without ids, the index of a place is the id of its particle.
  struct Places {
    std::vector<double> position;  ///< (frames, places, 3)
    std::vector<std::int64_t> id;  ///< (frames, places); `nobody`: an empty place
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
  Element position_, charge_, id_;     ///< dataset names are empty for given charges and for missing ids
  std::optional<GivenCharges> given_;  ///< used instead of charge_
  ProblemLabels labels_;
  std::vector<std::int64_t> rows_;  ///< index in the file of each frame that was written
  std::vector<std::int64_t> offset_;
  std::vector<std::int64_t> known_ids_;  ///< sorted
  Order by_place_, by_charge_;
  bool has_one_order_ = true,
       is_order_checked_ = false;  ///< particles keep their places; expect_one_order() was called
  std::int64_t frames_in_file_ = 0, places_ = 0;
  ScalarType type_ = ScalarType::float64;
  double unit_in_angstrom_ = 1, charge_unit_in_e_ = 1;
  std::vector<std::string> warnings_;
};

/// Reader of an H5MD file, frame by frame.
class H5mdReader {
 public:
  /// `group` is a name under /particles. An empty `group` takes the only group. Throws Error naming file and dataset.
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

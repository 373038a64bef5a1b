#include "io/h5md.hpp"

#include <algorithm>
#include <optional>

#include "core/nearest_name.hpp"
#include "io/hdf5_input_driver.hpp"
#include "io/hdf5_units.hpp"

namespace smallbatch {
namespace {

std::string only_group(const InputFile& file) {
  const auto groups = file.members("/particles");
  if (groups.size() == 1) return groups.front();
  std::string found = groups.empty() ? "found none" : "found";
  for (const std::string& name : groups) found.append(" ").append(quoted(name));
  throw file.error("/particles", "expected one group of particles, " + found,
                   groups.empty() ? "Give an H5MD file with charges." : "Name the group to use.");
}

/// Other attributes are other programs' business, but a unit under another name would be no unit.
void refuse_near_unit(const InputFile& file, const std::string& object) {
  for (const std::string& name : file.attributes(object)) {
    if (name == "unit" || !nearest_name(name, {"unit"})) continue;
    throw file.error(object, "its attribute " + quoted(name) + " is unknown: did you mean \"unit\"?",
                     "Correct its name or remove it.");
  }
}

/// The unit may stand on the numbers or on the group that holds them with their times.
std::optional<double> unit_of(const InputFile& file, const std::string& numbers, const std::string& element,
                              std::optional<double> (*unit)(const InputFile&, const std::string&)) {
  const auto found = unit(file, numbers);
  return found || numbers == element ? found : unit(file, element);
}

}  // namespace

bool is_hdf5(const std::string& path) {
  try {
    InputBytes file(path);
    return has_hdf5_signature(file);
  } catch (const Error&) {
    return false;
  }
}

H5mdParticles::H5mdParticles(const InputFile& file, const std::string& group) : file_(&file) {
  const std::string name = group.empty() ? only_group(file) : group;
  const std::string particles = "/particles/" + name;
  if (name.find('/') != std::string::npos || file.kind(particles) != ObjectKind::group) {
    throw file.error("/particles", "it has no group " + quoted(name), "Name an H5MD particles group of this file.");
  }
  if (printable(name) != name) {
    throw file.error("/particles", "the group " + quoted(name) + " has control characters in its name", "Rename it.");
  }
  const std::string position = particles + "/position", charge = particles + "/charge";
  position_has_frames_ = file.kind(position) == ObjectKind::group;
  charge_has_frames_ = file.kind(charge) == ObjectKind::group;
  position_ = position_has_frames_ ? position + "/value" : position;
  charge_ = charge_has_frames_ ? charge + "/value" : charge;

  const DatasetInfo& positions = file.float_dataset(position_);
  const std::size_t first_axis = position_has_frames_ ? 1 : 0;
  if (positions.shape.size() != first_axis + 2 || positions.shape.back() != 3) {
    throw file.error(position_,
                     std::string("expected shape ") + (position_has_frames_ ? "(frames, N, 3)" : "(N, 3)") +
                         ", found " + shape_text(positions.shape),
                     "See the H5MD specification.");
  }
  frames_ = position_has_frames_ ? positions.shape[0] : 1;
  charges_ = positions.shape[first_axis];
  if (charges_ < 1) {
    throw file.error(position_, "expected at least one particle, found shape " + shape_text(positions.shape),
                     "Give a group with particles.");
  }
  type_ = positions.type == ElementType::float32 ? ScalarType::float32 : ScalarType::float64;

  const DatasetInfo& charges = file.float_dataset(charge_);
  std::vector<std::int64_t> expected{charges_};
  if (charge_has_frames_) expected.insert(expected.begin(), frames_);
  if (charges.shape != expected) {
    throw file.error(
        charge_,
        "expected shape " + shape_text(expected) + " as the positions have, found " + shape_text(charges.shape),
        "Store one charge per particle (and frame).");
  }

  for (const std::string& object : {position, position_, charge, charge_}) refuse_near_unit(file, object);
  const auto position_unit = unit_of(file, position_, position, length_unit);
  const auto charge_unit_found = unit_of(file, charge_, charge, charge_unit);
  unit_in_angstrom_ = position_unit.value_or(1);
  charge_unit_in_e_ = charge_unit_found.value_or(1);
  if (!position_unit) warnings_.push_back(position + " of " + file.path() + " has no unit: read as angstrom.");
  if (!charge_unit_found) warnings_.push_back(charge + " of " + file.path() + " has no unit: read as e.");
  const auto boundary = file.strings(particles + "/box", "boundary");
  if (boundary && std::ranges::find(*boundary, "periodic") != boundary->end()) {
    warnings_.push_back(particles + " of " + file.path() +
                        " has periodic boundaries: its images are not summed, only the charges in the file.");
  }
}

void H5mdParticles::read(std::int64_t first, std::int64_t count, double* position, double* charge) const {
  if (position_has_frames_) {
    file_->read(position_, {{first, count}}, position);
  } else if (count > 0) {
    file_->read(position_, {}, position);
  }
  if (charge_has_frames_) {
    file_->read(charge_, {{first, count}}, charge);
  } else if (count > 0) {
    file_->read(charge_, {}, charge);
    for (std::int64_t frame = 1; frame < count; ++frame) std::copy_n(charge, charges_, charge + frame * charges_);
  }
  for (std::int64_t i = 0; i < count * charges_ * 3; ++i) position[i] *= unit_in_angstrom_;
  for (std::int64_t i = 0; i < count * charges_; ++i) charge[i] *= charge_unit_in_e_;
}

H5mdReader::H5mdReader(const std::string& path, const std::string& group)
    : file_(std::make_unique<InputFile>(path)), particles_(*file_, group) {}

Molecule H5mdReader::read(std::int64_t frame) const {
  if (frame < 0 || frame >= frames()) {
    throw Error(ErrorKind::usage, "cannot read frame " + std::to_string(frame) + " of " + file_->path(),
                "it has " + std::to_string(frames()), "Ask for a frame that is there.");
  }
  Molecule molecule;
  molecule.position.resize(static_cast<std::size_t>(charges_per_frame()) * 3);
  molecule.charge.resize(static_cast<std::size_t>(charges_per_frame()));
  particles_.read(frame, 1, molecule.position.data(), molecule.charge.data());
  return molecule;
}

}  // namespace smallbatch

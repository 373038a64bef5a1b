#include "io/h5md.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/nearest_name.hpp"
#include "core/visible_text.hpp"
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

/// An object of other programs that may not even have groups on its way.
bool has_parents(const InputFile& file, const std::string& object) {
  for (std::size_t slash = object.find('/', 1); slash != std::string::npos; slash = object.find('/', slash + 1)) {
    if (file.kind(object.substr(0, slash)) != ObjectKind::group) return false;
  }
  return true;
}

void expect_frames(const InputFile& file, const std::string& dataset, const std::vector<std::int64_t>& shape,
                   std::int64_t frames) {
  if (shape == std::vector<std::int64_t>{frames}) return;
  throw file.error(dataset, "expected shape " + shape_text({frames}) + ", found " + shape_text(shape), "Correct it.");
}

/// offset + frame * interval; nothing where an integer has no such value.
template <class T>
std::optional<T> of_frame(double offset, std::int64_t frame, T interval) {
  if constexpr (std::is_floating_point_v<T>) {
    return offset + static_cast<T>(frame) * interval;
  } else {
    constexpr double beyond = 0x1p63;
    T value = 0;
    if (!(offset >= -beyond && offset < beyond) || __builtin_mul_overflow(frame, interval, &value) ||
        __builtin_add_overflow(static_cast<T>(offset), value, &value))
      return std::nullopt;
    return value;
  }
}

}  // namespace

bool is_hdf5(const std::string& path) {
  std::error_code unknown;  // to open a pipe would take its bytes, or end what writes to it
  if (!std::filesystem::is_regular_file(path, unknown)) return false;
  try {
    InputBytes file(path);
    return has_hdf5_signature(file);
  } catch (const Error&) {
    return false;
  }
}

H5mdParticles::H5mdParticles(const InputFile& file, const std::string& group, const std::optional<GivenCharges>& given)
    : file_(&file) {
  const std::string name = group.empty() ? only_group(file) : group;
  const std::string particles = "/particles/" + name;
  if (name.find('/') != std::string::npos || file.kind(particles) != ObjectKind::group) {
    throw file.error("/particles", "it has no group " + quoted(name), "Name an H5MD particles group of this file.");
  }
  if (has_control_bytes(name)) {
    throw file.error("/particles", "the group " + quoted(name) + " has control characters in its name", "Rename it.");
  }
  const std::string position = particles + "/position";
  position_has_frames_ = file.kind(position) == ObjectKind::group;
  position_ = position_has_frames_ ? position + "/value" : position;

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
  file.check_proportion(position_);  // there are offsets and labels of all frames
  type_ = positions.type == ElementType::float32 ? ScalarType::float32 : ScalarType::float64;

  for (const std::string& object : {position, position_}) refuse_near_unit(file, object);
  const auto position_unit = unit_of(file, position_, position, length_unit);
  unit_in_angstrom_ = position_unit.value_or(1);
  if (!position_unit) warnings_.push_back(position + " of " + file.path() + " has no unit: read as angstrom.");
  open_charges(particles, name, given);
  if (position_has_frames_) open_labels(position);
  if (position_has_frames_ && charge_has_frames_) expect_steps_of_positions();
  if (!charge_has_frames_) expect_one_order(given ? given->source : charge_);
  const auto boundary = file.strings(particles + "/box", "boundary");
  if (boundary && std::ranges::find(*boundary, "periodic") != boundary->end()) {
    warnings_.push_back(particles + " of " + file.path() +
                        " has periodic boundaries: its images are not summed, only the charges in the file.");
  }
}

void H5mdParticles::open_charges(const std::string& particles, const std::string& group,
                                 const std::optional<GivenCharges>& given) {
  const InputFile& file = *file_;
  const std::string of_group = "/observables/" + group;
  std::string charge = particles + "/charge";
  for (const std::string& elsewhere : {of_group + "/charge", of_group + "/charges", std::string("/observables/charge"),
                                       std::string("/observables/charges")}) {
    if (file.kind(charge) == ObjectKind::none && has_parents(file, elsewhere)) charge = elsewhere;
  }
  const bool has_own = file.kind(charge) != ObjectKind::none;
  if (given && has_own) {
    throw file.error(charge, "the trajectory has charges of its own, and " + given->source + " gives others",
                     "Give none.");
  }
  if (given) {
    const auto count = static_cast<std::int64_t>(given->charge.size());
    if (count != charges_) {
      throw file.error(particles,
                       "it has " + std::to_string(charges_) + " particles, and " + given->source + " has " +
                           std::to_string(count) + " charges",
                       "Give the charges of all its particles, in their order.");
    }
    given_charges_ = given->charge;
    return;
  }
  if (!has_own) {
    throw file.error(particles, "it has no dataset \"charge\", and neither has /observables",
                     "Add the charges, or import the trajectory with those of a PQR file.");
  }
  charge_has_frames_ = file.kind(charge) == ObjectKind::group;
  charge_ = charge_has_frames_ ? charge + "/value" : charge;
  const DatasetInfo& charges = file.float_dataset(charge_);
  std::vector<std::int64_t> expected{charges_};
  if (charge_has_frames_) expected.insert(expected.begin(), frames_);
  if (charges.shape != expected) {
    throw file.error(
        charge_,
        "expected shape " + shape_text(expected) + " as the positions have, found " + shape_text(charges.shape),
        "Store one charge per particle (and frame).");
  }
  for (const std::string& object : {charge, charge_}) refuse_near_unit(file, object);
  const auto unit = unit_of(file, charge_, charge, charge_unit);
  charge_unit_in_e_ = unit.value_or(1);
  if (!unit) warnings_.push_back(charge + " of " + file.path() + " has no unit: read as e.");
}

/// A number for each frame, or one from a frame to the next, which begin at the attribute offset; nothing where there
/// is neither. No answer depends on them, so that what is wrong with them is a warning.
template <class T>
std::vector<T> H5mdParticles::read_of_frames(const std::string& dataset) {
  const InputFile& file = *file_;
  std::vector<T> values;
  try {
    if (file.kind(dataset) == ObjectKind::none) return {};
    const DatasetInfo& info = file.dataset(dataset);
    const bool is_known = info.form == NumberForm::plain && info.type != ElementType::other;
    if (!is_known || (std::is_integral_v<T> && info.is_float())) {
      throw file.error(dataset, "expected numbers of frames, found " + info.type_name, "Correct it.");
    }
    values.resize(static_cast<std::size_t>(frames_));
    if (info.shape.empty()) {
      T interval = 0;
      file.read(dataset, {}, &interval);
      const double offset = file.number(dataset, "offset").value_or(0);
      for (std::size_t frame = 0; frame < values.size(); ++frame) {
        const auto value = of_frame<T>(offset, static_cast<std::int64_t>(frame), interval);
        if (!value) throw file.error(dataset, "its offset or interval is beyond what a step may be", "Correct it.");
        values[frame] = *value;
      }
    } else {
      expect_frames(file, dataset, info.shape, frames_);
      file.read(dataset, {}, values.data());
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    warnings_.push_back(std::string(error.what()) + " Frames go without.");
    return {};
  }
  return values;
}

void H5mdParticles::open_labels(const std::string& position) {
  labels_.step = read_of_frames<std::int64_t>(position + "/step");
  labels_.time = read_of_frames<double>(position + "/time");
  if (labels_.time.empty()) return;
  try {
    labels_.time_unit = file_->string(position + "/time", "unit").value_or("");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    warnings_.push_back(std::string(error.what()) + " Times go without a unit.");
  }
}

/// Each element has steps of its own: of as many frames, charges may be those of other ones. Where either has none that
/// can be read, they are taken to be alike.
void H5mdParticles::expect_steps_of_positions() {
  const std::string step = charge_.substr(0, charge_.rfind('/')) + "/step";
  const std::size_t said = warnings_.size();
  const std::vector<std::int64_t> steps = read_of_frames<std::int64_t>(step);
  warnings_.resize(said);
  if (steps.empty() || labels_.step.empty()) return;
  const auto [found, expected] = std::ranges::mismatch(steps, labels_.step);
  if (found == steps.end()) return;
  throw file_->error(step,
                     "frame " + std::to_string(found - steps.begin()) + " is step " + std::to_string(*found) +
                         ", where the positions have step " + std::to_string(*expected),
                     "Store charges at the steps of the positions, or one frame of them for all.");
}

/// Writers that work in parallel do not sort, and say by id which particle is where in each frame.
void H5mdParticles::expect_one_order(const std::string& of_all_frames) {
  if (std::exchange(has_one_order_, true)) return;  // or this has thrown
  const std::string id = position_.substr(0, position_.rfind("/position")) + "/id/value";
  if (!position_has_frames_ || !has_parents(*file_, id) || file_->kind(id) != ObjectKind::dataset) return;
  const DatasetInfo& info = file_->dataset(id);
  if (info.shape != std::vector<std::int64_t>{frames_, charges_} || info.form != NumberForm::plain || info.is_float() ||
      info.type == ElementType::other)
    return;
  constexpr std::int64_t at_once = 1 << 20;
  const std::int64_t most = std::max<std::int64_t>(1, at_once / charges_);
  std::vector<std::int64_t> of_first, ids;
  for (std::int64_t first = 0; first < frames_; first += most) {
    const std::int64_t count = std::min(most, frames_ - first);
    ids.resize(static_cast<std::size_t>(count * charges_));
    file_->read(id, {{first, count}}, ids.data());
    if (first == 0) of_first.assign(ids.begin(), ids.begin() + charges_);
    for (std::int64_t frame = 0; frame < count; ++frame) {
      if (std::equal(of_first.begin(), of_first.end(), ids.begin() + frame * charges_)) continue;
      throw file_->error(id,
                         "frame " + std::to_string(first + frame) +
                             " has its particles in another order than frame 0, and " + of_all_frames +
                             " has them in one for all frames",
                         "Sort the particles of each frame by their id.");
    }
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
    if (given_charges_.empty()) {
      file_->read(charge_, {}, charge);
    } else {
      std::ranges::copy(given_charges_, charge);
    }
    for (std::int64_t frame = 1; frame < count; ++frame) std::copy_n(charge, charges_, charge + frame * charges_);
  }
}

H5mdReader::H5mdReader(const std::string& path, const std::string& group, const std::optional<GivenCharges>& given)
    : file_(std::make_unique<InputFile>(path)), particles_(*file_, group, given) {}

Molecule H5mdReader::read(std::int64_t frame) const {
  if (frame < 0 || frame >= frames()) {
    throw Error(ErrorKind::usage, "cannot read frame " + std::to_string(frame) + " of " + file_->path(),
                "it has " + std::to_string(frames()), "Ask for a frame that is there.");
  }
  Molecule molecule;
  molecule.position.resize(static_cast<std::size_t>(charges_per_frame()) * 3);
  molecule.charge.resize(static_cast<std::size_t>(charges_per_frame()));
  particles_.read(frame, 1, molecule.position.data(), molecule.charge.data());
  for (double& value : molecule.position) value *= particles_.unit_in_angstrom();
  for (double& value : molecule.charge) value *= particles_.charge_unit_in_e();
  return molecule;
}

}  // namespace smallbatch

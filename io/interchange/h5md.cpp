// The constructor finds which particle is in which place of each frame. read() takes numbers from these places. One
// file, because read() relies on all that the constructor has checked.
#include "io/interchange/h5md.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/nearest_name.hpp"
#include "core/visible_text.hpp"
#include "io/hdf5/units.hpp"

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

/// Throws if an attribute has almost the name `unit`, because it would be ignored. Others belong to other programs.
void refuse_near_unit(const InputFile& file, const std::string& object) {
  for (const std::string& name : file.attributes(object)) {
    if (name == "unit" || !nearest_name(name, {"unit"})) continue;
    throw file.error(object, "its attribute " + quoted(name) + " is unknown: did you mean \"unit\"?",
                     "Correct its name or remove it.");
  }
}

/// Returns the unit of the numbers, or of the group that holds the numbers and their times.
std::optional<double> unit_of(const InputFile& file, const std::string& numbers, const std::string& element,
                              std::optional<double> (*unit)(const InputFile&, const std::string&)) {
  const auto found = unit(file, numbers);
  return found || numbers == element ? found : unit(file, element);
}

/// True if all groups on the way to the object exist. Files of other programs may lack them.
bool has_parents(const InputFile& file, const std::string& object) {
  for (std::size_t slash = object.find('/', 1); slash != std::string::npos; slash = object.find('/', slash + 1)) {
    if (file.kind(object.substr(0, slash)) != ObjectKind::group) return false;
  }
  return true;
}

/// Returns offset + frame * interval, or nothing if an integer T cannot hold it.
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

constexpr std::int64_t nobody = INT64_MIN;  ///< id of an empty place
constexpr std::int64_t numbers_at_once = 1 << 20;

const DatasetInfo& numbers(const InputFile& file, const std::string& dataset) {
  const DatasetInfo& info = file.dataset(dataset);
  if (info.is_float() || info.is_integer()) return info;
  throw file.error(dataset, "expected numbers, found " + info.type_name,
                   "Convert it before writing, e.g. array.astype(\"float64\").");
}

/// Returns the value as int64, or nothing if int64 cannot hold it exactly.
template <class T>
std::optional<std::int64_t> whole(T value) {
  bool is_whole = true;
  if constexpr (std::is_floating_point_v<T>) {
    is_whole = std::abs(value) < 0x1p63 && value == std::floor(value);
  } else {
    is_whole = std::in_range<std::int64_t>(value);
  }
  return is_whole ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
}

/// Calls work(T{}) with a T that holds all numbers of a dataset exactly.
template <class Work>
void with_numbers_of(const DatasetInfo& info, Work&& work) {
  if (info.is(ElementType::uint64)) return work(std::uint64_t{});
  if (info.is_integer()) return work(std::int64_t{});
  work(double{});
}

/// True if a step has a value that HDF5 or a writer gives to frames that were never written.
bool is_unwritten(double step, std::optional<double> fill, double before) {
  return (fill && *fill != 0 && step == *fill) || std::isnan(step) || (step == -1 && !(before < -1));
}

}  // namespace

H5mdParticles::H5mdParticles(const InputFile& file, const std::string& group, const std::optional<GivenCharges>& given)
    : file_(&file), given_(given) {
  const std::string name = group.empty() ? only_group(file) : group;
  const std::string particles = "/particles/" + name;
  if (name.find('/') != std::string::npos || file.kind(particles) != ObjectKind::group) {
    throw file.error("/particles", "it has no group " + quoted(name), "Name an H5MD particles group of this file.");
  }
  if (has_control_bytes(name)) {
    throw file.error("/particles", "the group " + quoted(name) + " has control characters in its name", "Rename it.");
  }
  position_.path = particles + "/position";
  position_.has_frames = file.kind(position_.path) == ObjectKind::group;
  position_.dataset = position_.has_frames ? position_.path + "/value" : position_.path;

  const DatasetInfo& positions = numbers(file, position_.dataset);
  const std::size_t first_axis = position_.has_frames ? 1 : 0;
  if (positions.shape.size() != first_axis + 2 || positions.shape.back() != 3) {
    throw file.error(position_.dataset,
                     std::string("expected shape ") + (position_.has_frames ? "(frames, N, 3)" : "(N, 3)") +
                         ", found " + shape_text(positions.shape),
                     "See the H5MD specification.");
  }
  frames_in_file_ = position_.has_frames ? positions.shape[0] : 1;
  places_ = positions.shape[first_axis];
  if (places_ < 1) {
    throw file.error(position_.dataset, "expected at least one particle, found shape " + shape_text(positions.shape),
                     "Give a group with particles.");
  }
  file.check_proportion(position_.dataset);  // offsets and labels of all frames are kept in memory
  type_ = positions.type == ElementType::float32 ? ScalarType::float32 : ScalarType::float64;

  for (const std::string& object : {position_.path, position_.dataset}) refuse_near_unit(file, object);
  const auto position_unit = unit_of(file, position_.dataset, position_.path, length_unit);
  unit_in_angstrom_ = position_unit.value_or(1);
  if (!position_unit) warnings_.push_back(position_.path + " of " + file.path() + " has no unit: read as angstrom.");
  open_frames();
  open_charges(particles, name, given);
  open_ids(particles);
  find_particles();
  order_charges();
  const auto boundary = file.strings(particles + "/box", "boundary");
  if (boundary && std::ranges::find(*boundary, "periodic") != boundary->end()) {
    warnings_.push_back(particles + " of " + file.path() +
                        " has periodic boundaries: its images are not summed, only the charges in the file.");
  }
}

/// Opens the element at `path`: a dataset, or a group with the dataset `value`. The numbers of one frame have the shape
/// `row`. The file has them for each frame, or once for all frames.
H5mdParticles::Element H5mdParticles::element(const std::string& path, const std::vector<std::int64_t>& row) const {
  const bool is_group = file_->kind(path) == ObjectKind::group;
  Element found{path, is_group ? path + "/value" : path, false};
  const std::vector<std::int64_t>& shape = numbers(*file_, found.dataset).shape;
  std::vector<std::int64_t> one = row, each = row;
  if (is_group) {
    one.insert(one.begin(), 1);
    each.insert(each.begin(), frames_in_file_);
  }
  found.has_frames = is_group && position_.has_frames && shape == each;
  if (shape != one && !found.has_frames) {
    throw file_->error(found.dataset,
                       "expected shape " + shape_text(each) + " as the positions have, found " + shape_text(shape),
                       "Store one number per particle (and frame).");
  }
  return found;
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
    throw file.error(charge, "the trajectory already has charges, and " + given->source + " gives others",
                     "Import it without other charges.");
  }
  if (given) return;
  if (!has_own) {
    throw file.error(particles, "it has no dataset \"charge\", and neither has /observables",
                     "Add the charges, or import the trajectory with those of a PQR file.");
  }
  charge_ = element(charge, {places_});
  if (charge_.has_frames) expect_steps_of_positions(charge_);
  for (const std::string& object : {charge, charge_.dataset}) refuse_near_unit(file, object);
  const auto unit = unit_of(file, charge_.dataset, charge, charge_unit);
  charge_unit_in_e_ = unit.value_or(1);
  if (!unit) warnings_.push_back(charge + " of " + file.path() + " has no unit: read as e.");
}

void H5mdParticles::open_ids(const std::string& particles) {
  const std::string id = particles + "/id";
  if (file_->kind(id) == ObjectKind::none) return;
  id_ = element(id, {places_});
  if (id_.has_frames) expect_steps_of_positions(id_);
}

/// Returns a number for each frame. The dataset holds these numbers, or a single number: their interval. Its attribute
/// `offset` is then the number of the first frame. Returns nothing if there is no dataset.
template <class T>
std::vector<T> numbers_of_frames(const InputFile& file, const std::string& dataset, std::int64_t frames) {
  if (file.kind(dataset) == ObjectKind::none) return {};
  const DatasetInfo& info = numbers(file, dataset);
  std::vector<T> values(static_cast<std::size_t>(info.shape.size() == 1 ? info.shape[0] : frames));
  if (info.shape.size() > 1)
    throw file.error(dataset, "expected shape " + shape_text({frames}) + ", found " + shape_text(info.shape),
                     "Correct it.");
  const auto read = [&](T* to) {
    if constexpr (std::is_integral_v<T>) {
      const std::size_t count = info.shape.empty() ? 1 : values.size();
      with_numbers_of(info, [&]<class Stored>(Stored) {
        std::vector<Stored> stored(count);
        file.read(dataset, {}, stored.data());
        std::ranges::transform(stored, to, [](Stored value) { return whole(value).value_or(nobody); });
      });
    } else {
      file.read(dataset, {}, to);
    }
  };
  if (!info.shape.empty()) {
    if (!values.empty()) read(values.data());
    return values;
  }
  T interval[1] = {};
  read(interval);
  const double offset = file.number(dataset, "offset").value_or(0);
  for (std::size_t frame = 0; frame < values.size(); ++frame) {
    const auto value = of_frame<T>(offset, static_cast<std::int64_t>(frame), interval[0]);
    if (!value) throw file.error(dataset, "its offset or interval gives a step beyond int64", "Correct it.");
    values[frame] = *value;
  }
  return values;
}

/// Returns the numbers of the frames that were written. Results do not depend on these numbers, so an error in them
/// becomes a warning.
template <class T>
std::vector<T> H5mdParticles::read_of_frames(const std::string& dataset) {
  try {
    const std::vector<T> all = numbers_of_frames<T>(*file_, dataset, frames_in_file_);
    if (all.empty()) return {};
    if (static_cast<std::int64_t>(all.size()) != frames_in_file_) {
      throw file_->error(dataset,
                         "expected shape " + shape_text({frames_in_file_}) + ", found " +
                             shape_text({static_cast<std::int64_t>(all.size())}),
                         "Correct it.");
    }
    std::vector<T> values;
    for (const std::int64_t row : rows_) values.push_back(all[static_cast<std::size_t>(row)]);
    if (std::is_integral_v<T> && std::ranges::find(values, static_cast<T>(nobody)) != values.end())
      throw file_->error(dataset, "expected whole numbers of int64, found others", "Correct it.");
    return values;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    warnings_.push_back(std::string(error.what()) + " These numbers are left out.");
    return {};
  }
}

/// Finds the frames that were written, and reads their steps and times.
void H5mdParticles::open_frames() {
  const InputFile& file = *file_;
  const std::string step = position_.path + "/step", time = position_.path + "/time";
  rows_.resize(static_cast<std::size_t>(frames_in_file_));
  std::iota(rows_.begin(), rows_.end(), std::int64_t{0});
  if (!position_.has_frames) return;
  std::vector<double> steps;
  try {
    steps = numbers_of_frames<double>(file, step, frames_in_file_);
  } catch (const Error& error) {  // read_of_frames() warns of it below
    if (error.kind() != ErrorKind::bad_input) throw;
  }
  if (steps.size() == rows_.size() && !steps.empty() && !file.dataset(step).shape.empty()) {
    const auto fill = file.fill_value<double>(step);
    double before = std::numeric_limits<double>::quiet_NaN();  // no frame yet
    std::erase_if(rows_, [&](std::int64_t row) {
      const double found = steps[static_cast<std::size_t>(row)];
      bool is_lost = is_unwritten(found, fill, before);
      // HDF5 fills with 0 by default. Steps rise, so a later step 0 is suspect.
      if (found == 0 && before >= 0) {
        std::vector<double> position(static_cast<std::size_t>(places_) * 3);
        file.read(position_.dataset, {{row, 1}}, position.data());
        is_lost = std::ranges::all_of(position, [](double value) { return value == 0 || std::isnan(value); });
      }
      if (!is_lost) before = found;
      return is_lost;
    });
    if (const std::size_t lost = steps.size() - rows_.size(); lost > 0) {
      warnings_.push_back(position_.path + " of " + file.path() + " has " + std::to_string(steps.size()) +
                          " frames, of which " + std::to_string(lost) +
                          " were never written (their steps are fill values): they are left out.");
    }
  }
  labels_.step = read_of_frames<std::int64_t>(step);
  labels_.time = read_of_frames<double>(time);
  if (labels_.time.empty()) return;
  try {
    labels_.time_unit = file.string(time, "unit").value_or("");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    warnings_.push_back(std::string(error.what()) + " The unit of times is left out.");
  }
}

/// Throws if the element has other steps than the positions. Its numbers could then belong to other frames, even if the
/// number of frames is equal. If either has no steps, equal steps are assumed.
void H5mdParticles::expect_steps_of_positions(const Element& element) const {
  const std::string own = element.path + "/step", step = position_.path + "/step";
  if (file_->kind(own) == ObjectKind::none || file_->kind(step) == ObjectKind::none) return;
  const auto expect = [&]<class T>(T) {
    const auto found = numbers_of_frames<T>(*file_, own, frames_in_file_),
               expected = numbers_of_frames<T>(*file_, step, frames_in_file_);
    if (found.empty() || expected.empty()) return;
    const std::string remedy = "Store them at the steps of the positions, or once for all frames.";
    if (found.size() != expected.size()) {
      throw file_->error(own,
                         "it has " + std::to_string(found.size()) + " steps, and the positions have " +
                             std::to_string(expected.size()),
                         remedy);
    }
    const bool is_of_frames = static_cast<std::int64_t>(found.size()) == frames_in_file_;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (is_of_frames && !std::ranges::binary_search(rows_, static_cast<std::int64_t>(i))) continue;
      if (found[i] == expected[i]) continue;
      const auto text = [](T value) { return std::is_integral_v<T> ? std::to_string(value) : text_of(value); };
      throw file_->error(own,
                         "frame " + std::to_string(i) + " is step " + text(found[i]) +
                             ", and the positions have step " + text(expected[i]),
                         remedy);
    }
  };
  const bool are_integers = file_->dataset(own).is_integer() && file_->dataset(step).is_integer();
  are_integers ? expect(std::int64_t{}) : expect(double{});
}

/// Reads an element for the frames first, first + 1, ... An element that the file has once is repeated for each frame.
template <class T>
void H5mdParticles::read_frames(const Element& element, std::int64_t first, std::int64_t count, T* values) const {
  const auto& shape = file_->dataset(element.dataset).shape;
  const std::int64_t length = places_ * (shape.back() == 3 && &element == &position_ ? 3 : 1);
  if (!element.has_frames) {
    if (count > 0) file_->read(element.dataset, {}, values);
    for (std::int64_t i = length; i < count * length; ++i) values[i] = values[i - length];
    return;
  }
  for (std::int64_t done = 0, run = 0; done < count; done += run) {
    const std::int64_t row = rows_[static_cast<std::size_t>(first + done)];
    for (run = 1; done + run < count && rows_[static_cast<std::size_t>(first + done + run)] == row + run;) ++run;
    file_->read(element.dataset, {{row, run}}, values + done * length);
  }
}

template <class T>
void H5mdParticles::read_ids(std::int64_t first, std::int64_t count, std::vector<std::int64_t>& ids) const {
  std::vector<T> found(ids.size());
  read_frames(id_, first, count, found.data());
  const auto fill = file_->fill_value<T>(id_.dataset);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = whole(found[i]);
    const bool is_nobody = found[i] != found[i] || found[i] == fill || id == -1;
    if (!is_nobody && !id) {
      throw file_->error(id_.dataset,
                         "expected whole numbers of int64, found " + text_of(static_cast<double>(found[i])),
                         "Store ids as int64.");
    }
    ids[i] = is_nobody ? nobody : *id;
  }
}

H5mdParticles::Places H5mdParticles::read_places(std::int64_t first, std::int64_t count) const {
  Places found;
  found.id.resize(static_cast<std::size_t>(count * places_));
  found.position.resize(found.id.size() * 3);
  read_frames(position_, first, count, found.position.data());
  if (id_.dataset.empty()) {
    for (std::size_t i = 0; i < found.id.size(); ++i) found.id[i] = static_cast<std::int64_t>(i) % places_;
  } else {
    with_numbers_of(file_->dataset(id_.dataset), [&]<class T>(T) { read_ids<T>(first, count, found.id); });
  }
  const auto fill = file_->fill_value<double>(position_.dataset);
  const auto is_nowhere = [&](double value) { return std::isnan(value) || (fill && *fill != 0 && value == *fill); };
  for (std::size_t i = 0; i < found.id.size(); ++i)
    if (std::all_of(&found.position[3 * i], &found.position[3 * i] + 3, is_nowhere)) found.id[i] = nobody;
  return found;
}

/// Finds which particle is in which place of each frame. Reads all frames.
void H5mdParticles::find_particles() {
  const std::int64_t most = std::max<std::int64_t>(1, numbers_at_once / places_);
  std::vector<std::int64_t> latest, id_of_place(static_cast<std::size_t>(places_), nobody);
  offset_ = {0};
  for (std::int64_t first = 0; first < frames(); first += most) {
    const std::int64_t count = std::min(most, frames() - first);
    const Places found = read_places(first, count);
    for (std::int64_t frame = 0; frame < count; ++frame) {
      const std::int64_t* const ids = found.id.data() + frame * places_;
      if (latest.empty() || !std::equal(latest.begin(), latest.end(), ids)) {
        latest.assign(ids, ids + places_);
        add_ids(ids, first + frame, id_of_place);
      }
      offset_.push_back(offset_.back() + places_ - std::count(ids, ids + places_, nobody));
    }
  }
  const auto used = places_ - std::ranges::count(id_of_place, nobody);
  has_one_order_ = has_one_order_ && used == static_cast<std::int64_t>(known_ids_.size());
  if (const std::int64_t empty = frames() * places_ - offset_.back(); empty > 0) {
    warnings_.push_back(position_.path + " of " + file_->path() + " has " + std::to_string(empty) +
                        " places without a particle (fill values or NaN): they are left out.");
  }
}

/// Adds the ids of a frame, which differ from those of the frame before.
void H5mdParticles::add_ids(const std::int64_t* ids, std::int64_t frame, std::vector<std::int64_t>& id_of_place) {
  std::vector<std::int64_t> sorted;
  for (std::int64_t place = 0; place < places_; ++place) {
    if (ids[place] == nobody) continue;
    sorted.push_back(ids[place]);
    std::int64_t& known = id_of_place[static_cast<std::size_t>(place)];
    has_one_order_ = has_one_order_ && (known == nobody || known == ids[place]);
    known = ids[place];
  }
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    throw file_->error(id_.dataset,
                       "frame " + std::to_string(frame) + " has the id " + std::to_string(*twice) +
                           " twice, and this id is not the fill value that marks empty places",
                       "Give each particle its own id, and create the dataset with a fill value for empty places.");
  }
  if (std::ranges::includes(known_ids_, sorted)) return;
  std::vector<std::int64_t> all;
  std::ranges::set_union(known_ids_, sorted, std::back_inserter(all));
  known_ids_ = std::move(all);
}

/// Programs that write in parallel do not sort the particles of a frame. Then only ids identify the particles.
void H5mdParticles::expect_one_order(const std::string& of_all_frames) {
  if (std::exchange(is_order_checked_, true) || has_one_order_) return;
  by_place_.is_of_places = false;
  by_place_.ids = known_ids_;
  by_place_.index.resize(known_ids_.size());
  std::iota(by_place_.index.begin(), by_place_.index.end(), std::int64_t{0});
  const std::vector<std::int64_t> of_first = read_places(0, 1).id;
  bool is_sorted = static_cast<std::int64_t>(known_ids_.size()) == places_;
  for (std::size_t place = 0; place < of_first.size() && is_sorted; ++place)
    is_sorted = of_first[place] == nobody || of_first[place] == known_ids_[place];
  if (is_sorted) return;
  throw file_->error(id_.dataset,
                     "particles change their places, the first frame is not in the order of all ids, and " +
                         of_all_frames + " has one number per particle for all frames",
                     "Sort the particles of each frame by their id.");
}

/// Finds the particle of each charge, if the same charges hold for all frames.
void H5mdParticles::order_charges() {
  if (charge_.has_frames) return;
  if (given_) {
    const bool has_ids = !id_.dataset.empty();
    const auto count = static_cast<std::int64_t>(given_->charge.size());
    const std::int64_t particles = has_ids ? static_cast<std::int64_t>(known_ids_.size()) : places_;
    if (count != particles) {
      throw file_->error(position_.path.substr(0, position_.path.rfind('/')),
                         "it has " + std::to_string(particles) + " particles, and " + given_->source + " has " +
                             std::to_string(count) + " charges",
                         "Give the charges of all its particles, in the order of their ids.");
    }
    if (!has_ids) return;
    by_charge_.is_of_places = false;
    by_charge_.ids = known_ids_;
    by_charge_.index.resize(known_ids_.size());
    std::iota(by_charge_.index.begin(), by_charge_.index.end(), std::int64_t{0});
    return;
  }
  if (has_one_order_) return;
  // One frame of charges may state its step. It then has the order of the frame with this step.
  const std::string own = charge_.path + "/step";
  if (charge_.path != charge_.dataset && file_->kind(own) != ObjectKind::none && !labels_.step.empty()) {
    const auto step = numbers_of_frames<std::int64_t>(*file_, own, 1);
    const auto found = std::ranges::find(labels_.step, step.front());
    if (step.size() != 1 || found == labels_.step.end()) {
      throw file_->error(own, "particles change their places, and no frame of the positions has this step",
                         "Store charges at the steps of the positions.");
    }
    const std::vector<std::int64_t> ids = read_places(found - labels_.step.begin(), 1).id;
    std::vector<std::pair<std::int64_t, std::int64_t>> sorted;
    for (std::size_t place = 0; place < ids.size(); ++place)
      if (ids[place] != nobody) sorted.emplace_back(ids[place], static_cast<std::int64_t>(place));
    std::ranges::sort(sorted);
    by_charge_.is_of_places = false;
    for (const auto& [id, place] : sorted) {
      by_charge_.ids.push_back(id);
      by_charge_.index.push_back(place);
    }
    if (by_charge_.ids == known_ids_) return;
    throw file_->error(charge_.dataset, "other frames have particles that this frame of charges lacks",
                       "Store charges for each frame.");
  }
  expect_one_order(charge_.dataset);
  by_charge_ = by_place_;
}

std::vector<std::int64_t> H5mdParticles::find_places(const Order& order, const std::vector<std::int64_t>& ids) const {
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == nobody) continue;
    const auto known = std::ranges::lower_bound(order.ids, ids[i]) - order.ids.begin();
    found.push_back(order.is_of_places ? static_cast<std::int64_t>(i) % places_
                                       : order.index[static_cast<std::size_t>(known)]);
  }
  return found;
}

std::vector<std::int64_t> H5mdParticles::find_places(std::int64_t first, std::int64_t count) const {
  return find_places(by_place_, read_places(first, count).id);
}

std::vector<std::int8_t> H5mdParticles::atomic_numbers(std::int64_t frame) const {
  std::vector<std::int8_t> found;
  if (!given_ || given_->atomic_number.empty()) return found;
  for (const std::int64_t place : find_places(by_charge_, read_places(frame, 1).id))
    found.push_back(given_->atomic_number[static_cast<std::size_t>(place)]);
  return found;
}

void H5mdParticles::read(std::int64_t first, std::int64_t count, double* position, double* charge) const {
  const Places found = read_places(first, count);
  std::vector<double> stored(found.id.size());
  std::vector<std::int64_t> of_all;
  std::optional<double> fill;
  if (!given_) fill = file_->fill_value<double>(charge_.dataset);
  if (!given_ && count > 0) read_frames(charge_, first, charge_.has_frames ? count : 1, stored.data());
  if (!charge_.has_frames) of_all = find_places(by_charge_, found.id);
  const std::vector<double>& charges = given_ ? given_->charge : stored;
  std::size_t particle = 0;
  for (std::size_t i = 0; i < found.id.size(); ++i) {
    if (found.id[i] == nobody) continue;
    std::copy_n(&found.position[3 * i], 3, position + 3 * particle);
    charge[particle] = charges[charge_.has_frames ? i : static_cast<std::size_t>(of_all[particle])];
    if (fill && *fill != 0 && charge[particle] == *fill) {
      throw file_->error(charge_.dataset,
                         "the charge at place " + std::to_string(i % static_cast<std::size_t>(places_)) + " of frame " +
                             std::to_string(first + static_cast<std::int64_t>(i) / places_) +
                             " is its fill value, and a particle is there",
                         "Store the charges of all particles.");
    }
    ++particle;
  }
}

H5mdReader::H5mdReader(const std::string& path, const std::string& group, const std::optional<GivenCharges>& given)
    : file_(std::make_unique<InputFile>(path)), particles_(*file_, group, given) {}

Molecule H5mdReader::read(std::int64_t frame) const {
  if (frame < 0 || frame >= frames()) {
    throw Error(ErrorKind::usage, "cannot read frame " + std::to_string(frame) + " of " + file_->path(),
                "it has " + std::to_string(frames()), "Ask for a frame that is there.");
  }
  const auto& offset = particles_.offset();
  const auto charges =
      static_cast<std::size_t>(offset[static_cast<std::size_t>(frame) + 1] - offset[static_cast<std::size_t>(frame)]);
  Molecule molecule;
  molecule.position.resize(charges * 3);
  molecule.charge.resize(charges);
  particles_.read(frame, 1, molecule.position.data(), molecule.charge.data());
  for (double& value : molecule.position) value *= particles_.unit_in_angstrom();
  for (double& value : molecule.charge) value *= particles_.charge_unit_in_e();
  molecule.atomic_number = particles_.atomic_numbers(frame);
  return molecule;
}

}  // namespace smallbatch

// List of the export formats, with the remarks on each file.
#include "io/interchange/lattice_export.hpp"

#include "core/error.hpp"
#include "core/number_text.hpp"
#include "core/text_streams.hpp"

namespace smallbatch {

namespace {

std::string limits_text(std::int64_t limited) {
  if (limited == 0) return "";
  TextWriter text;
  text << "; " << limited << (limited == 1 ? " infinite or huge value is" : " infinite or huge values are")
       << " written as +-" << largest_exported_value;
  return text.str();
}

std::string as_opendx(const std::string& path, const LatticeMap& map, const MapExtras&, bool overwrite) {
  return limits_text(write_opendx(path, map, overwrite));
}

std::string as_cube(const std::string& path, const LatticeMap& map, const MapExtras& extras, bool overwrite) {
  return limits_text(write_cube(path, map, extras.position, extras.charge, extras.atomic_number, overwrite));
}

std::string as_picture(const std::string& path, const LatticeMap& map, const MapExtras& extras, bool overwrite) {
  const std::array sizes{map.shape.nx, map.shape.ny, map.shape.nz};
  const std::int64_t slice = extras.slice.value_or(sizes.at(static_cast<std::size_t>(extras.axis)) / 2);
  const SlicePicture picture = write_png_slice(path, map, extras.axis, slice, overwrite);
  TextWriter text;
  text << "; slice " << slice << " across "
       << "xyz"[extras.axis] << ", " << picture.values_text([](double value) { return number_text(value, 6); });
  if (picture.colour_limit > 0)
    text << ", full red at " << -picture.colour_limit << ", full blue at " << picture.colour_limit;
  return text.str();
}

constexpr MapFormat formats[]{{".dx", as_opendx}, {".cube", as_cube}, {".png", as_picture}};

}  // namespace

std::string map_endings(const std::string& last_word) {
  std::string text;
  for (const MapFormat& format : formats) {
    const bool is_last = &format == std::end(formats) - 1;
    text += (text.empty() ? "" : is_last ? " " + last_word + " " : ", ") + std::string(format.ending);
  }
  return text;
}

const MapFormat& map_format_of(const std::string& path) {
  for (const MapFormat& format : formats)
    if (path.ends_with(format.ending)) return format;
  throw Error(ErrorKind::usage, "cannot tell the format of '" + path + "'", "known endings are " + map_endings("and"),
              "Use one of them.");
}

}  // namespace smallbatch

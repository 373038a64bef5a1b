#include "io/hdf5_labels.hpp"

#include "core/error.hpp"
#include "io/hdf5_format.hpp"

namespace smallbatch {

ProblemLabels read_labels(const InputFile& file, const std::string& group, std::int64_t batch) {
  ProblemLabels labels;
  const std::string name = group + "/name", step = group + "/step", time = group + "/time";
  if (file.kind(name) != ObjectKind::none) {
    labels.name = file.texts(name);
    if (static_cast<std::int64_t>(labels.name.size()) != batch) {
      throw file.error(name,
                       "expected shape " + shape_text({batch}) + ", found " +
                           shape_text({static_cast<std::int64_t>(labels.name.size())}),
                       "Name every problem.");
    }
  }
  if (file.kind(step) != ObjectKind::none) {
    const DatasetInfo& info = file.dataset(step);
    if (!info.is(ElementType::int32) && !info.is(ElementType::int64)) {
      throw file.error(step, "expected int32 or int64, found " + info.type_name, "Store it as int64.");
    }
    expect_shape(file, step, {batch});
    labels.step.resize(static_cast<std::size_t>(batch));
    file.read(step, {}, labels.step.data());
  }
  if (file.kind(time) != ObjectKind::none) {
    (void)file.float_dataset(time);
    expect_shape(file, time, {batch});
    labels.time.resize(static_cast<std::size_t>(batch));
    file.read(time, {}, labels.time.data());
    labels.time_unit = file.string(time, "unit").value_or("");
  }
  return labels;
}

void write_labels(Hdf5Output& file, const std::string& group, const ProblemLabels& labels, std::int64_t batch) {
  const auto fit = [&](const auto& values) {
    if (!values.empty() && static_cast<std::int64_t>(values.size()) != batch) {
      throw Error(ErrorKind::usage, "cannot write " + group,
                  std::to_string(values.size()) + " names, steps or times for " + std::to_string(batch) + " problems",
                  "Give one each.");
    }
    return !values.empty();
  };
  if (fit(labels.name)) file.write_texts(group + "/name", labels.name);
  if (fit(labels.step)) {
    file.create(group + "/step", ElementType::int64, {batch});
    file.write(group + "/step", {}, labels.step.data());
  }
  if (fit(labels.time)) {
    file.create(group + "/time", ElementType::float64, {batch});
    file.write(group + "/time", {}, labels.time.data());
    if (!labels.time_unit.empty()) file.attribute(group + "/time", "unit", labels.time_unit);
  }
}

}  // namespace smallbatch

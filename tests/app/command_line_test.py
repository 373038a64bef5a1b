"""The texts of the command: help, misspelt words, names of files, JSON of errors, logs, the man page and completions."""

import json
import re
import subprocess

import h5py
import numpy as np
import pytest

from tests.problems import add_solve, open_problem_file, results_to_change


@pytest.fixture
def problems(tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    return "p.h5"


def test_without_a_command_the_help_is_shown(smallbatch):
    alone = smallbatch(expect=2)
    assert alone.stdout == smallbatch("--help").stdout == smallbatch("help").stdout
    assert alone.stderr == ""
    assert smallbatch("generate", expect=2).stdout == smallbatch("generate", "--help").stdout
    assert smallbatch("help", "generate", "spd").stdout == smallbatch("generate", "spd", "--help").stdout
    assert "smallbatch generate spd" in smallbatch("generate", "spd", "--help").stdout


UNKNOWN = {
    "rnu p.h5": ["rnu", "Did you mean run?", "smallbatch --help"],
    "gen spd -o a.h5": ["gen", "Did you mean generate?"],
    "generate sdp -o a.h5": ["sdp", "Did you mean spd?", "smallbatch generate --help"],
    "help generate sgnal": ["sgnal", "Did you mean signal?"],
    "generate -o a.h5": ["generate needs one of spd, charges, signal before -o", "smallbatch generate --help"],
    "generate --nrhs 2 -o a.h5": ["generate needs spd before --nrhs"],
    "run p.h5 -o a.h5 --memory 1": ["--memory cannot be '1'", "it is 1 bytes, less than 1 MiB", "512MiB"],
    "run p.h5 -o a.h5 --memory lots": ["--memory cannot be 'lots'", "not a number with a unit", "512MiB"],
    "run p.h5 -o a.h5 --memory 5XB": ["'XB' is not a unit", "512MiB"],
    "run p.h5 -o a.h5 --memory 2EB": ["more than 1 PiB", "512MiB"],
    "run p.h5 -o a.h5 --json=maybe": ["--json takes no value ('maybe' was given)", "Write --json alone."],
    "run p.h5 -o a.h5 --device cuda:0,0": ["GPU 0 is named twice", "cuda:0,1"],
    "run p.h5 -o a.h5 --device cuda:x": ["'x' is not the index of a GPU", "cuda:0"],
    "run p.h5 -o a.h5 --verify sample=few": ["'few' is not a number of answers", "sample=1000"],
    "run p.h5 -o a.h5 --shard 4/3": ["--shard cannot be '4/3'", "1 <= K <= N", "3/16"],
    "generate charges -o a.h5 --shape 9,9": ["it has 2 numbers instead of three", "65,65,33", "A single number"],
    "generate charges -o a.h5 --shape 9,9,9,9": ["it has 4 numbers", "65,65,33"],
    "generate charges -o a.h5 --shape 9,x,9": ["number 2 is 'x', which is not a whole number", "65,65,33"],
    "generate charges -o a.h5 --shape 9,9,": ["number 3 is ''", "65,65,33"],
    "generate charges -o a.h5 --shape 9,9,0": ["number 3 is not from 1 to 1048576"],
    "generate charges -o a.h5 --per-charge": ["--per-charge cannot be given alone", "Add --pair-energy."],
    "generate charges -o a.h5 --pair-energy --field": ["--field cannot be given", "with --pair-energy", "Leave it out."],
    "import m.pqr -o a.h5 --origin 1,2": ["it has 2 numbers", "-16,-16,0.5"],
    "import m.pqr -o a.h5 --channels 4": ["--channels cannot be given", "it applies to samples", "Add --inputs"],
    "generate spd -o a.h5 --sizes 8": ["no colon", "8:32"],
    "generate spd -o a.h5 --sizes 32:8": ["the least is more than the most", "8:32"],
    "generate spd -o a.h5 --batch 1e6": ["--batch cannot be '1e6' (it is 1000000, ", "Write 1000000."],
    "generate spd -o a.h5 --n 4 --n 5": ["--n is given more than once. Give it once."],
    "help run generate": ["run has no command 'generate'", "smallbatch help run, or smallbatch help generate."],
    "help run spd": ["run has no command 'spd'", "Type smallbatch help run."],
    "help generate run": ["unknown command run", "spd, charges, signal", "smallbatch generate --help"],
    "help --completions tcsh": ["--completions: tcsh is not one of bash, zsh, fish"],
    "import m.pqr -o a.h5 --unit kj/mol/e": ["expected one of volt", "Did you mean kJ/mol/e?"],
    "p.h5": ["p.h5", "run, merge, info"],
    "run p.h5 --devcie cpu -o a.h5": ["--devcie", "Did you mean --device?", "smallbatch run --help"],
    "run --outptu a.h5 p.h5": ["--outptu", "Did you mean --output?"],
    "run p.h5 -o a.h5 --overwrit=1": ["--overwrit", "Did you mean --overwrite?"],
    "run p.h5 -o a.h5 -json": ["-json", "Did you mean --json?"],
    "run p.h5 -o a.h5 --pivot_floor 1e-3": ["--pivot_floor", "Did you mean --pivot-floor?"],
    "run p.h5 -o a.h5 --verbos": ["--verbos", "Did you mean --verbose?"],
    "run p.h5 -o a.h5 --zebra": ["unknown option --zebra."],
    "run p.h5 -o a.h5 --margin 3": ["--margin", "import has it"],
    "--json run p.h5 -o a.h5": ["--json must come after run"],
    "run p.h5 -o a.h5 --method ldtl": ["--method: ldtl", "Did you mean ldlt?"],
    "run p.h5 -o a.h5 --method mixed": ["--method: mixed is not one of auto, gauss_jordan, ldlt"],
    "run p.h5 q.h5 -o a.h5": ["'q.h5'", "too many"],
    "run p.h5": ["--output", "required"],
    "run p.h5 -o": ["--output needs a value"],
    "run p.h5 -o a.h5 --threads 1 --threads 2": ["--threads", "more than once"],
}


@pytest.mark.parametrize("line", UNKNOWN)
def test_unknown_words_are_named_with_the_nearest_known_one(smallbatch, problems, line):
    done = smallbatch(*line.split(), expect=2)
    sentences = done.stderr.splitlines()
    assert len(sentences) == 1
    for word in UNKNOWN[line]:
        assert word in sentences[0], f"'{word}' is not in: {sentences[0]}"


PROMISES = {
    "run p.h5 -o -": ["stdout"],
    "run - -o a.h5": ["stdin"],
    "info -": ["stdin"],
    "run p.h5 -o a.png": [".png means a picture", "smallbatch export"],
    "run p.h5 -o A.PNG": [".png"],
    "run p.h5 -o a.json": ["JSON", "--json"],
    "run p.h5 -o a.vti": ["ParaView", "vtkhdf"],
    "merge p.h5 -o a.dx": ["OpenDX"],
    "generate spd -o a.npz": ["NumPy"],
    "import x.pqr -o x.dx": ["OpenDX", "smallbatch export"],
    "import x.pqr -o x.pqr": ["molecule"],
    "run x.pqr -o a.h5": ["molecule", "smallbatch import"],
    "run a.npz -o a.h5": ["NumPy", "h5py"],
    "run x.pdb -o a.h5": ["pdb2pqr"],
    "verify p.h5 map.dx": ["OpenDX"],
    "merge a.h5 b.cube -o c.h5": ["cube"],
    "export r.h5 -o -": ["stdout"],
    "export r.h5 -o a.vtk": ["ParaView", "vtkhdf"],
    "export r.h5 -o a.h5": ["HDF5 already"],
    "export map.dx -o a.png": ["OpenDX"],
}


@pytest.mark.parametrize("line", PROMISES)
def test_names_that_promise_another_format_are_refused(smallbatch, problems, tmp_path, line):
    before = sorted(tmp_path.iterdir())
    sentence = smallbatch(*line.split(), expect=2).stderr
    for word in PROMISES[line]:
        assert word in sentence, f"'{word}' is not in: {sentence}"
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["r.h5", "r.hdf5", "r.vtkhdf", "r", "r.2026"])
def test_other_names_are_the_users(smallbatch, problems, name):
    smallbatch("run", problems, "-o", name)


ERRORS = {
    "run none.h5 -o a.h5 --json": ("missing_file", 4),
    "run text -o a.h5 --json": ("bad_input", 3),
    "run p.h5 -o there.h5 --json": ("output_exists", 7),
    "run p.h5 -o no/a.h5 --json": ("output", 7),
    "run p.h5 -o a.h5 --json --devcie cpu": ("usage", 2),
    "run p.h5 -o a.png --json": ("usage", 2),
    "rnu p.h5 --json": ("usage", 2),
    "info none.h5 --json": ("missing_file", 4),
    "verify p.h5 none.h5 --json": ("missing_file", 4),
    "export none.h5 -o a.dx --json": ("missing_file", 4),
}


@pytest.mark.parametrize("line", ERRORS)
def test_with_json_an_error_is_an_object(smallbatch, problems, tmp_path, line):
    (tmp_path / "there.h5").write_text("mine")
    (tmp_path / "text").write_text("no HDF5")
    kind, code = ERRORS[line]
    done = smallbatch(*line.split(), expect=code)
    error = json.loads(done.stdout)
    assert set(error) == {"error"} and set(error["error"]) == {"kind", "exit_code", "message"}
    assert (error["error"]["kind"], error["error"]["exit_code"]) == (kind, code)
    assert error["error"]["message"] in done.stderr
    without = smallbatch(*[word for word in line.split() if word != "--json"], expect=None)
    assert without.stdout == ""


def test_what_fails_a_workflow_can_be_chosen(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "good.h5") as file:
        add_solve(file)
    with open_problem_file(tmp_path / "failing.h5") as file:
        add_solve(file)
        file["solve/systems/A"][2, 0, 0] = -1
    codes = {"errors": 1, "disagreement": 0, "none": 0}
    smallbatch("run", "failing.h5", "-o", "failing_r.h5", expect=1)
    for choice, code in codes.items():
        smallbatch("run", "good.h5", "-o", "good_r.h5", "--overwrite", "--fail-on", choice)
        done = smallbatch("run", "failing.h5", "-o", "failing_r.h5", "--overwrite", "--fail-on", choice, "--json",
                          expect=code)
        assert json.loads(done.stdout)["all_right"] is False
        smallbatch("verify", "failing.h5", "failing_r.h5", "--fail-on", choice, expect=code)
    with results_to_change(tmp_path / "good_r.h5") as file:
        file["solve/systems/x"][0] += 1
    for choice, code in {"errors": 1, "disagreement": 1, "none": 0}.items():
        done = smallbatch("verify", "good.h5", "good_r.h5", "--fail-on", choice, expect=code)
        assert "1 DISAGREE" in done.stdout
    # The exit code of an error does not depend on --fail-on.
    smallbatch("run", "none.h5", "-o", "r.h5", "--fail-on", "none", expect=4)


def test_the_log_file_has_what_stderr_has(smallbatch, problems, tmp_path):
    log = tmp_path / "run.log"
    log.write_text("an older line\n")
    done = smallbatch("run", problems, "-o", "r.h5", "--log-file", "run.log")
    lines = log.read_text().splitlines()
    assert lines[0] == "an older line"
    for line in lines[1:]:
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d (info|warning|error|debug) \S", line), line
    told = [line.split(" ", 2)[2] for line in lines[1:]]
    said = [line.split(" ", 2)[2] for line in done.stderr.splitlines()]
    assert said and told[1:-1] == said
    assert told[0].endswith("run p.h5 -o r.h5 --log-file run.log") and told[-1] == "exit code 0"
    quiet = smallbatch("-q", "run", problems, "-o", "r.h5", "--overwrite", "--log-file", "quiet.log")
    assert quiet.stderr == ""
    assert "-v" in smallbatch("-q", "run", problems, "-o", "r.h5", "--overwrite", "-v", expect=2).stderr
    assert [line.split(" ", 2)[2] for line in (tmp_path / "quiet.log").read_text().splitlines()][1:] == told[1:]


def test_the_log_file_has_refusals_and_harms_no_file(smallbatch, problems, tmp_path):
    smallbatch("run", problems, "-o", "r.h5", "--devcie", "cpu", "--log-file=run.log", expect=2)
    assert "error unknown option --devcie" in (tmp_path / "run.log").read_text()
    before = (tmp_path / problems).read_bytes()
    assert "damaged" in smallbatch("run", problems, "-o", "r.h5", "--log-file", problems, expect=2).stderr
    assert (tmp_path / problems).read_bytes() == before
    for name in ["1.pqr", "2.pqr"]:
        (tmp_path / name).write_text("ATOM 1 N ALA 1 0.0 0.0 0.0 0.5 1.5\n")
    (tmp_path / "other").symlink_to(tmp_path / "2.pqr")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for words in ["import 1.pqr 2.pqr -o m.h5 --log-file {}", "--log-file={} import 2.pqr -o m.h5",
                  "import 1.pqr 2.pqr -o m.h5 --no-option --log-file {}"]:
        for name in ["2.pqr", "./2.pqr", "other"]:
            smallbatch(*words.format(name).split(), expect=2)
    assert "damaged" in smallbatch("import", "t.h5", "--charges", "2.pqr", "-o", "m.h5", "--log-file", "2.pqr", expect=2).stderr
    assert "damaged" in smallbatch("run", problems, "-o", "r.h5", "--log-file", "./r.h5", expect=2).stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    smallbatch("run", problems, "-o", "r.h5", "--log-file", "no/run.log", expect=7)
    assert not (tmp_path / "no").exists() and not (tmp_path / "r.h5").exists()


def commands_in_help(smallbatch, *before):
    """Returns the commands as they are typed: "run", "generate spd"."""
    listed = smallbatch(*before, "--help").stdout.split("Options:")[1].split("Exit codes:")[0]
    found = []
    for name in re.findall(r"^  (\w+)  +\S", listed, re.M):
        inner = commands_in_help(smallbatch, *before, name) if name == "generate" else []
        found += [f"{name} {word}" for word in inner] or [name]
    return found


def options_in_help(smallbatch, command):
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", smallbatch(*command.split(), "--help").stdout, re.M))


def test_the_man_page_has_every_command_option_and_exit_code(smallbatch, tmp_path):
    page = tmp_path / "smallbatch.1"
    page.write_text(smallbatch("help", "--man").stdout)
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=100n", "-P-c", "-P-b", "-P-u", page],
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    sections = re.split(r"^   (smallbatch [\w ]+|\S.*)$|^([A-Z][A-Z ]+)$", done.stdout, flags=re.M)
    text = {}
    for k in range(1, len(sections) - 2, 3):
        text[(sections[k] or sections[k + 1]).removeprefix("smallbatch ")] = sections[k + 2]
    commands = commands_in_help(smallbatch)
    assert {"run", "verify", "generate spd", "help"} < set(commands)
    assert sorted(name for name in text if name.islower()) == sorted(commands)
    for command in commands:
        options = options_in_help(smallbatch, command) - {"--help"}
        assert options <= set(re.findall(r"--[\w-]+", text[command])), command
    assert options_in_help(smallbatch, "") <= set(re.findall(r"--[\w-]+", text["OPTIONS"]))
    assert re.findall(r"^ +(\d+)\s", text["EXIT STATUS"], re.M) == "0 1 2 3 4 5 6 7 8 70 128".split()
    read = {"SMALLBATCH_INSTRUCTION_SET", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK", "NO_COLOR"}
    assert read <= set(re.findall(r"^ +([A-Z_]+)$", text["ENVIRONMENT"], re.M))
    assert "h5dump(1)" in done.stdout.partition("SEE ALSO")[2]
    assert "gram" in text["generate spd"]  # a word from the end of the help


def numbers_in_help(smallbatch):
    for command in commands_in_help(smallbatch):
        text = smallbatch(*command.split(), "--help").stdout
        for option, kind in re.findall(r"^  (--[\w-]+) (U?INT|FLOAT)", text, re.M):
            yield command, option, kind


def test_of_no_number_the_message_says_what_to_write_and_that_works(smallbatch, problems, tmp_path):
    needed = {"run": ["p.h5", "-o", "r.h5"], "verify": ["p.h5", "r.h5"], "export": ["r.h5", "-o", "a.png"],
              "import": ["none.pqr", "-o", "i.h5"], "devices": []}
    beside = {"--temperature": ["--unit", "kT/e"], "--channel-width": ["--inputs", "2"], "--first-frequency": ["--inputs", "2", "--channel-width", "3"],
              **dict.fromkeys(["--channels", "--integrate", "--sample-time", "--start-time"], ["--inputs", "2"])}
    seen = 0
    for command, option, kind in numbers_in_help(smallbatch):
        call = [*command.split(), *needed.get(command, ["-o", "a.h5", "--overwrite"])]
        whole = ["2.5", "1e2", "99999999999999999999"] if "INT" in kind else ["inf", "-inf"]
        for value in ["x", "", "nan", "1 2", "0.1.2", *whole]:
            message = smallbatch(*call, f"{option}={value}" if value else option, *([] if value else [""]), expect=2).stderr
            assert f"{option} cannot be '{value}' (" in message, message
            write = re.search(r"\)\. Write (?:.*, such as )?(\S+)\. See", message)[1]
            if command == "import":
                again = smallbatch(*call, option, write, *beside.get(option, []), expect=4)
                assert "none.pqr" in again.stderr
            seen += 1
        if command in ("devices", "import") or option in ("--batch", "--charges"):
            continue
        # Small values, so that the test is quick.
        small = {"generate charges": ["--charges", "3", "--batch", "2"], "generate spd": ["--batch", "2"],
                 "generate signal": ["--times", "9"]}.get(command, [])
        other = [word for pair in zip(small[::2], small[1::2]) if pair[0] != option for word in pair]
        again = smallbatch(*call, option, write, *other, expect=None)
        assert f"{option} cannot be" not in again.stderr
    assert seen > 150


def test_a_seed_is_what_was_typed(smallbatch, tmp_path):
    """A seed that does not fit into 64 bits is refused, never reduced modulo 2^64."""
    assert "--seed cannot be '-1' (it is less than 0)" in smallbatch("generate", "spd", "-o", "a.h5", "--seed", "-1", expect=2).stderr
    smallbatch("generate", "spd", "-o", "a.h5", "--batch", 1, "--seed", 2**64 - 1)
    assert "too large" in smallbatch("generate", "spd", "-o", "b.h5", "--seed", 2**64, expect=2).stderr


def test_examples_of_the_help_work_as_typed(smallbatch, tmp_path):
    (tmp_path / "molecule.pqr").write_text("ATOM 1 N ALA 1 0.0 0.0 0.0 0.5 1.5\n")
    (tmp_path / "samples.bin").write_bytes(bytes(2 * 16 * 8 * 5))
    told = [smallbatch(*command.split(), "--help").stdout for command in ["", "generate", *commands_in_help(smallbatch)]]
    assert told[0].count("Exit codes:") == 1
    for text in told[1:]:
        assert text.splitlines()[-1].startswith("Exit codes: ") and "Example" in text
    order = ["generate", "import", "run", "merge", "info", "verify", "report", "export", "devices", "help"]
    lines = [line.split()[1:] for text in told[1:] for line in re.findall(r"^  (smallbatch .*)$", text, re.M)]
    assert {line[0] for line in lines} == set(order)
    for line in sorted(lines, key=lambda line: order.index(line[0])):
        smallbatch(*line, *(["--overwrite"] if "-o" in line and "--resume" not in line else []))


def test_quiet_leaves_one_line(smallbatch, problems, tmp_path):
    with open_problem_file(tmp_path / "failing.h5") as file:
        add_solve(file, batch=5)
        add_solve(file, "more", batch=3)
        file["solve/systems/A"][2, 0, 0] = -1
    for call in (["run", "failing.h5", "-o", "r.h5"], ["verify", "failing.h5", "r.h5"]):
        done = smallbatch("-q", *call, expect=1)
        assert (done.stdout, done.stderr) == ("r.h5: 8 problems in 2 sets, 1 failed, 8 agree with the referee\n", "")
    with results_to_change(tmp_path / "r.h5") as file:
        file["solve/more/x"][0] += 1
    assert smallbatch("-q", "verify", "failing.h5", "r.h5", expect=1).stdout.endswith("7 agree with the referee, 1 DISAGREE\n")
    told = smallbatch("-q", "run", problems, "-o", "n.h5", "--verify", "none").stdout
    assert told == "n.h5: 5 problems in 1 set, 0 failed, none verified\n"


def complete(script, *words):
    """Returns bash's completions of the last of these words."""
    asked = subprocess.run(["bash", "-c", 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _smallbatch; '
                            'printf "%s\\n" "${COMPREPLY[@]}"', script, *words],
                           cwd=script.parent, capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (0, ""), asked.stderr
    return set(asked.stdout.split())


def test_bash_completes_commands_options_choices_and_files(smallbatch, problems, tmp_path):
    script = tmp_path / "complete.bash"
    script.write_text(smallbatch("help", "--completions", "bash").stdout)
    assert complete(script, "smallbatch", "") == {command.split()[0] for command in commands_in_help(smallbatch)}
    assert complete(script, "smallbatch", "generate", "s") == {"spd", "signal"}
    assert complete(script, "smallbatch", "run", "--me") == {"--memory", "--method"}
    assert complete(script, "smallbatch", "run", "--method", "") == {"auto", "gauss_jordan", "ldlt"}
    assert complete(script, "smallbatch", "run", "--method", "=", "l") == {"ldlt"}
    assert complete(script, "smallbatch", "-v", "import", "--order", "t") == {"time,channel,input"}
    assert complete(script, "smallbatch", "run", "p") == {"p.h5"}
    assert complete(script, "smallbatch", "run", "p.h5", "-o", "comp") == {"complete.bash"}
    assert complete(script, "smallbatch", "run", "--threads", "") == set()
    for command in ["", *commands_in_help(smallbatch)]:
        assert options_in_help(smallbatch, command) <= complete(script, "smallbatch", *command.split(), "-"), command


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completions_of_other_shells_have_every_option(smallbatch, shell):
    script = smallbatch("help", "--completions", shell).stdout
    named = set(re.findall(r"'--([\w-]+)", script) if shell == "zsh" else re.findall(r" -l ([\w-]+)", script))
    for command in ["", *commands_in_help(smallbatch)]:
        assert {option[2:] for option in options_in_help(smallbatch, command)} <= named, command

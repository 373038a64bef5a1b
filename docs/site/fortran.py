"""The page of the Fortran module, read from its source, and the directive that puts its names into the index."""

import re
import textwrap

from docutils import nodes
from sphinx import addnodes
from sphinx.directives import ObjectDescription
from sphinx.util.nodes import make_id

from headers import outside_code


class FortranObject(ObjectDescription):
    """The directive `{fortran} [subroutine|function|type] name(arguments)`. Each line has one signature."""

    def handle_signature(self, sig, signode):
        kind, name, rest = re.fullmatch(r"((?:subroutine|function|type) )?(\w+)(.*)", sig).groups()
        if kind:
            signode += addnodes.desc_annotation(kind, kind)
        signode += addnodes.desc_name(name, name)
        if rest:
            signode += addnodes.desc_addname(rest, rest)
        return name

    def add_target_and_index(self, name, sig, signode):
        if name in self.seen:
            return
        self.seen.add(name)
        place = make_id(self.env, self.state.document, "fortran", name)
        signode["ids"].append(place)
        self.env.domains["std"].note_object("fortran", name, place, location=signode)
        self.indexnode["entries"].append(("single", f"{name} (Fortran)", place, "", None))

    def run(self):
        self.seen = set()
        return super().run()


def setup(app):
    app.add_object_type("fortran", "fortran", objname="Fortran name")
    app.add_directive_to_domain("std", "fortran", FortranObject, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def unbroken(text):
    """Returns the text with continued lines joined."""
    return re.sub(r"&\s*\n\s*&?", "", text)


def documented(words):
    """Returns the text of `!>` lines as Markdown."""
    text = " ".join(re.findall(r"!>? ?(.*)", words))
    return outside_code(text)


def entry(signatures, words="", code=""):
    lines = ["````{fortran} " + "\n".join(signatures), ""]
    if words:
        lines += [words, ""]
    if code:
        lines += ["```fortran", code, "```"]
    return "\n".join([*lines, "````", ""])


def declarations(procedure, arguments):
    """The lines that declare the arguments of a procedure."""
    kept = []
    for line in unbroken(procedure).split("\n")[1:]:
        names = re.findall(r"(\w+)(?:\([^)]*\))?", line.split("::")[1]) if "::" in line else []
        if not names or not set(names) & arguments:
            break
        kept.append(line.strip())
    return "\n".join(kept)


def pages(path):
    """Returns {file name: text} for the page of the module at `path`."""
    text = path.read_text()
    intro = re.match(r"(?:!.*\n)*", text)[0]
    above, contained = text.split("\ncontains\n")
    procedures = {}  # name: (words, kind, arguments, result, whole text)
    for words, kind, name, arguments, whole in re.findall(
            r"((?:^  !>? [^\n]*\n)*)^  (?:pure )?((?:sub|func)\w+) (\w+)\(([^)]*)\)(.*?)^  end \2",
            unbroken(contained), re.M | re.S):
        procedures[name] = (words, kind, arguments, whole)

    def signature(name, shown):
        _, kind, arguments, _ = procedures[name]
        return f"{kind} {shown}({re.sub(chr(32) + '+', ' ', arguments)})"

    def arguments_of(name):
        _, _, arguments, whole = procedures[name]
        return declarations(whole, set(re.findall(r"\w+", arguments)) | {"text"})

    out = ["# Fortran: module smallbatch", "", "[From Fortran](/docs/fortran.md) has a first program.", ""]
    for paragraph in "\n".join(line[2:] for line in intro.split("\n")).split("\n\n"):
        if paragraph.startswith("    "):
            out += ["```fortran", textwrap.dedent(paragraph.rstrip()), "```", ""]
        else:
            out += [outside_code(paragraph), ""]

    out += ["## In Fortran's own terms", ""]
    for words, name, specifics in re.findall(
            r"((?:^  !> [^\n]*\n)+)^  interface (\w+)\n(.*?)^  end interface", above, re.M | re.S):
        specifics = re.findall(r"\w+", " ".join(re.findall(r"module procedure (.*)", specifics)))
        distinct = list(dict.fromkeys(re.sub(r"_float(32|64)$", "", specific) for specific in specifics))
        signatures = list(dict.fromkeys(signature(f"{each}_float64", name) for each in distinct))
        out.append(entry(signatures, documented(words),
                         "\n\n".join(arguments_of(f"{each}_float64") for each in distinct)
                         .replace("real(c_double)", "real(kind)")))
    for name, (words, kind, arguments, whole) in procedures.items():
        if name.startswith("smallbatch_"):
            out.append(entry([signature(name, name)], documented(words), arguments_of(name)))

    out += ["`real(kind)` stands for `real(c_float)` and `real(c_double)`.", "", "## Constants", "",
            "They have the names and values of the enumerators of [smallbatch.h](/reference/c.md).", ""]
    for constants in re.findall(r"parameter :: (.*)", unbroken(above)):
        for name, value in re.findall(r"(\w+) *= *(-?\w+)", constants):
            out.append(entry([f"{name} = {value}"]))
    out += ["## Types", "", "They are the structs of [smallbatch.h](/reference/c.md), which explains each member.", ""]
    for name, members in re.findall(r"^  type, bind\(c\) :: (\w+)\n(.*?)^  end type", above, re.M | re.S):
        out.append(entry([f"type {name}"], f"The struct {{c:type}}`{name}`.", textwrap.dedent(members).rstrip()))
    out += ["## Functions of smallbatch.h", "", "[smallbatch.h](/reference/c.md) says what each does.", ""]
    for kind, name, arguments, whole in re.findall(r"^    ((?:sub|func)\w+) (\w+_c)\(([^)]*)\)(.*?)^    end \1",
                                                   unbroken(above), re.M | re.S):
        lines = [line.strip() for line in whole.split("\n")[1:] if line.strip() and line.strip() != "import"]
        out.append(entry([f"{kind} {name}({arguments})"], f"The function {{c:func}}`{name[:-2]}`.", "\n".join(lines)))
    return {"fortran.md": "\n".join(out)}

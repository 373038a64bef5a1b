"""The pages of the command line, from the man page that the program prints of its own declarations."""

import re
import subprocess

HEAD = """\
.. Made by docs/site/command_line.py from `smallbatch help --man`.

"""


def escaped(text):
    """Returns text of the man page as reStructuredText."""
    return re.sub(r"([*_|`<>\\])", r"\\\1", plain(text))


def plain(text):
    """Returns text of the man page without its fonts and escapes."""
    text = re.sub(r"\\f[BIR]", "", text).replace("\\:", "").replace("\\&", "").replace("\\-", "-")
    return text.replace("\\(aq", "'").replace("\\e", "\\")


def option(term):
    """Returns `-o, --output FILE` in the form of the directive `option`: every name with its value."""
    names = re.findall(r"(?<![\w-])--?[\w-]+", term)
    value = re.sub(r"^(?:--?[\w-]+,? ?)+", "", term) if " " in term else ""
    return ", ".join(f"{name} {value}".rstrip() for name in names)


def body(lines):
    """The lines of one command, below its heading."""
    out, lines = [], iter(lines)
    for line in lines:
        if line == ".TP":
            term = plain(next(lines))
            text = escaped(next(lines))
            if term.startswith("-"):
                out += [f".. option:: {option(term)}", "", f"   {text}", ""]
            else:
                out += [f"``{term}``", f"   {text}", ""]
        elif line == ".nf":
            block = []
            for inner in lines:
                if inner == ".fi":
                    break
                block.append(plain(inner))
            out += [".. code-block:: none", "", *[f"   {inner}".rstrip() for inner in block], ""]
        elif re.fullmatch(r"\\fI[^\\]*\\fR", line):
            out += [f".. rubric:: {plain(line)}", ""]
        elif line.startswith("\\fBsmallbatch"):
            out += [".. code-block:: none", "", f"   {plain(line)}", ""]
        elif not line.startswith("."):
            out += [escaped(line), ""]
    return out


def pages(program):
    """Returns {file name: text}: a page for each command, and a page that lists all commands."""
    def output(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout

    manual = output("help", "--man")
    commands = re.findall(r"^\.SS (smallbatch .*)\n((?:(?!\.S[SH] ).*\n)+)", manual, re.M)
    if len(commands) < 10:
        raise SystemExit("docs/site/command_line.py: the man page has changed its form")
    made, rows = {}, []
    for name, text in commands:
        name, lines = plain(name), text.split("\n")
        page = name.replace(" ", "-")
        made[f"commands/{page}.rst"] = HEAD + "\n".join(
            [name, "=" * len(name), "", f".. program:: {name}", "", *body(lines)])
        rows.append((name, page, escaped(lines[0])))
    listed = [f"* - :doc:`{name} <commands/{page}>`\n       - {text}" for name, page, text in rows]
    toc = [f"   commands/{page}" for _, page, _ in rows]
    overview = "\n".join(f"   {line}".rstrip() for line in output("--help").split("\n"))
    made["command-line.rst"] = HEAD + f"""\
Command line
============

Results and help go to stdout, everything else to stderr. :doc:`/docs/exit-codes` explains the exit codes.

.. list-table::
   :header-rows: 1

   {"* - command"}
     - what it does
   {(chr(10) + "   ").join(line.replace(chr(10) + "       -", chr(10) + "     -") for line in listed)}

Every command accepts these options in front of its name:

.. program:: smallbatch

{general_options(output("--help"))}
``smallbatch --help`` prints:

.. code-block:: none

{overview}

.. toctree::
   :hidden:

{chr(10).join(toc)}
"""
    return made


def general_options(text):
    """Returns the options of the program itself. They are in its help, and not in the man page."""
    out = []
    options = text.split("Options:\n")[1].split("\n\n")[0]
    for names, words in re.findall(r"^  (-\S+(?: FILE)?)  +(\S.*)$", options, re.M):
        out.append(f".. option:: {option(names.replace(',-', ', -'))}\n\n   {escaped(words)}\n")
    return "\n".join(out)

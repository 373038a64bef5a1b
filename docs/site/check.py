"""Checks the built site: every link within it leads somewhere, and every public symbol is in its index.

    check.py SITE INCLUDE

SITE is the built site, INCLUDE the folder of installed headers. Symbols are read from the sources, without Doxygen. So
a symbol that Doxygen or Breathe drops is found missing.
"""

import importlib
import inspect
import pkgutil
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.util.inventory import InventoryFile

ROOT = Path(__file__).resolve().parent.parent.parent


# ---- links ----

class Page(HTMLParser):
    """Links and targets of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.targets = set(), {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.targets.add(value)


def dead_links(site):
    """Links that lead nowhere, as sentences."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{path.relative_to(site)} links to {link}, which is not there")
            elif target in pages and unquote(parts.fragment) not in pages[target].targets:
                found.append(f"{path.relative_to(site)} links to {link}, which has no such heading")
    if len(pages) < 50:
        found.append(f"the site has {len(pages)} pages only")
    return found


# ---- public symbols ----

def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def c_symbols(text):
    """Everything that smallbatch.h declares, and the members of its structs."""
    code = without_comments(text)
    found = set(re.findall(r"\b(?:smallbatch|SMALLBATCH)_\w+", code)) - {"SMALLBATCH_H", "smallbatch_context"}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\}", code, re.S):
        for declaration in body.split(";"):
            for declarator in declaration.split(",") if declaration.strip() else []:
                member = re.search(r"(\w+)(?:\[[^]]*\])?\s*$", declarator)[1]
                found.add(f"{name}.{member}")
    return found


def fortran_symbols(text):
    """Every public name of the module."""
    code = re.sub(r"![^\n]*", "", re.sub(r'"[^"\n]*"', "", text))
    return set(re.findall(r"\b(?:smallbatch|SMALLBATCH)_\w+", code))


def python_symbols():
    """The __all__ of the package and of its public modules, and the public attributes of their classes."""
    import smallbatch

    public = [importlib.import_module(f"smallbatch.{found.name}") for found in pkgutil.iter_modules(smallbatch.__path__)
              if not found.name.startswith("_")]
    for module, name in [(module, name) for module in [smallbatch, *public] for name in module.__all__]:
        yield f"{module.__name__}.{name}"
        value = getattr(module, name)
        if inspect.isclass(value):
            for base in value.__mro__:
                if base.__module__.startswith("smallbatch"):
                    members = set(vars(base)) | set(vars(base).get("__annotations__", {}))
                    yield from (f"{module.__name__}.{name}.{member}" for member in members if not member.startswith("_"))


SCOPE = re.compile(r"(?:template <.*>\s*)?(namespace|struct|class|enum class|enum|union)\b(?: alignas\([^)]*\))?"
                   r"\s*(\w*)[^;={(]*\{")


def cpp_symbols(text):
    """Qualified names of everything that a header declares in the namespace and in public parts of classes."""
    code = re.sub(r"^\s*#[^\n]*(?:\\\n[^\n]*)*", "", without_comments(text), flags=re.M)
    code = re.sub(r"\[\[[^]]*\]\]", "", re.sub(r'"(?:\\.|[^"\n])*"', '""', code))
    found = set()
    read_scope(code, 0, "namespace", "", found)
    return found


def read_scope(code, at, kind, prefix, found):
    """Reads declarations from `at` to the end of their scope. Returns the position behind the scope."""
    is_public = kind != "class"
    begin = at
    while at < len(code):
        if kind.startswith("enum"):
            end = code.index("}", at)
            for enumerator in re.sub(r"\{[^}]*\}|\([^)]*\)", "", code[at:end]).split(","):
                if enumerator.strip():
                    found.add(prefix + re.match(r"\s*(\w+)", enumerator)[1])
            return end + 1
        access = re.compile(r"\s*(public|private|protected):").match(code, at)
        if access:
            is_public = access[1] == "public"
            at = begin = access.end()
            continue
        character = code[at]
        if character == "}":
            return at + 1
        if character == ";":
            declare(code[begin:at], prefix, found, is_public)
            at = begin = at + 1
        elif character == "{":
            head = re.sub(r"\s+", " ", code[begin:at + 1]).strip()
            scope = SCOPE.fullmatch(head)
            if scope:
                name = scope[2]
                inner = set()
                path = f"{prefix}{name}::" if name else prefix
                # A specialization adds no names of its own.
                hidden = not is_public or head.startswith("template <>") or (kind == "namespace" and not name and prefix)
                at = read_scope(code, at + 1, scope[1], path, inner)
                if not hidden:
                    found |= inner | ({path[:-2]} if scope[1] != "namespace" and name else set())
                begin = at
            else:
                at = closing(code, at)
                following = re.compile(r"\s*(.)").match(code, at)
                # A body ends a function. A braced value goes on to a semicolon or a comma.
                if not following or following[1] not in ";,{=)":
                    declare(code[begin:at], prefix, found, is_public)
                    begin = at
        elif character == "(":
            at = closing(code, at)
        else:
            at += 1
    return at


def closing(code, at):
    """Returns the position behind the bracket that closes the bracket at `at`."""
    depth = 0
    for place in range(at, len(code)):
        depth += (code[place] in "({") - (code[place] in ")}")
        if depth == 0:
            return place + 1
    raise ValueError("a bracket stays open")


NO_NAME = re.compile(r"(?:friend|static_assert|using namespace|extern|return)\b|(?:struct|class|enum class) \w+$"
                     r"|template <> ")


def declare(text, prefix, found, is_public):
    """Adds the names of one declaration."""
    text = re.sub(r"\s+", " ", text).strip()
    if not text or not is_public or NO_NAME.match(text):
        return
    while text.startswith("template <"):
        depth = 0
        for at, character in enumerate(text):
            depth += (character == "<") - (character == ">")
            if character == ">" and depth == 0:
                break
        text = text[at + 1:].strip()
    if NO_NAME.match(text):
        return
    alias = re.match(r"using (\w+) =", text)
    if alias:
        found.add(prefix + alias[1])
        return
    if re.match(r"using [\w:]+::\w+$", text) or re.search(r"= delete|= default|operator|~", text):
        return
    text = re.sub(r"<[^<>=]*>", "", re.sub(r"<[^<>=]*>", "", re.sub(r"<[^<>=]*>", "", text)))
    function = re.match(r"([^=({]*?)(\w+) ?\(", text)
    if function:
        name = function[2]
        if not prefix.endswith(f"{name}::"):  # a constructor bears the name of its class
            found.add(prefix + name)
        return
    flat = re.sub(r"\{.*?\}|\(.*?\)|\[[^]]*\]", "", text)
    for declarator in flat.split(","):
        name = re.search(r"(\w+)$", declarator.split("=")[0].strip())
        if name:
            found.add(prefix + name[1])


def missing_symbols(site, include):
    """Public symbols that the site's index lacks, as sentences."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    known = {domain: set() for domain in ("c", "cpp", "py", "std")}
    for kind, names in inventory.items():
        domain = kind.split(":")[0]
        if domain in known and kind not in ("std:label", "std:doc"):
            known[domain] |= {re.sub(r"^@\d+\.", "", name) for name in names}  # the prefix of an unnamed enumeration
    wanted = {"c": c_symbols((include / "smallbatch.h").read_text()), "py": set(python_symbols()), "cpp": set(),
              "std": fortran_symbols((ROOT / "fortran" / "smallbatch.f90").read_text())}
    for header in sorted((include / "smallbatch").rglob("*")):
        if header.suffix in (".hpp", ".cuh"):
            wanted["cpp"] |= cpp_symbols(header.read_text())
    least = {"c": 150, "cpp": 500, "py": 40, "std": 100}
    names = {"c": "C", "cpp": "C++", "py": "Python", "std": "Fortran"}
    found = [f"{len(symbols)} symbols of {names[domain]} only: docs/site/check.py does not read them"
             for domain, symbols in wanted.items() if len(symbols) < least[domain]]
    for domain, symbols in wanted.items():
        print(f"{names[domain]}: {len(symbols)} public symbols")
        found += [f"{symbol} ({names[domain]}) is not in the site" for symbol in sorted(symbols - known[domain])]
    return found


if __name__ == "__main__":
    site, include = (Path(argument).resolve() for argument in sys.argv[1:])
    faults = dead_links(site) + missing_symbols(site, include)
    print("\n".join(faults))
    sys.exit(f"docs/site/check.py: {len(faults)} faults" if faults else 0)

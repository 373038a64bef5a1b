"""Sphinx's settings for the site. scripts/docs calls it, and names the folders in the environment."""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ["SMALLBATCH_BUILD"])
sys.path[:0] = [str(ROOT / "docs" / "site"), str(BUILD / "python" / "package")]

project = "smallbatch"
author = "the authors of smallbatch"
version = release = re.search(r"project\(smallbatch VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
html_title = f"smallbatch {version}"

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton",
              "sphinx_gallery.gen_gallery", "fortran"]
include_patterns = ["index.md", "README.md", "docs/*.md", "docs/how-to/*.md", "docs/adr/*.md", "io/FORMAT.md",
                    "bench/*.md", "data/README.md", "examples/*/README.md", "CHANGELOG.md", "CONTRIBUTING.md", "reference/**",
                    "tutorials/*.rst"]

# Markdown as GitHub has it: headings are targets, and nothing but Markdown is a mark.
myst_heading_anchors = 4
myst_enable_extensions = []
suppress_warnings = [
    "myst.header",  # the first heading of an entry may be of any level
    "duplicate_declaration.cpp",  # the page of every header opens the namespace
]
# Names without a lexer are shown plain.
smartquotes = False
highlight_language = "none"

breathe_projects = {name: str(BUILD / "docs" / f"xml-{name}" / "xml") for name in ("cpp", "c")}
breathe_default_project = "cpp"
breathe_default_members = ("members",)
breathe_domain_by_extension = {"h": "c", "hpp": "cpp", "cuh": "cpp"}
breathe_show_include = False
breathe_show_enumvalue_initializer = True

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_google_docstring = False  # NumPy's style alone

# Tutorials are scripts. They run in their folder, where prepare.py puts data/ and examples/.
os.environ["PATH"] = f"{BUILD}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
sphinx_gallery_conf = {
    "examples_dirs": ["docs/tutorials"],
    "gallery_dirs": ["tutorials"],
    "filename_pattern": r"/docs/tutorials/",
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),
    "notebook_extensions": set(),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
html_show_sphinx = False
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True

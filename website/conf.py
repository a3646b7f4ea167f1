"""What Sphinx is told; `python -m website` runs it on the pages that `website.staging` has collected."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]

from maxmargin import __version__  # noqa: E402
from website.places import GALLERY, STAGE  # noqa: E402
from website.source_pages import find_source  # noqa: E402
from website.staging import has_gallery  # noqa: E402

project = "maxmargin"
author = "The maxmargin developers"
copyright = "2026, the maxmargin developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.linkcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "website.docstrings",
    "website.cross_references",
    "website.formulas",
    "website.search_summaries",
    "website.source_pages",
]
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(ROOT / "website" / "static" / "scorer.js")
default_role = "py:plain"
highlight_language = "none"
pygments_style = "a11y-high-contrast-light"
smartquotes = False
nitpicky = True
linkcode_resolve = find_source
show_warning_types = True

# Markdown
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline", "fieldlist"]
myst_heading_anchors = 4
myst_url_schemes = ["http", "https", "mailto", "source"]
html_math_renderer = "mathml"

# Docstrings
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_inherit_docstrings = False
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries = False

# The theme; everything it needs is in the site itself.
html_theme = "pydata_sphinx_theme"
html_title = "maxmargin"
html_theme_options = {
    "logo": {"text": "maxmargin"},
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "collapse_navigation": True,
    "navigation_depth": 3,
    "show_toc_level": 2,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
ALONE = """index install tour command_line command_line_options files solvers design contributing changelog glossary
bibliography citing licence security"""  # pages without pages below them have no list of these at their side
html_sidebars = {name: [] for name in ALONE.split()}
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_show_sphinx = False
html_show_search_summary = False  # it fetches pages, which browsers refuse to pages from disk
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

GALLERY_PARTS = ("machines", "regression", "certainty", "aims", "solvers", "practice")
if has_gallery():
    # Examples warn where a reader should see it; what they call of other libraries is not ours to mend.
    warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
    extensions += ["sphinx_gallery.gen_gallery"]
    sphinx_gallery_conf = {
        "examples_dirs": str(ROOT / "docs" / "gallery"),
        "gallery_dirs": "gallery",
        "filename_pattern": r"/plot_",
        "backreferences_dir": "backreferences",
        "doc_module": ("maxmargin",),
        "plot_gallery": os.environ.get("GALLERY", "1") != "0",
        "abort_on_example_error": True,
        "download_all_examples": False,
        "show_memory": False,
        "show_signature": False,
        "min_reported_time": 1e9,
        "remove_config_comments": True,
        "image_scrapers": ("matplotlib",),
        "subsection_order": [os.path.relpath(ROOT / GALLERY / part, STAGE) for part in GALLERY_PARTS],
        "within_subsection_order": "ExampleTitleSortKey",
        "thumbnail_size": (480, 336),
        "image_srcset": ["2x"],
        "write_computation_times": False,
        "nested_sections": False,
    }

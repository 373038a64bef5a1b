"""A helper of sphinx-gallery: files that a script's commands have written appear on its page."""

import shutil
from pathlib import Path

from sphinx_gallery.scrapers import figure_rst


def written_files(block, block_vars, gallery_conf):
    """Shows the PNG files that a block has written beside its script, and gives its HTML files as downloads."""
    folder, images = Path(block_vars["src_file"]).parent, []
    for path in sorted(folder.glob("*.png")):
        images.append(next(block_vars["image_path_iterator"]))
        shutil.move(path, images[-1])
    text = figure_rst(images, gallery_conf["src_dir"])
    for path in sorted(folder.glob("*.html")):
        place = Path(block_vars["target_file"]).parent / path.name
        shutil.move(path, place)
        text += f"\n\n:download:`{path.name} </{place.relative_to(gallery_conf['src_dir'])}>`\n\n"
    return text

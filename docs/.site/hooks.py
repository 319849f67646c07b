"""Hooks of MkDocs for the site of the documents. The Markdown stays as a forge reads it."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
FORGE = "https://github.com/tegenaria/tegenaria"
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md")  # pages of the site that are not in docs/
LINK = re.compile(r"\]\(([^)\s]+)\)")


def on_config(config):
    version = re.search(r'^const Version = "(.+)"', (ROOT / "doc.go").read_text(), re.M).group(1)
    config["site_name"] += " " + version
    config["copyright"] = f'<a href="{FORGE}">Source code</a>, Apache License 2.0'


def on_files(files, config):
    for name in BESIDE:
        files.append(File(name, str(ROOT), config["site_dir"], config["use_directory_urls"]))


def on_pre_page(page, config, files):
    if page.file.src_uri in BESIDE:
        page.edit_url = f"{FORGE}/edit/main/{page.file.src_uri}"


def on_page_markdown(markdown, page, config, files):
    """Links out of docs/ lead to the page of the site that the file is, or else to the forge."""
    own = page.file.src_uri
    folder = posixpath.dirname(own if own in BESIDE else "docs/" + own)

    def moved(match):
        path, mark, heading = match[1].partition("#")
        target = posixpath.normpath(posixpath.join(folder, path))
        if not path or ":" in path or not (ROOT / target).exists():
            return match[0]
        if target in BESIDE or target.startswith("docs/"):
            target = posixpath.relpath(target.removeprefix("docs/"), posixpath.dirname(own))
        else:
            target = f"{FORGE}/{'tree' if (ROOT / target).is_dir() else 'blob'}/main/{target}"
        return f"]({target}{mark}{heading})"

    return LINK.sub(moved, markdown)


def on_post_page(output, page, config):
    """What the theme lacks for readers without a mouse, and for those who hear a page."""
    for found, better in (
        ('role="dialog">', 'role="dialog" aria-label="Search">'),
        ('class="md-search__scrollwrap"', 'class="md-search__scrollwrap" tabindex="0"'),
        ("<pre><span></span><code>", '<pre tabindex="0"><span></span><code>'),
        ("<th></th>", "<td></td>"),
    ):
        output = output.replace(found, better)
    return output


def on_nav(nav, config, files):
    config["extra"]["pages"] = nav.pages


def on_post_build(config):
    """Each page as Markdown beside it, and llms.txt, which lists these."""
    site, listed = Path(config["site_dir"]), []
    for page in config["extra"]["pages"]:
        (site / page.file.src_uri).write_text(page.markdown)
        section = page.ancestors[-1].title if page.ancestors else ""
        if section and f"\n## {section}\n" not in listed:
            listed.append(f"\n## {section}\n")
        first = next((p for p in page.markdown.split("\n\n")[1:] if p[0].isalnum()), "")
        summary = re.split(r"(?<=[.:]) ", LINK.sub("", first).replace("[", ""))[0].replace("\n", " ")
        summary = f": {summary.rstrip(':.')}" if summary else ""
        listed.append(f"- [{page.title}]({page.file.src_uri}){summary}")
    head = f"# {config['site_name']}\n\n> {config['site_description']}. Each page below is Markdown.\n"
    (site / "llms.txt").write_text(head + "\n".join(listed) + "\n")

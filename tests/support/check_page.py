#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Whether a report page holds up: check_page.py PAGE.html

Every element is closed where it was opened, identifiers are unique and links lead to them, nothing
is asked of the network, the only script is the page's own, every drawing has a name, and every plot
with axes has titles on them."""

import html.parser
import re
import sys

VOID = {"meta", "br", "img", "link", "hr", "input", "base"}
FORBIDDEN = {"img", "link", "iframe", "object", "embed", "base", "form", "video", "audio", "image",
             "use", "foreignobject"}
URL_ATTRIBUTES = {"src", "href", "xlink:href", "action", "data", "poster", "srcset", "background"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.problems, self.ids, self.links = [], [], set(), set()
        self.scripts = self.drawings = self.plots = 0
        self.policy = False
        self.classes = set()  # in the drawing that is open

    def problem(self, text):
        self.problems.append(f"line {self.getpos()[0]}: {text}")

    def handle_starttag(self, tag, attributes, is_closed=False):
        names = [name for name, _ in attributes]
        values = dict(attributes)
        if len(names) != len(set(names)):
            self.problem(f"<{tag}> has an attribute twice")
        if tag in FORBIDDEN:
            self.problem(f"<{tag}> is not for a page that is complete in itself")
        for name, value in attributes:
            if name.startswith("on"):
                self.problem(f"<{tag}> has a handler {name}")
            if name in URL_ATTRIBUTES and not (value or "").startswith("#"):
                self.problem(f"<{tag} {name}={value}> leads out of the page")
            elif name in URL_ATTRIBUTES:
                self.links.add(value[1:])
            if re.search(r"url\(|javascript:", value or "", re.I):
                self.problem(f"<{tag} {name}> holds a reference")
        if values.get("id") in self.ids:
            self.problem(f"the id {values['id']} is there twice")
        if "id" in values:
            self.ids.add(values["id"])
        if tag == "meta" and values.get("http-equiv") == "Content-Security-Policy":
            self.policy = "default-src 'none'" in values["content"]
        if tag == "script":
            self.scripts += 1
        if tag == "svg":
            self.drawings += 1
            self.classes = set()
            if not values.get("aria-label") and values.get("aria-hidden") != "true":
                self.problem("a drawing has no name")
        self.classes |= set((values.get("class") or "").split())
        if tag not in VOID and not is_closed:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes, True)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.problem(f"</{tag}> closes nothing; open are {self.open[-3:]}")
            return
        self.open.pop()
        if tag == "svg" and "frame" in self.classes:
            self.plots += 1
            if "axis-title" not in self.classes:
                self.problem("a plot has axes without titles")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    page.close()
    if page.open:
        page.problems.append(f"not closed: {page.open}")
    if page.scripts != 1:
        page.problems.append(f"{page.scripts} scripts")
    if not page.policy:
        page.problems.append("no policy that forbids to load anything")
    if page.links - page.ids:
        page.problems.append(f"links that lead nowhere: {page.links - page.ids}")
    style = text.split("<style>")[1].split("</style>")[0]
    if re.search(r"url\(|@import|https?:", style):
        page.problems.append("the style sheet refers to something")
    for theme in ("prefers-color-scheme:dark", "@media print"):
        if theme not in style:
            page.problems.append(f"no style for {theme}")
    print("\n".join(page.problems) or
          f"holds up: {page.drawings} drawings, {page.plots} plots with axes")
    return 1 if page.problems else 0


if __name__ == "__main__":
    sys.exit(main())

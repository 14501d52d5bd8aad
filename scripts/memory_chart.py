"""A chart of memory as SVG, which several scripts/prove_*.py use."""

import pathlib
import re

GIB = 2 ** 30
THEME = pathlib.Path(__file__).resolve().parents[1] / "replay" / "report" / "forms" / "theme.cpp"


def line_colours():
    """Three category colors of the theme, readable on light and dark backgrounds."""
    hues = re.search(r"kDarkHues = \{(.*?)\};", THEME.read_text(encoding="utf-8"), re.DOTALL)[1]
    all_hues = ["#" + hue for hue in re.findall(r"rgb\(0x([0-9a-f]{6})\)", hues)]
    return [all_hues[number] for number in (8, 10, 0)]


LEFT, BELOW, MARGIN = 64, 40, 16


class MemoryChart:
    """Bytes upward from 0 to `most`, and a share from 0 to 1 from left to right."""

    def __init__(self, most, width=760, height=300):
        self.most, self.width, self.height = most, width, height

    def x(self, share):
        return LEFT + share * (self.width - LEFT - MARGIN)

    def y(self, value):
        return self.height - BELOW - value / self.most * (self.height - BELOW - MARGIN)

    def text(self, shapes, title, below):
        """The chart: a line for each round number of GiB, `shapes`, and labels."""
        step = next(one for one in (.1, .25, .5, 1, 2, 5, 10, 20) if self.most / GIB / one <= 6)
        lines = []
        for number in range(int(self.most / GIB / step) + 1):
            y = self.y(number * step * GIB)
            lines.append(f'<path d="M{LEFT} {y:.1f}H{self.width - MARGIN}" stroke="#8884"/>'
                         f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
                         f'{number * step:g} GiB</text>')
        style = "font:13px system-ui,sans-serif;fill:#888"
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" style="{style}">'
                f'{"".join(lines)}{"".join(shapes)}<text x="{LEFT + 24}" y="30">{title}</text>'
                f'<text x="{(LEFT + self.width) / 2:.0f}" y="{self.height - 12}" text-anchor="middle">{below}</text></svg>\n')

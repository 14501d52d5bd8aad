#!/usr/bin/env python3
"""Phrases that aren't how the field writes English, each with its cure; scripts/check_style.py uses it.

Usage: scripts/plain_english.py FILE...

Prints file:line, the phrase and the cure. Prose is all text of a .md file outside fenced blocks (what
programs print is cured where they print it); of a source, its comments and its texts of several words.
"""
import io
import pathlib
import re
import sys
import tokenize

# (pattern, cure). Case is ignored; blanks in a pattern match line ends as well.
PHRASES = [
    # Verbs without an actor, and verbs at the end of the sentence.
    (r"(it's|it is|is|are) said so", "name who says what: `info` says that ..."),
    (r"it's said\b|it is said\b", "name who says it"),
    (r"is written over\b|are written over\b", "is overwritten"),
    (r"is built anew|are built anew", "is rebuilt"),
    (r"anew\b", "again, or re- before the verb"),
    (r"(less|more|larger|smaller) (is|are) tried\b", "name who tries: `advise` tries ..."),
    (r"(?<!is )(?<!are )(?<!be )needs? that knows?", "an allocator that knows the whole run needs ..."),
    (r"what [\w' ]{1,30} (is|are|was), (is|are|was)\b", "say it directly: subject, verb, object"),
    (r"who has none|who have none|that has none", "without one"),
    (r"(can|could|can't|cannot|couldn't|to) be had\b", "is available, is not available"),
    (r"(is|are|was|were) wanted\b", "is needed, or is requested"),
    (r"must get there\b", "say which stream must reach which event"),
    (r"(says|knows|helps|works|counts|matters|holds) not\b", "does not say, does not know"),
    (r"not held against\b|held against\b|holds? \w+ against\b", "checked against, compared with"),
    (r"whose user we are", "of your own user"),
    (r"is wanted by\b", "needs"),
    (r"is at home\b", "belongs, or is defined"),
    (r"is at an end\b", "has ended"),
    (r"without that (it|they|the|a|an|any|one|this)\b", "without -ing: without waiting"),
    (r"there where\b|then when\b", "where, when"),
    # Order of words.
    (r"once only\b", "only once"),
    (r"with `?--[\w-]+`? only\b", "only with --option"),
    (r"(?<!-)\b(is|are) of `?--\w", "applies only with --option, or belongs to it"),
    (r"for that only\b|for this only\b", "only for"),
    (r"as also\b|also as\b", "as well as"),
    (r"nothing (else|other) than\b|anything else than\b", "only"),
    (r"(larger|smaller|more|less|better|worse|faster|slower|other|longer|shorter) as (the|a|an|in|on|with|before)\b",
     "than"),
    (r"at the least\b|at the most\b", "at least, at most"),
    (r"the (double|half) of\b", "twice, half"),
    (r"by so much\b|so much as\b", "by that much, as much as"),
    (r"so many at once|at most so many", "at most N at a time"),
    (r"for so long\b|so long at most", "for at most this long"),
    (r"keep so much\b", "keep at most this much"),
    (r"so far as\b", "as far as"),
    (r"as good as (no|all|nothing|every)", "almost"),
    (r"in nine of ten\b", "in 90 % of"),
    (r"a tenth (less|more)\b|(less|more) by a tenth", "10 % less, 10 % more"),
    # Time and beginnings.
    (r"(at|from|to|since|of|until|before|after|by|for) (the|its|their|a|each|every) begin\b", "start"),
    (r"(the|its|their|whose|'s) begin\b(?! and end\()", "start"),
    (r"at the begin(ning)? of a line on", "from the start of a line onward"),
    (r"since (\d+|some|many) (seconds|minutes|hours|days|events|steps)", "for the last N"),
    (r"some (seconds|minutes|hours|days|milliseconds|microseconds)\b", "a few seconds"),
    (r"some \d", "about N"),
    (r"soonest\b", "first, earliest"),
    (r"not any ?more\b", "no longer"),
    (r"opens? at once\b", "opens immediately"),
    (r"of old\b|of late\b", "old, recent"),
    (r"in turns\b", "alternately"),
    (r"in good time\b", "early enough"),
    (r"on and on\b", "without end"),
    # Things that don't stand, lie or come.
    (r"(?<!rule )(?<!which )(?<!that )stands? (in|at|on|there|beside|below|above|before|after|alone|here|open)\b", "is in, is at"),
    (r"standing (in|at|beside) (a|the|its)\b", "in, at"),
    (r"lies? (free|idle|unused|in|at|on|there|beside|here|between|below|above|within|under|outside|ready)\b", "is free, is in"),
    (r"(lying|lay) (free|idle|unused|in|at|on|there|beside)\b", "free, in"),
    (r"wherever .{1,20} lies\b", "wherever it is"),
    (r"what comes\b(?! (first|next|before|after|back|and goes|in|out|from))", "the result"),
    (r"comes? to the same\b", "gives the same"),
    (r"comes? out (to|at|as|alike|the same)\b", "is, matches"),
    (r"comes? near\b|come very near", "is close to"),
    (r"goes with `?--?\w|goes with it\b", "needs --option"),
    (r"goes by\b", "uses"),
    (r"(given|gives?|gave|giving) out\b", "returned, handed out"),
    (r"held up\b|holds? up\b(?! to)|holding up\b(?! to)", "pinned, unreleasable"),
    (r"made of it\b|make of it\b|makes? of (it|them)\b|made of them\b", "say what the result is"),
    (r"in words\b", "as text"),
    (r"(has|have|had) no words? for\b", "cannot express"),
    (r"without a word\b|no word of\b", "without a message"),
    (r"to hand\b|at hand\b", "available"),
    (r"in vain\b", "without success"),
    (r"for nought\b|for naught\b", "for nothing"),
    (r"has its price\b|have their price\b", "costs"),
    (r"takes? the place of\b|took the place of\b|taking the place of\b", "replaces"),
    (r"wins over\b", "takes precedence over"),
    (r"what there is\b|what is there\b|that there is\b(?! (no|a|an|one|any|not|nothing|room|something|more|less|only|enough))",
     "available, what is available"),
    (r"(isn't|is not|aren't|are not) there\b", "does not exist, is missing"),
    (r"what lived\b|(?<!long-)(?<!short-)\blived (then|before|there|at|when|while|on|until|since|longer|in)\b", "what was live"),
    (r"the present (settings?|one|policy|state|run)\b", "current"),
    # "Is no X" for "is not an X".
    (r"(?<!there )(is|are|was|were) no (?!longer|more|less|other|different|way|need|doubt|one|such|room|better|worse|reason|larger|smaller|"
     r"matter|use|point|guarantee|faster|slower|exception|surprise|free|memory|data|history|GPU|driver|limit|"
     r"difference|differences|cost|cause|process|recording|recordings|device|evidence|file|trace|stack|stacks|change|record|"
     r"space|hole|bound|answer|time|second|word|sign|part to|cache|step|steps|line|lines|setting|policy|event|events|option|"
     r"command|C\+\+|figure|budget|range|terminal|display|row|block|blocks|compiler|upper|lower|\{)\w", "is not a ..."),
    # False friends and old words.
    (r"trainings\b", "training runs"),
    (r"(a|each|every|this|that|another|one|whose) training(?=[,.:;)]|'s| (is|was|that|which|whose|by|of|with|on|in|and|or|has|can|needs|takes|reserves|peaks)\b)",
     "a training run"),
    (r"likewise\b", "the same, also"),
    (r"alike\b(?!['\"])", "the same, identical"),
    (r"at a like\b|of a like\b|a like (cost|price|size)", "a similar"),
    (r"(and|or|of) the like\b|'s like\b(?= *[,.(])", "or similar"),
    (r"thereby\b|thereof\b|therein\b|thereupon\b|whereby\b|wherein\b|whereof\b|herein\b|thereafter\b", "by it, of it, in it, then"),
    (r"hence\b|henceforth\b", "so, from then on"),
    (r"beside (the|it|its|them|each|that|this|those|what|one|a|every|all|other|others|our|your|PyTorch)\b",
     "next to; as well as"),
    (r"(?<!set )(?<!sets )(?<!setting )(?<!put )(?<!puts )(?<!, )\b\w+s aside\b(?<!sets aside)(?<!puts aside)", "apart from"),
    (r"mend(s|ed|ing)?\b", "fix, repair"),
    (r"dear(er|est)\b|(is|are|too|how|as) dear\b", "expensive, slow"),
    (r"can one\b|(?<!that )(?<!whether )(?<!if )(?<!which )one can\b|one (has|needs|wants|must|may|should) to?\b", "you"),
    (r"oneself\b|one's own\b", "yourself, your own"),
    (r"anyhow\b|anyways\b", "anyway"),
    (r"informations\b|softwares\b|hardwares\b|feedbacks\b|evidences\b", "no plural"),
    (r"(allows?|enables?|permits?) to \w", "lets you, allows X to"),
    (r"how (it|this|they|that) looks? like", "what it looks like"),
    (r"respectively\b", "name each with its own"),
    (r"so-called\b", "leave it out"),
    (r"in (the )?case that\b", "if"),
    (r"independent from\b", "independent of"),
    (r"depends? of\b|depending of\b", "depends on"),
    (r"consists? in\b(?! the)", "consists of"),
    (r"asked for\b(?! help)", "requested"),
    (r"told by\b|told from\b", "inferred from"),
    (r"tells? (no|its|the) (bandwidth|size|format|kind|ending)\b", "shows"),
    (r"whole of (it|them|that)\b", "all of it"),
    (r"all that (is|was|are|were|has|the|it|they|a|an|can|you)\b", "everything that"),
    (r"as (many|much) as you like\b", "any number of"),
    (r"if you like\b", "optionally"),
    (r"what for\b", "for what, why, purpose"),
    (r"by place\b|of each place\b|place in the program", "by call site"),
    (r"in all\)|\bin all(?=[.,;:]|$)|\{\} in all\b|\d in all\b", "in total"),
    (r"as (it|they) likes?\b|as you like\b", "any, freely"),
    (r"to have a run\b", "to record a run"),
    (r"says? itself\b", "say what it says"),
    (r"somewhat\b", "a little, or give the figure"),
    (r"as (little|few) as can be|as can be\b", "as possible"),
    (r"of use\b", "useful"),
    (r"(does|do|did|done) (it|this|that) so\b|is done so\b", "does it this way"),
    (r"loaded so\b|called so\b|named so\b|named like this\b", "loaded this way, called that"),
    (r"in one go\b", "at once, in one allocation"),
    (r"for want of\b", "without, because there is no"),
    (r"it's so that\b|it is so that\b", "leave it out"),
    (r"by oneself\b", "on its own"),
    (r"anybody's\b|somebody's\b", "a user's, another program's"),
    (r"whatever was granted", "every request that succeeded"),
    (r"goes? back to the (driver|device)", "is released to the driver"),
]
LOOK_BEHIND_OR_BLANK = re.compile(r"(\(\?<[!=][^)]*\))| (?![*]|\])")


def compiled(pattern):
    any_blanks = LOOK_BEHIND_OR_BLANK.sub(lambda m: m.group(1) or r"\s+", pattern)
    return re.compile(r"(?<![\w-])(?:" + any_blanks + ")", re.IGNORECASE)


COMPILED = [(compiled(pattern), cure) for pattern, cure in PHRASES]
NOT_PROSE = re.compile(r"^```.*?^```[^\n]*$|`[^`\n]*`|\]\([^)\n]*\)", re.MULTILINE | re.DOTALL)
COMMENTS = re.compile(r"(?:^[ \t]*//[^\n]*\n)+|//[^\n]*|/\*.*?\*/", re.MULTILINE | re.DOTALL)
STRINGS = re.compile(r'"((?:\\.|[^"\\\n])*)"(?:\s*\n?\s*"((?:\\.|[^"\\\n])*)")*')
BETWEEN_STRINGS = re.compile(r'"\s*\n?\s*"')


def blank(match):
    """As many letters and lines, without a text."""
    return re.sub(r"[^\n]", " ", match.group())


def prose_of_page(text):
    """(offset, text) of a Markdown page's sentences: what is fenced or between ` is not prose."""
    yield 0, NOT_PROSE.sub(blank, text)


def prose_of_source(text):
    """(offset, text) of a C++ source's comments and texts."""
    for match in COMMENTS.finditer(text):
        yield match.start(), re.sub(r"^[ \t]*//+", blank, match.group(), flags=re.MULTILINE)
    for match in STRINGS.finditer(COMMENTS.sub(blank, text)):
        if " " in match.group().strip('"'):
            joined = BETWEEN_STRINGS.sub(blank, match.group())
            yield match.start(), joined.replace("\\n", "  ")


def prose_of_python(text):
    """(offset, text) of a Python source's comments and texts."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and " " in token.string):
            yield starts[token.start[0] - 1] + token.start[1], token.string


READERS = {".md": prose_of_page, ".py": prose_of_python, ".h": prose_of_source,
           ".cpp": prose_of_source, ".inc": prose_of_source}


def faults(suffix, text):
    """(line, what is wrong) of one file's text; nothing for a suffix that isn't known."""
    reader = READERS.get(suffix)
    for offset, prose in reader(text) if reader else ():
        for pattern, cure in COMPILED:
            for match in pattern.finditer(prose):
                line = text.count("\n", 0, offset + match.start()) + 1
                yield line, f"'{' '.join(match.group().split())}': {cure}"


def main():
    if "--help" in sys.argv or len(sys.argv) < 2:
        print(__doc__.strip())
        return 0
    found = 0
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        for line, fault in sorted(faults(path.suffix, path.read_text(errors="replace"))):
            print(f"{name}:{line}: {fault}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Small files as laboratories send them, each with a twist; and what a person who looks at them would say they mean.

Unless a file says otherwise it holds the four comparisons of `SAID`.
"""

from __future__ import annotations

SAID = [("oboe", "flute", "drum"), ("gong", "drum", "harp"), ("harp", "oboe", "gong"), ("flute", "oboe", "drum")]
NUMBERS = [("3", "1", "2"), ("12", "2", "7"), ("7", "3", "12"), ("1", "3", "2")]


def lines(header, rows=SAID, sep=",", end="\n"):
    """A header and rows of cells as text."""
    return end.join([header, *(sep.join(map(str, row)) for row in rows)]) + end


def plus(cells, rows=SAID, front=False):
    """The rows with one more cell each."""
    return [(cell, *row) if front else (*row, cell) for row, cell in zip(rows, cells)]


H = "anchor,near,far"
ROWS = lines("").lstrip("\n")
BOTH = [(near, far) for _, near, far in SAID]
ASKED = [(anchor, *((near, far) if n % 2 else (far, near))) for n, (anchor, near, far) in enumerate(SAID)]
RIGHT_LEFT = ["right" if n % 2 == 0 else "left" for n in range(4)]
CHOSEN = [near for _, near, _ in SAID]


def renamed(**names):
    """SAID with other names for some objects."""
    return [tuple(names.get(name, name) for name in row) for row in SAID]


# name -> (content, what it means: rows, or None where only its owner can tell)
FILES = {
    # ---- separators, ends of lines, encodings
    "semicolons.csv": (lines("anchor;near;far", sep=";"), SAID),
    "decimal_commas.csv": (lines("anchor;near;far;rt", plus(["0,53", "1,2", "0,9", "2,1"]), sep=";"), SAID),
    "decimal_comma_weights.csv": (lines("anchor;near;far;weight", plus(["0,5", "1,5", "0,5", "2,5"]), sep=";"), SAID),
    "tabs_in.csv": (lines("anchor\tnear\tfar", sep="\t"), SAID),
    "bars.txt": (lines("anchor|near|far", sep="|"), SAID),
    "blanks.txt": (lines("anchor near far", sep=" "), SAID),
    "aligned.txt": (lines("anchor   near    far", sep="    "), SAID),
    "comma_blank.csv": (lines("anchor, near, far", sep=", "), SAID),
    "crlf.csv": (lines(H, end="\r\n"), SAID),
    "old_mac.csv": (lines(H, end="\r"), SAID),
    "no_newline_at_end.csv": (lines(H)[:-1], SAID),
    "blank_lines.csv": (lines(H).replace("\n", "\n\n"), SAID),
    "blank_lines_on_top.csv": ("\n\n" + lines(H), SAID),
    "lines_of_commas.csv": (lines(H) + ",,\n,,\n", SAID),
    "trailing_commas.csv": (lines(H + ",", plus([""] * 4)), SAID),
    "trailing_commas_in_rows.csv": (lines(H, plus([""] * 4)), SAID),
    "trailing_semicolons.csv": (lines("anchor;near;far;;", [(*row, "", "") for row in SAID], sep=";"), SAID),
    "quoted_all.csv": (lines('"anchor","near","far"', [[f'"{cell}"' for cell in row] for row in SAID]), SAID),
    "quoted_header.csv": (lines('"anchor","near","far"'), SAID),
    "single_quotes.csv": (lines("'anchor','near','far'", [[f"'{cell}'" for cell in row] for row in SAID]),
                          [tuple(f"'{cell}'" for cell in row) for row in SAID]),
    "bom.csv": (b"\xef\xbb\xbf" + lines(H).encode(), SAID),
    "utf16.csv": (lines(H).encode("utf-16"), SAID),
    "utf16_no_bom.csv": (lines(H).encode("utf-16-le"), SAID),
    "windows.csv": (lines(H, renamed(oboe="Flöte", gong="Käse")).encode("cp1252"), None),
    "sep_line.csv": ("sep=;\n" + lines("anchor;near;far", sep=";"), SAID),
    # ---- what stands around the table
    "comment_on_top.csv": ("# exported 2024-05-01 by Lab 3\n" + lines(H), SAID),
    "comments_inside.csv": (lines(H, SAID[:2]) + "# second session\n" + lines("", SAID[2:]).lstrip("\n"), SAID),
    "title_on_top.csv": ("Triplet study 2024\n" + lines(H), SAID),
    "title_with_commas.csv": ("Triplet study 2024,,\n" + lines(H), SAID),
    "title_and_blank.csv": ("Results of the second study,,\n,,\n" + lines(H), SAID),
    "units_row.csv": (lines(H + ",rt", [("", "", "", "ms"), *plus([500, 600, 700, 800])]), SAID),
    "units_in_all.csv": (lines(H, [("[name]", "[name]", "[name]"), *SAID]), SAID),
    "totals_row.csv": (lines(H + ",rt", [*plus([500, 600, 700, 800]), ("Total", "", "", 2600)]), SAID),
    "totals_row_words.csv": (lines(H + ",weight", [*plus([1, 2, 1, 2]), ("Total", "", "", 6)]), SAID),
    "mean_row.csv": (lines(H + ",weight", [*plus([1, 2, 1, 2]), ("Mean", "-", "-", 1.5)]), SAID),
    "two_tables.csv": (lines(H) + "\n" + lines("object,picture", [("oboe", "o.png"), ("gong", "g.png")]), SAID),
    "two_tables_same_width.csv": (lines(H) + "\n" + lines("name,picture,size", [("oboe", "o.png", "10")]), None),
    "two_tables_other_words.csv": (lines(H) + lines("reference,winner,loser", NUMBERS), None),
    "two_tables_turned.csv": (lines(H) + lines("far,near,anchor", [row[::-1] for row in SAID]), None),
    "two_tables_gap_of_commas.csv": (lines(H) + ",,\n" + lines("name,picture,size", [("oboe", "o.png", "10")]), None),
    "end_of_file.csv": (lines(H) + "END OF FILE,,\n", SAID),
    "r_row_names.csv": (lines(H, plus([1, 2, 3, 4], front=True)), SAID),
    "pandas_index.csv": (lines("," + H, plus(range(4), front=True)), SAID),
    "pandas_two_indexes.csv": (lines("Unnamed: 0,Unnamed: 0.1," + H, [(n, n, *row) for n, row in enumerate(SAID)]),
                               SAID),
    "pandas_unnamed.csv": (lines("0,1,2"), SAID),
    "pandas_unnamed_numbers.csv": (lines("0,1,2", NUMBERS), None),
    "pandas_unnamed_index.csv": (lines(",0,1,2", plus(range(4), front=True)), SAID),
    # ---- headers
    "upper_case.csv": (lines("ANCHOR,NEAR,FAR"), SAID),
    "spaced.csv": (lines(" Anchor , Near , Far "), SAID),
    "german.csv": (lines("Anker,nah,fern"), SAID),
    "german_unlike.csv": (lines("Referenz;ähnlicher;unähnlicher", sep=";"), SAID),
    "french.csv": (lines("référence,proche,loin"), SAID),
    "spanish.csv": (lines("referencia,cerca,lejos"), SAID),
    "chinese.csv": (lines("参考,近,远"), SAID),
    "mixed_languages.csv": (lines("anchor,nah,far"), SAID),
    "typos.csv": (lines("ancor,nearr,farr"), SAID),
    "reversed.csv": (lines("far,near,anchor", [row[::-1] for row in SAID]), SAID),
    "x_y_z.csv": (lines("x,y,z"), None),
    "item1_item2_item3.csv": (lines("item1,item2,item3"), None),
    "stimulus_and_options.csv": (lines("stimulus,option_a,option_b,answer", plus(RIGHT_LEFT, ASKED)), SAID),
    "reference_left_right.csv": (lines("reference,left,right,response", plus(RIGHT_LEFT, ASKED)), SAID),
    "answer_names.csv": (lines("reference,left,right,response", plus(CHOSEN, ASKED)), SAID),
    "answer_names_in_capitals.csv": (
        lines("reference,left,right,response", plus([name.upper() for name in CHOSEN], ASKED)), SAID),
    "answer_0_1.csv": (lines("reference,left,right,response", plus([1, 0, 1, 0], ASKED)), None),
    "answer_true.csv": (lines("reference,left,right,left_chosen", plus(["False", "True"] * 2, ASKED)), None),
    "answer_correct.csv": (lines("reference,left,right,correct", plus([1, 0, 1, 1], ASKED)), None),
    "answer_rt_only.csv": (lines("reference,left,right,rt", plus([532, 611, 702, 433], ASKED)), None),
    "answer_with_timeouts.csv": (
        lines("reference,left,right,response", [*plus(RIGHT_LEFT, ASKED), ("oboe", "gong", "drum", "timeout")]), SAID),
    "rating.csv": (lines("object1,object2,similarity", [("oboe", "flute", 5), ("gong", "drum", 3)]), None),
    "rating_no_header.csv": (lines("oboe,flute,5", [("gong", "drum", 3), ("harp", "oboe", 4)]), None),
    "distances.csv": (lines("from,to,distance", [("oboe", "flute", 0.5), ("gong", "drum", 0.25)]), None),
    "distances_no_header.csv": (lines("oboe,flute,0.5", [("gong", "drum", 0.25), ("harp", "oboe", 0.4)]), None),
    "points.csv": (lines("oboe,0.12,-1.4", [("flute", 0.5, 0.25), ("drum", 1.5, -0.3)]), None),
    "points_named.csv": (lines("label,x,y", [("oboe", 0.12, -1.4), ("flute", 0.5, 0.25)]), None),
    # ---- people and numbers
    "dates_as_people.csv": (lines(H + ",participant", plus(["2024-01-31", "2024-02-01", "1.2.24", "1/2/24"])), SAID),
    "thousands_in_ids.csv": (lines(H, [("1,234", "2", "3")]).replace("1,234", '"1,234"') + '2,"1,234",3\n',
                             [("1,234", "2", "3"), ("2", "1,234", "3")]),
    "thousands_unquoted.csv": (lines(H, [("1,234", "2", "3"), ("2", "3", "1,234")]), None),
    "padded_ids.csv": (lines(H, [("007", "012", "100"), ("012", "007", "100")]),
                       [("007", "012", "100"), ("012", "007", "100")]),
    "powers.csv": (lines(H, [("1e3", "2e3", "5"), ("5", "1e3", "2e3")]), [("1e3", "2e3", "5"), ("5", "1e3", "2e3")]),
    "hexadecimal.csv": (lines(H, [("0x1A", "0x1B", "ff"), ("ff", "0x1A", "0x1B")]),
                        [("0x1A", "0x1B", "ff"), ("ff", "0x1A", "0x1B")]),
    "numbers_with_points.csv": (lines(H, [[f"{cell}.0" for cell in row] for row in NUMBERS]), NUMBERS),
    "one_number_with_a_point.csv": (lines(H, [("3.0", "1", "2"), *NUMBERS[1:]]), NUMBERS),
    "negative_ids.csv": (lines(H, [("-1", "2", "3"), ("2", "-1", "3")]), [("-1", "2", "3"), ("2", "-1", "3")]),
    "plus_ids.csv": (lines(H, [("+1", "2", "3"), ("2", "+1", "3")]), [("+1", "2", "3"), ("2", "+1", "3")]),
    "minus_99_for_missing.csv": (lines(H, [*NUMBERS, ("3", "-99", "1")]), None),
    "question_mark_for_missing.csv": (lines(H, [*SAID, ("oboe", "?", "gong")]), None),
    "dot_for_missing.csv": (lines(H, [*SAID, ("oboe", ".", "gong")]), None),
    "booleans.csv": (lines(H, [("True", "False", "maybe"), ("maybe", "True", "False")]),
                     [("True", "False", "maybe"), ("maybe", "True", "False")]),
    "ids_no_header.csv": (lines("3,1,2", NUMBERS[1:]), NUMBERS),
    "ids_header_by_number.csv": (lines("1,2,3", [("14", "11", "12"), ("12", "14", "11")]), None),
    # ---- labels
    "long_labels.csv": (lines(H, renamed(oboe="o" * 5000)), renamed(oboe="o" * 5000)),
    "labels_with_commas.csv": (lines(H, renamed(oboe='"oboe, old"')), renamed(oboe="oboe, old")),
    "labels_with_newlines.csv": (lines(H, renamed(oboe='"oboe\nold"')), renamed(oboe="oboe\nold")),
    "labels_with_quotes.csv": (lines(H, renamed(oboe='"the ""oboe"""')), renamed(oboe='the "oboe"')),
    "labels_with_blanks.csv": (lines(H, renamed(oboe="big oboe", gong="small gong")),
                               renamed(oboe="big oboe", gong="small gong")),
    "blanks_around_some.csv": (lines(H, [*SAID, ("oboe ", "gong", "drum")]), [*SAID, ("oboe ", "gong", "drum")]),
    "formulas.csv": (lines(H, renamed(oboe="=A1", gong="@gong")), renamed(oboe="=A1", gong="@gong")),
    "sodium.csv": (lines(H, renamed(oboe="Na", gong="Nan")), renamed(oboe="Na", gong="Nan")),
    "words_of_the_header.csv": (lines(H, renamed(oboe="near", gong="far")), renamed(oboe="near", gong="far")),
    "windows_paths.csv": (lines(H, [[f"C:\\stim\\{cell}.png" for cell in row] for row in SAID]),
                          [tuple(f"C:\\stim\\{cell}.png" for cell in row) for row in SAID]),
    "emoji.csv": (lines(H, renamed(oboe="🎵", gong="🥁")), renamed(oboe="🎵", gong="🥁")),
    # ---- rows
    "short_row.csv": (lines(H, [*SAID[:2], ("oboe", "gong"), *SAID[2:]]), None),
    "short_row_at_end.csv": (lines(H) + "oboe,go", None),
    "long_row.csv": (lines(H, [*SAID[:2], ("oboe", "gong", "harp", "late"), *SAID[2:]]), None),
    "open_quote.csv": (lines(H, [*SAID[:2], ('"oboe', "gong", "harp"), *SAID[2:]]), None),
    "ties.csv": (lines(H + ",answer", plus(["a", "a", "tie", "a"])), None),
    "header_only.csv": (H + "\n", None),
    "one_row_no_header.csv": ("oboe,flute,drum\n", [("oboe", "flute", "drum")]),
    "header_unknown_one_row.csv": ("stim,foil,pick\noboe,flute,drum\n", None),
    "no_header_distinct_rows.csv": (lines("a1,a2,a3", [("b1", "b2", "b3"), ("c1", "c2", "c3")]), None),
    "participant_first_no_header.csv": (lines("p1,oboe,flute,drum", [("p1", *SAID[1]), ("p2", *SAID[2])]), None),
    "trial_first_no_header.csv": (lines("1,oboe,flute,drum", [(2, *SAID[1]), (3, *SAID[2])]), None),
    "response_last_no_header.csv": (lines("oboe,flute,drum,0", [(*SAID[1], 1), (*SAID[2], 0)]), None),
    "rows_and_answers_wide.csv": (lines("participant,q1,q2,q3", [("p1", "a", "b", "a"), ("p2", "b", "b", "a")]), None),
}  # fmt: skip

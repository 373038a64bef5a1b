"""Checks the style of comments, docstrings, messages and documents (CONTRIBUTING.md), as far as a program can.

This command prints sentences that open with a forbidden word, and sentences of more than 25 words:

    python -m tests.prose [FILE or FOLDER ...]
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_WORDS = 25
OPENINGS = re.compile(r"(Of|What|As in|The same|Who)\b(?!'s)")
C_LIKE = {".h", ".hpp", ".cpp", ".cu", ".cuh", ".c"}
HASH = {".cmake", ".yml", ".toml", ".sh", ""}
C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
# A sentence ends at a full stop, a colon, a question mark or an exclamation mark. A blank must follow, and then a
# capital, a digit or a mark of code. Quotes and brackets may stand before and after the blank.
SENTENCE_END = re.compile(r'(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\bvs)[.!?:]["\')*]*\s+(?=["\'(*`\\[]*([A-Z0-9`@\\]|\w+/))')
WORD = re.compile(r"[A-Za-z][\w'-]*")


def joined(lines):
    """Joins lines of (number, text) into paragraphs, and yields (number of the first line, text).

    An empty line ends a paragraph. A bullet, a number with a full stop, or a Doxygen command begins one.
    """
    paragraph, first = [], 0
    for number, text in lines:
        if text.startswith("     "):  # a formula or an example
            text = ""
        begins = re.match(r"\s*([-*+]|\d+\.)\s", text) or re.match(r"\s*[@\\]\w+", text)
        is_table = re.search(r"\S {2,}\S", text)
        if (not text.strip() or begins or is_table) and paragraph:
            yield first, " ".join(paragraph)
            paragraph = []
        if text.strip():
            if not paragraph:
                first = number
            paragraph.append(re.sub(r"^\s*([-*+]|\d+\.)\s+", "", text).strip())
    if paragraph:
        yield first, " ".join(paragraph)


def blocks(comments):
    """Joins the comments of consecutive lines if they begin in one column, and yields their paragraphs.

    Each element of `comments` is (line, column, text). A comment behind code (`///<`) begins a new paragraph.
    """
    block = []
    for line, column, text in comments:
        if block and (line != block[-1][0] + 1 or column != block[0][1] or text.startswith("<")):
            yield from joined([(number, words) for number, _, words in block])
            block = []
        block.append((line, column, text.lstrip("<")))
    yield from joined([(number, words) for number, _, words in block])


def c_comments(text):
    for match in C_TOKEN.finditer(text):
        token = match.group()
        if not token.startswith(("//", "/*")):
            continue
        line = text.count("\n", 0, match.start()) + 1
        column = match.start() - text.rfind("\n", 0, match.start())
        for i, part in enumerate(token.split("\n")):
            yield line + i, column, re.sub(r"^\s*(//[/!]?|/\*+|\*(?!/))|\*+/$", "", part)


def c_messages(text):
    """Yields (line, text) of string literals with at least five words. Literals that follow each other are one."""
    without_comments = C_TOKEN.sub(lambda m: re.sub(r"[^\n]", "", m.group()) if m.group().startswith("/") else m.group(), text)
    for match in re.finditer(r'(?:"(?:\\.|[^"\\\n])*"\s*)+', without_comments):
        message = "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', match.group())).replace("\\n", "\n")
        if len(WORD.findall(message)) >= 5:
            yield without_comments.count("\n", 0, match.start()) + 1, message


def hash_comments(text, mark="#"):
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"^([^\"'%s]*)%s+!?[<>]?(?!!)(.*)$" % (mark, mark), line)
        if match and not (mark == "!" and line.startswith("!$")):
            yield number, len(match.group(1)), match.group(2)


def python_comments(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.start[1], token.string.lstrip("#!")


def docstrings(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            first = node.body[0].lineno
            yield from joined([(first + i, line) for i, line in enumerate(ast.get_docstring(node).split("\n"))
                               if not line.startswith("    ")])


def python_messages(text):
    """Yields (line, text) of strings with at least five words in one line. Longer strings are code, such as HTML."""
    tree = ast.parse(text)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
        if is_text and "\n" not in node.value and len(WORD.findall(node.value)) >= 5:
            yield node.lineno, node.value


def markdown(text):
    lines, in_code = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"\s*(```|~~~|:::)", line):
            in_code = not in_code if not line.strip().startswith(":::") else in_code
            line = ""
        if line.startswith("|"):
            for cell in line.strip("| ").split(" | "):
                yield number, cell
            line = ""
        lines.append((number, "" if in_code or line.startswith(("#", "    ", "<")) else line))
    yield from joined(lines)


def is_test(path):
    return path.is_relative_to(ROOT / "tests")


def paragraphs(path):
    text = path.read_text(errors="replace")
    if path.suffix in C_LIKE:
        messages = [] if is_test(path) else c_messages(text)
        return list(blocks(c_comments(text))) + [part for line, message in messages
                                                 for part in joined([(line, words) for words in message.split("\n")])]
    if path.suffix in {".py", ".pyi"}:
        messages = [] if is_test(path) else python_messages(text)
        return list(blocks(python_comments(text))) + list(docstrings(text)) + list(messages)
    if path.suffix == ".md":
        return list(markdown(text))
    if path.suffix == ".f90":
        return list(blocks(hash_comments(text, "!")))
    if path.name == "CMakeLists.txt" or path.suffix in HASH:
        return list(blocks(hash_comments(text)))
    return []


def sentences(paragraph):
    plain = re.sub(r"(`+)[^`]*\1", "`code`", re.sub(r"\]\([^)]*\)", "]", paragraph))
    return [part.strip() for part in SENTENCE_END.sub("\n", plain).split("\n") if part.strip()]


def faults(path):
    """Returns (line, what is wrong, the sentence) for each fault of a file."""
    found = []
    for line, paragraph in paragraphs(path):
        for sentence in sentences(paragraph):
            opening = OPENINGS.match(sentence.lstrip("*_\"'( "))
            if opening:
                found.append((line, f"opens with {opening.group(1)}", sentence))
            count = len(WORD.findall(sentence))
            if count > MOST_WORDS:
                found.append((line, f"{count} words", sentence))
    return found


def files(names):
    listed = subprocess.run(["git", "ls-files", *names], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\n") if name and (ROOT / name).is_file()]


if __name__ == "__main__":
    total = 0
    for path in files(sys.argv[1:]):
        for line, wrong, sentence in faults(path):
            total += 1
            print(f"{path.relative_to(ROOT)}:{line}: {wrong}: {sentence}")
    sys.exit(f"{total} sentences" if total else 0)

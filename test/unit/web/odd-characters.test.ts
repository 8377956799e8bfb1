import { expect, test } from "vitest";
import { countOdd, segments, spellOut } from "../../../src/web/lib/odd-characters.js";

test("C47 reordering, invisible and tag characters are spelled out", () => {
  expect(spellOut("invoice\u202Efdp.exe")).toBe("invoice[U+202E]fdp.exe");
  expect(spellOut("nord\u200Bwind")).toBe("nord[U+200B]wind");
  expect(spellOut("\u2066a\u2069")).toBe("[U+2066]a[U+2069]");
  expect(spellOut("x\u{E0100}\u{E0041}")).toBe("x[U+E0100][U+E0041]");
  expect(spellOut("a\u0000b\u001B[0m")).toBe("a[NUL]b[ESC][0m");
  expect(spellOut("half \uD83D alone")).toBe("half [U+D83D] alone");
});

test("C47 five hundred tabs are one code with a count", () => {
  expect(segments(`a${"\t".repeat(500)}b`)).toEqual([
    { odd: false, text: "a" },
    { odd: true, code: "TAB", count: 500 },
    { odd: false, text: "b" },
  ]);
  expect(countOdd("\t".repeat(500))).toBe(500);
});

test("ordinary text of any language, emoji and line ends stay as they are", () => {
  for (const text of ["Größe 12 €\nnext", "line\r\nline", "👩‍💻 ❤️ 👍🏽", "日本語 עברית العربية", "😀"]) expect(spellOut(text)).toBe(text);
  expect(spellOut("a\u200Db")).toBe("a[U+200D]b");
});

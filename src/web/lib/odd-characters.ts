/** A stretch of text: plain, or characters that would not be seen for what they are. */
export type Segment = { odd: false; text: string } | { odd: true; code: string; count: number };

// Characters that are invisible, reorder what follows, or look like nothing: first and last of each run.
const ODD: readonly (readonly [number, number])[] = [
  [0x00, 0x09], // controls, but for the line feed
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad], // soft hyphen
  [0x34f, 0x34f], // grapheme joiner
  [0x61c, 0x61c], // Arabic letter mark
  [0x115f, 0x1160], // Hangul fillers
  [0x17b4, 0x17b5], // Khmer inherent vowels
  [0x180b, 0x180f], // Mongolian selectors
  [0x200b, 0x200f], // zero widths, direction marks
  [0x2028, 0x202e], // separators, embeddings, overrides
  [0x2060, 0x206f], // joiner, invisible operators, isolates
  [0x3164, 0x3164],
  [0xd800, 0xdfff], // half of a character, alone
  [0xe000, 0xf8ff], // private use
  [0xfe00, 0xfe0f], // variation selectors
  [0xfeff, 0xfeff], // byte order mark
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0xfffe, 0xffff],
  [0x1bca0, 0x1bca3], // shorthand and music format controls
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff], // tags, more variation selectors
  [0xf0000, 0x10ffff],
];

const isOdd = (code: number): boolean => (code < 0x20 || code > 0x7e) && ODD.some(([from, to]) => code >= from && code <= to);

const names: Record<string, string> = { "\t": "TAB", "\r": "CR", "\0": "NUL", "\x1B": "ESC" };

/** Splits a text so that odd characters can be drawn as visible codes (C47). A run of the same one is one segment. */
export function segments(text: string): Segment[] {
  const found: Segment[] = [];
  let from = 0;
  let index = 0;
  for (const character of text) {
    const at = index;
    index += character.length;
    const code = character.codePointAt(0) ?? 0;
    if (!isOdd(code) || isOrdinaryHere(text, at, character)) continue;
    if (at > from) found.push({ odd: false, text: text.slice(from, at) });
    from = index;
    const name = names[character] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    const last = found.at(-1);
    if (last?.odd && last.code === name) last.count += 1;
    else found.push({ odd: true, code: name, count: 1 });
  }
  if (from < text.length) found.push({ odd: false, text: text.slice(from) });
  return found;
}

// An emoji is built with a joiner or a variation selector, and a Windows line ends with CR LF.
function isOrdinaryHere(text: string, index: number, character: string): boolean {
  if (character === "\r") return text[index + 1] === "\n";
  const before = /\p{Emoji}\uFE0F?$|\p{Emoji_Modifier}$/u;
  if (character === "\uFE0F") return before.test(text.slice(Math.max(0, index - 4), index));
  if (character === "\u200D") return before.test(text.slice(Math.max(0, index - 4), index)) && /^\p{Extended_Pictographic}/u.test(text.slice(index + 1, index + 3));
  return false;
}

/** How many odd characters a text has. */
export const countOdd = (text: string): number => segments(text).reduce((sum, segment) => sum + (segment.odd ? segment.count : 0), 0);

/** The same text with every odd character spelled out, for places that take only a string. */
export const spellOut = (text: string): string =>
  segments(text)
    .map((segment) => (segment.odd ? `[${segment.code}${segment.count > 1 ? ` ×${segment.count}` : ""}]` : segment.text))
    .join("");

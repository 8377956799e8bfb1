/** A stretch of text: plain, or characters that would not be seen for what they are. */
export type Segment = { odd: false; text: string } | { odd: true; code: string; count: number };

// Invisible, reordering or look-alike-making characters, and C0/C1 controls but for the line feed:
// soft hyphen, Hangul and Khmer fillers, zero-width and bidirectional controls, variation selectors, tags,
// private use, noncharacters, and surrogates that stand alone.
const ODD =
  /[\0-\t\v-\x1F\x7F-\x9F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uE000-\uF8FF\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB\uFFFE\uFFFF\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}\u{F0000}-\u{10FFFF}]|\p{Surrogate}/gu;

const names: Record<string, string> = { "\t": "TAB", "\r": "CR", "\0": "NUL", "\x1B": "ESC" };

/** Splits a text so that odd characters can be drawn as visible codes (C47). A run of the same one is one segment. */
export function segments(text: string): Segment[] {
  const found: Segment[] = [];
  let from = 0;
  for (const match of text.matchAll(ODD)) {
    const [character] = match;
    if (isOrdinaryHere(text, match.index, character)) continue;
    if (match.index > from) found.push({ odd: false, text: text.slice(from, match.index) });
    from = match.index + character.length;
    const code = names[character] ?? `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
    const last = found.at(-1);
    if (last?.odd && last.code === code) last.count += 1;
    else found.push({ odd: true, code, count: 1 });
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

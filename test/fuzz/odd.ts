import fc from "fast-check";

// What no honest client sends: odd values, and honest texts that were damaged on their way.

/** Stands for the conversation's id, which differs from one life to the next, so that a seed means the same inputs. */
export const HERE_ID = "c_ffffffffffffffffffffffffffffffff";

const ODD_WORDS = [
  "",
  " ",
  "\u0000",
  "\u{D800}",
  "\u{FEFF}",
  "\u202Egnorw",
  "__proto__",
  "constructor",
  "toString",
  "__APPROVAL_REQUIRED__x",
  "💥".repeat(40),
  "é".repeat(129),
  "x".repeat(200),
  "x".repeat(201),
  "../../x",
  "%00",
  "%",
  "1e999",
  "null",
  "'; DROP TABLE steps; --",
];

export const words = fc.oneof(fc.string({ maxLength: 12 }), fc.string({ unit: "binary", maxLength: 8 }), fc.constantFrom(...ODD_WORDS));

/** Ids as there are some in a conversation, and near misses. */
export const someId = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(HERE_ID, `${HERE_ID}.1`, `${HERE_ID}.2`, "u1", "m2", "r1", "r1-0-0", "r1-0-1", "op1", "approve", "assistant", "ana", "ben"),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      `${HERE_ID}.0`,
      `${HERE_ID}.01`,
      `${HERE_ID}.9999999999`,
      `${HERE_ID}.3`,
      `c_${"0".repeat(32)}.1`,
      "m0",
      "m9999999999",
      "r0",
      "r99999999999",
      "u1-2",
      "d1",
    ),
  },
  { weight: 1, arbitrary: words },
);

export const odd: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(null, true, false, 0, -1, 1e308, "", [], {}, [[]], [null], { type: null }) },
  { weight: 2, arbitrary: words },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 90 }).map((levels) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown) },
);

/** One place of a JSON value, changed: replaced, left out, doubled, wrapped, or under another name. */
export function damagedValue(value: unknown): fc.Arbitrary<unknown> {
  return fc.record({ at: fc.array(fc.nat(30), { minLength: 1, maxLength: 5 }), how: fc.nat(5), by: fc.oneof(odd, someId) }).map(({ at, how, by }) => damage(value, at, how, by));
}

function damage(value: unknown, [at = 0, ...deeper]: number[], how: number, by: unknown): unknown {
  if (typeof value !== "object" || value === null) return by;
  const entries = Object.entries(value);
  const chosen = entries[at % Math.max(1, entries.length)];
  if (!chosen) return by;
  const changed = entries.flatMap((entry): [string, unknown][] => {
    const [key, inner] = entry;
    if (entry !== chosen) return [[key, inner]];
    if (deeper.length > 0 && typeof inner === "object" && inner !== null) return [[key, damage(inner, deeper, how, by)]];
    switch (how) {
      case 0:
        return [];
      case 1:
        return [
          [key, inner],
          [`${key}2`, by],
        ];
      case 2:
        return [[key, [inner]]];
      case 3:
        return [[typeof by === "string" ? by : `${key} `, inner]];
      default:
        return [[key, by]];
    }
  });
  return Array.isArray(value) ? changed.map(([, inner]) => inner) : Object.fromEntries(changed);
}

/** Text with some of it cut, doubled, swapped or replaced. */
export function damagedText(text: string): fc.Arbitrary<string> {
  const cut = fc.record({ from: fc.nat(text.length), length: fc.nat(12), how: fc.nat(3), by: words });
  return fc.array(cut, { minLength: 1, maxLength: 3 }).map((cuts) =>
    cuts.reduce((now, { from, length, how, by }) => {
      const [before, middle, after] = [now.slice(0, from), now.slice(from, from + length), now.slice(from + length)];
      return [before + after, before + middle + middle + after, before + by + after, before + by + middle + after][how] ?? now;
    }, text),
  );
}

/** Texts that are hardly of any shape. */
export const noise: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.json({ maxDepth: 4 }),
  fc.constantFrom("", "{", "nul", "\u0000", '{"type":"hello"', "[".repeat(70) + "]".repeat(70), `{"a":${"[".repeat(5000)}`, '{"__proto__":1}', '{"type":"send","type":"decide"}'),
);

import { canonicalJson } from "../../protocol/canonical.js";
import type { Json } from "../../protocol/json.js";
import { isObject, own } from "./schema-form.js";

export type Path = readonly (string | number)[];

/** A payload being edited. What is typed but is no value yet stays as text, with the reason. */
export interface Editor {
  original: Json;
  value: Json;
  texts: Readonly<Record<string, string>>;
  errors: Readonly<Record<string, string>>;
}

export const pathKey = (path: Path): string => JSON.stringify(path);

export const startEditing = (original: Json): Editor => ({ original, value: original, texts: {}, errors: {} });

/** A value chosen as it is: a check box, an option, a string, an item added or taken away. */
export function setValue(editor: Editor, path: Path, value: Json | undefined): Editor {
  const prefix = pathKey(path).slice(0, -1);
  // What was typed at or under the path belongs to the value that is gone.
  const keep = (record: Readonly<Record<string, string>>) => Object.fromEntries(Object.entries(record).filter(([key]) => !key.startsWith(prefix)));
  return { ...editor, value: put(editor.value, path, value), texts: keep(editor.texts), errors: keep(editor.errors) };
}

/** Text typed into a field whose value is read from it. The value changes only when the text is one. */
export function typeText(editor: Editor, path: Path, text: string, read: (text: string) => Parsed): Editor {
  const key = pathKey(path);
  const parsed = read(text);
  const next = parsed.ok ? setValue(editor, path, parsed.value) : editor;
  const { [key]: _, ...errors } = next.errors;
  return { ...next, texts: { ...next.texts, [key]: text }, errors: parsed.ok ? errors : { ...errors, [key]: parsed.message } };
}

/** What to send: nothing when nothing differs (C56). */
export type Edited = { ok: false; faults: number } | { ok: true; changed: false } | { ok: true; changed: true; override: Json };

export function edited(editor: Editor): Edited {
  const faults = Object.keys(editor.errors).length;
  if (faults > 0) return { ok: false, faults };
  if (canonicalJson(editor.value) === canonicalJson(editor.original)) return { ok: true, changed: false };
  return { ok: true, changed: true, override: editor.value };
}

export type Parsed = { ok: true; value: Json } | { ok: false; message: string };

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Reads a number exactly as JSON spells it, so that "50" becomes 50 and "1.000,5" becomes a question. */
export function readNumber(text: string, integer: boolean): Parsed {
  const trimmed = text.trim();
  if (!NUMBER.test(trimmed)) return { ok: false, message: trimmed === "" ? "A number is needed here." : "Not a number. Write it like 1234.5" };
  const value = Number(trimmed);
  if (!Number.isFinite(value)) return { ok: false, message: "This number is too large." };
  if (integer && !Number.isInteger(value)) return { ok: false, message: "A whole number is needed here." };
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return { ok: false, message: "This number is too large to be kept exact." };
  return { ok: true, value };
}

/** Reads JSON; refuses whole numbers that JavaScript would silently round. */
export function readJson(text: string): Parsed {
  try {
    const value = JSON.parse(text) as Json;
    const outsideStrings = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
    const rounded = outsideStrings.match(/-?\d{16,}(?![\d.eE])/g)?.find((digits) => !Number.isSafeInteger(Number(digits)));
    if (rounded) return { ok: false, message: `${rounded} can't be kept exact as a number. Write it as a string, if the tool takes one.` };
    return { ok: true, value };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : "Not JSON." };
  }
}

/** The value at a path; undefined where there is none. */
export function valueAt(value: Json | undefined, path: Path): Json | undefined {
  let current = value;
  for (const name of path) {
    if (Array.isArray(current)) current = current[Number(name)];
    else current = isObject(current) ? own(current, String(name)) : undefined;
  }
  return current;
}

function put(value: Json, path: Path, leaf: Json | undefined): Json {
  const [name, ...rest] = path;
  if (name === undefined) return leaf ?? null;
  if (Array.isArray(value)) {
    const index = Number(name);
    if (rest.length === 0 && leaf === undefined) return value.toSpliced(index, 1);
    const next = [...value];
    next[index] = rest.length === 0 ? (leaf ?? null) : put(value[index] ?? null, rest, leaf);
    return next;
  }
  const entries = new Map(Object.entries(isObject(value) ? value : {}));
  const key = String(name);
  if (rest.length > 0) entries.set(key, put(entries.get(key) ?? {}, rest, leaf));
  else if (leaf === undefined) entries.delete(key);
  else entries.set(key, leaf);
  // `fromEntries` defines own properties, so a key `__proto__` stays a key.
  return Object.fromEntries(entries);
}

/** One field that differs between what was proposed and what was approved. */
export interface Difference {
  path: Path;
  from: Json | undefined;
  to: Json | undefined;
}

export function differences(from: Json | undefined, to: Json | undefined, path: Path = []): Difference[] {
  if (isObject(from) && isObject(to)) {
    return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((key) => differences(own(from, key), own(to, key), [...path, key]));
  }
  return canonicalJson(from) === canonicalJson(to) && (from === undefined) === (to === undefined) ? [] : [{ path, from, to }];
}

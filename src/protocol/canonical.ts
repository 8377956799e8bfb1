// Apart from json.ts so that the web app can use these without carrying the validator in its bundle.

/**
 * The one spelling of a JSON value: object keys sorted, no white space.
 * Two values are the same decision, or the same tool input, when these are equal.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const fields = Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`);
    return `{${fields.join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

const encoder = new TextEncoder();

/** Size of a text in UTF-8 bytes: the unit of every limit (H20). */
export function byteLength(text: string): number {
  return encoder.encode(text).byteLength;
}

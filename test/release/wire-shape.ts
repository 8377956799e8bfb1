/** Every field of these frames with its JSON type, one line each: what a client of the release may rely on. */
export function wireShape(frames: { type: string }[]): string[] {
  return [...new Set(frames.flatMap((frame) => fieldsOf(frame.type, frame)))].toSorted();
}

function fieldsOf(path: string, value: unknown): string[] {
  if (value === null) return [`${path}: null`];
  if (Array.isArray(value)) return [`${path}: array`, ...value.flatMap((item) => fieldsOf(`${path}[]`, item))];
  if (typeof value !== "object") return [`${path}: ${typeof value}`];
  // What a tool takes and gives is its own.
  if (/\.(payload|payloadSchema|input|output)$/.test(path)) return [`${path}: object`];
  return Object.entries(value).flatMap(([field, inner]) => fieldsOf(`${path}.${field}`, inner));
}

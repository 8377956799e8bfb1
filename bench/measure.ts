/** One row of the report. */
export interface Measure {
  measure: string;
  ours: number;
  /** The same of the floor, or of the small case, where the target is a ratio. */
  floor?: number;
  unit: string;
  /** The most that `ours`, or `ours / floor` where there is a floor, may be; none for a figure that is only told. */
  target?: number;
  /** The target is the least, not the most. */
  least?: true;
}

export const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

export const ratioOf = ({ ours, floor }: Measure): number | null => (floor === undefined ? null : ours / floor);

export function verdictOf(measure: Measure): string {
  if (measure.target === undefined) return "";
  const value = ratioOf(measure) ?? measure.ours;
  return (measure.least ? value >= measure.target : value <= measure.target) ? "reached" : "missed";
}

const shown = (value: number | null | undefined): string => (value === null || value === undefined ? "" : Number.isInteger(value) ? String(value) : value.toFixed(2));

/** The measures as a table. */
export function table(measures: Measure[]): string {
  const lines = [
    ["measure", "ours", "floor", "ratio", "target", ""],
    ...measures.map((one) => {
      const ratio = ratioOf(one);
      return [
        one.measure,
        `${shown(one.ours)} ${one.unit}`,
        shown(one.floor),
        shown(ratio),
        one.target === undefined ? "" : `${one.least ? "≥" : "≤"} ${one.target}${ratio === null ? "" : " ×"}`,
        verdictOf(one),
      ];
    }),
  ];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

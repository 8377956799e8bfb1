// Characters that are invisible, reorder what follows, or carry text that no person sees.
const ODD = String.raw`(?:[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\u2028\u2029]|[\u{E0100}-\u{E01EF}])`;
const ANY_ODD = new RegExp(ODD, "u");
const ODD_RUNS = new RegExp(String.raw`(?:(?![\n\t])${ODD})+`, "gu");

/** Whether a text holds a character that a reader would not see for what it is. Line ends count too. */
export const isOdd = (text: string): boolean => ANY_ODD.test(text);

/** A stranger's words, fit to be shown: cut to a length, each run of odd characters as one `�`. */
export function plain(text: string, most: number): string {
  const seen = text
    .slice(0, most * 2)
    .replaceAll("\r\n", "\n")
    .replace(ODD_RUNS, "�");
  return seen.length <= most ? seen : `${seen.slice(0, most - 1)}…`;
}

/** The same on one line. */
export const plainLine = (text: string, most: number): string => plain(text.replace(/\s+/g, " ").trim(), most);

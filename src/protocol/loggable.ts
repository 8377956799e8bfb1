/** An error as an operator may read it. A parser's message quotes what it could not read, and that may be a person's words. */
export function loggable(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return error instanceof SyntaxError || error.name === "ZodError" ? error.name : `${error.name}: ${error.message}`;
}

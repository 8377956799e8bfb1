import * as z from "zod";
import { defineTool } from "./define-tool.js";

export const currentTime = defineTool({
  name: "current_time",
  description: "The current date and time, in UTC and in a time zone if one is named.",
  input: z.object({
    timeZone: z.string().refine(isTimeZone, "is no IANA time zone, like Europe/Berlin").optional().describe("An IANA name, like Europe/Berlin"),
  }),
  risk: "low",
  readOnly: true,
  summary: ({ timeZone }) => `Read the clock${timeZone ? ` in ${timeZone}` : ""}`,
  execute: ({ timeZone }) => {
    const now = new Date();
    const utc = now.toISOString();
    if (!timeZone) return { utc };
    return { utc, timeZone, local: new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "full", timeStyle: "long" }).format(now) };
  },
});

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

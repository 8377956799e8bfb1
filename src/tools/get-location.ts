import * as z from "zod";
import { defineDeviceTool } from "./define-tool.js";

/** Where the person is, by the device that answers. The browser asks them for permission. */
export const getLocation = defineDeviceTool({
  name: "get_location",
  description: "Get the present position of the person, from a device of theirs. They may decline. Call it only when a place is needed.",
  input: z.object({ reason: z.string().trim().min(1).max(200).describe("For the person: what the place is needed for") }),
  output: z.object({
    latitude: z.number().min(-90).max(90),
    longitude: z.number().min(-180).max(180),
    accuracyMeters: z.number().nonnegative(),
  }),
  expiresIn: "1h",
  summary: ({ reason }) => `Share where you are: ${reason}`,
});

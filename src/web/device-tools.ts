import type { Json } from "../protocol/json.js";

/** What this app can answer with the device that it runs on. */
export interface DeviceTool {
  /** On the button. */
  label: string;
  /** Asks the device; throws with a sentence for people when it can't or may not tell. */
  answer(): Promise<Json>;
}

const getLocation: DeviceTool = {
  label: "Share my location",
  answer: () =>
    new Promise((resolve, reject) => {
      if (!("geolocation" in navigator)) return reject(new Error("This browser can't tell where it is."));
      navigator.geolocation.getCurrentPosition(
        ({ coords: { latitude, longitude, accuracy } }) => resolve({ latitude, longitude, accuracyMeters: Math.round(accuracy) }),
        ({ code, message }) =>
          reject(
            new Error(
              code === 1 ? "This browser may not tell where it is. Allow it in the site's settings, or decline." : `The place could not be found: ${message || "no answer"}.`,
            ),
          ),
        { timeout: 30_000, maximumAge: 60_000 },
      );
    }),
};

/** By the tool's name. A tool of your own that a browser answers: one entry here. */
export const deviceTools: ReadonlyMap<string, DeviceTool> = new Map([["get_location", getLocation]]);

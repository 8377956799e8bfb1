import { expect, test } from "vitest";
import { retryDelay } from "../../../src/web/sync/backoff.js";
import { deviceName } from "../../../src/web/sync/device.js";

test("[S7] 0–500 ms when it was this device's own doing, 0–5 s after the server's, 30 s at most", () => {
  expect(retryDelay("own", 4, 1006, 1)).toBe(500);
  expect(retryDelay("closed", 0, 1012, 1)).toBe(5_000);
  expect(retryDelay("closed", 0, 1001, 0)).toBe(0);
  expect(retryDelay("closed", 12, 1006, 1)).toBe(30_000);
});

test("[S7] no retry on 44xx, other than 4401 and 4429", () => {
  for (const code of [4400, 4403, 4404, 4426]) expect(retryDelay("closed", 0, code, 0.5)).toBeNull();
  for (const code of [4401, 4429]) expect(retryDelay("closed", 0, code, 0.5)).toBeGreaterThanOrEqual(5_000);
});

test("a device is named so that its owner knows it", () => {
  expect(deviceName("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36")).toBe("Chrome on Linux");
  expect(deviceName("Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0")).toBe("Firefox on Android phone");
  expect(deviceName("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1")).toBe(
    "Safari on iPhone",
  );
});

import type { Device } from "../../protocol/entities.js";
import type { StorageLike } from "./outbox.js";

const ID = "holdpoint:device";
const NAME = "holdpoint:device-name";

/** This browser profile: a random id that stays, and a name that people recognise. */
export function thisDevice(storage: StorageLike, userAgent: string): Device {
  let id = storage.getItem(ID);
  if (!id) {
    id = crypto.randomUUID();
    storage.setItem(ID, id);
  }
  return { id, name: storage.getItem(NAME) ?? deviceName(userAgent) };
}

export function nameDevice(storage: StorageLike, name: string): void {
  const trimmed = name.trim().slice(0, 80);
  if (trimmed) storage.setItem(NAME, trimmed);
  else storage.removeItem(NAME);
}

/** "Chrome on Linux", "Firefox on Android phone": enough to tell one's own devices apart. */
export function deviceName(userAgent: string): string {
  const browser = first(userAgent, [
    [/Edg(A|iOS)?\//, "Edge"],
    [/OPR\//, "Opera"],
    [/Firefox\/|FxiOS\//, "Firefox"],
    [/Chrome\/|CriOS\//, "Chrome"],
    [/Safari\//, "Safari"],
  ]);
  const system = first(userAgent, [
    [/iPhone/, "iPhone"],
    [/iPad/, "iPad"],
    [/Android.*Mobile/, "Android phone"],
    [/Android/, "Android tablet"],
    [/Windows/, "Windows"],
    [/Mac OS X/, "Mac"],
    [/CrOS/, "ChromeOS"],
    [/Linux/, "Linux"],
  ]);
  return system ? `${browser ?? "Browser"} on ${system}` : (browser ?? "Browser");
}

const first = (text: string, names: [RegExp, string][]): string | undefined => names.find(([pattern]) => pattern.test(text))?.[1];

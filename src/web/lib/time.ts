const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "2 d 3 h", "23 h 41 min", "12 min", "45 s": time left, never rounded up. */
export function duration(ms: number): string {
  const left = Math.max(0, ms);
  if (left >= 2 * DAY) return `${Math.floor(left / DAY)} d ${Math.floor((left % DAY) / HOUR)} h`;
  if (left >= HOUR) return `${Math.floor(left / HOUR)} h ${Math.floor((left % HOUR) / MINUTE)} min`;
  if (left >= 10 * MINUTE) return `${Math.floor(left / MINUTE)} min`;
  if (left >= MINUTE) return `${Math.floor(left / MINUTE)} min ${Math.floor((left % MINUTE) / 1000)} s`;
  return `${Math.floor(left / 1000)} s`;
}

/** How long something took: "0.8 s", "12 s", "3 min". */
export const took = (ms: number): string => (ms < 10_000 ? `${(Math.max(0, ms) / 1000).toFixed(1)} s` : duration(ms));

const hourMinute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const withSeconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const dayMonth = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

export const clock = (ms: number): string => hourMinute.format(ms);
export const clockSeconds = (ms: number): string => withSeconds.format(ms);
export const day = (ms: number): string => full.format(ms);

const sameDay = (a: number, b: number): boolean => full.format(a) === full.format(b);

/** "14:10" today, "2 Mar" before. */
export const short = (ms: number, now: number): string => (sameDay(ms, now) ? clock(ms) : dayMonth.format(ms));

/** "14:10" today, "2 Mar, 14:10" before. */
export const moment = (ms: number, now: number): string => (sameDay(ms, now) ? clock(ms) : `${dayMonth.format(ms)}, ${clock(ms)}`);

/** "today, 18:16", "tomorrow, 4 Mar, 14:10", "9 Mar, 14:10". */
export function until(ms: number, now: number): string {
  if (sameDay(ms, now)) return `today, ${clock(ms)}`;
  const date = `${dayMonth.format(ms)}, ${clock(ms)}`;
  return sameDay(ms, now + DAY) ? `tomorrow, ${date}` : date;
}

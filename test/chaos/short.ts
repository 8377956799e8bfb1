/** Questions about amounts that three divides wait two seconds; the others wait until somebody answers. */
export const SHORT_MS = 2000;
export const isShort = (amount: number): boolean => amount % 3 === 0;
export const isShortCard = ({ expiresAt, createdAt }: { expiresAt: number | null; createdAt: number }): boolean => expiresAt !== null && expiresAt - createdAt <= SHORT_MS;

/** A wire of an amount that seven divides takes longer than a cancelled run waits for it. */
export const SLOW_MS = 1500;
export const isSlow = (amount: number): boolean => amount % 7 === 0;

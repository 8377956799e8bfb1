/** Questions about amounts that three divides wait two seconds; the others wait until somebody answers. */
export const SHORT_MS = 2000;
export const isShort = (amount: number): boolean => amount % 3 === 0;

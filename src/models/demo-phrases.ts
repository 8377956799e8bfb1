/** What a special phrase makes the demo do, beside the requests in the same message. */
export interface Special {
  thought?: string;
  text?: string;
  calls?: { tool: string; input: string }[];
  failure?: string;
  silent?: boolean;
}

const SENTENCE = "a hold point is a place where work must not go on until a named person signs it off ".split(/(?<=\s)/);

/** Reads the phrases that are listed in demo.ts; null when there is none. */
export function specialOf(text: string): Special | null {
  const counted = /\b(say|fail after)\s+(\d{1,5})\s+words?\b/i.exec(text);
  const count = counted ? Number(counted[2]) : /\bslowly\b/i.test(text) ? 400 : 0;
  const fails = /\bfail (?:after \d{1,5} words?|at once)\b/i.test(text);
  const calls = [
    ...(/\bbroken call\b/i.test(text) ? [{ tool: "execute_transfer", input: '{"from": "operations", "amount": ' }] : []),
    ...(/\bunknown tool\b/i.test(text) ? [{ tool: "launch_rocket", input: "{}" }] : []),
  ];
  const special: Special = {
    ...(/\bthink first\b/i.test(text) && { thought: "The person wants me to think first, so this is a thought.", text: "I have thought about it." }),
    ...(count > 0 && { text: words(count) }),
    ...(calls.length > 0 && { text: "I will make a call that can't work.", calls }),
    ...(fails && { failure: "the demo was asked to fail" }),
    ...(/\bsay nothing\b/i.test(text) && { silent: true }),
  };
  return Object.keys(special).length > 0 ? special : null;
}

const words = (count: number): string =>
  Array.from({ length: count }, (_, index) => SENTENCE[index % SENTENCE.length])
    .join("")
    .trimEnd();

import { FAULTS, nameOf, type Edit } from "./list.ts";

interface SourcePlugin {
  name: string;
  enforce: "pre";
  transform(code: string, id: string): string | undefined;
}

/**
 * Turns on the fault named by HOLDPOINT_FAULT: edits that one line as the tests load it. The product itself
 * has no switch. Without the variable this does nothing.
 */
export function faultPlugin(): SourcePlugin {
  const name = process.env["HOLDPOINT_FAULT"];
  const fault = FAULTS.find((one) => nameOf(one) === name);
  if (name && !fault) throw new Error(`There is no fault ${name}.`);
  return faulty(fault ? [fault] : []);
}

/** Makes these edits in the sources as they are loaded. */
export function faulty(edits: Edit[]): SourcePlugin {
  return {
    name: "holdpoint:fault",
    enforce: "pre",
    transform(code, id) {
      const here = edits.filter(({ file }) => id.split("?")[0]?.endsWith(`/${file}`));
      return here.length === 0 ? undefined : here.reduce((text, { find, replace }) => text.replace(find, () => replace), code);
    },
  };
}

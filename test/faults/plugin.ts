import { FAULTS, nameOf, type Fault } from "./list.ts";

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
  return faulty(fault);
}

/** Edits the line of one fault, or none. */
export function faulty(fault: Fault | undefined): SourcePlugin {
  return {
    name: "holdpoint:fault",
    enforce: "pre",
    transform(code, id) {
      if (!fault || !id.split("?")[0]?.endsWith(`/${fault.file}`)) return undefined;
      return code.replace(fault.find, () => fault.replace);
    },
  };
}

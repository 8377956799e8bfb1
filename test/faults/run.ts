import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FAULTS, nameOf, TEST_FILES, type Fault } from "./list.ts";

// `npm run faults`: for each rule of docs/spec.md, breaks the product in one line and sees whether that rule's
// own tests notice. `npm run faults -- H5 S3` tries those only; `--write` renews the table in docs/spec.md.

const ROOT = join(import.meta.dirname, "../..");
const SPEC = join(ROOT, "docs/spec.md");
const [BEGIN, END] = ["<!-- faults: begin -->", "<!-- faults: end -->"];

interface Report {
  testResults: { assertionResults: { fullName: string; status: string }[] }[];
}

function failingTests(fault: Fault): string[] {
  const { project, file } = TEST_FILES[fault.tests];
  const output = join(mkdtempSync(join(tmpdir(), "holdpoint-fault-")), "report.json");
  spawnSync(
    process.execPath,
    [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--project", project, file, "-t", `\\[${fault.rule}\\]`, "--reporter", "json", "--outputFile", output],
    {
      cwd: ROOT,
      env: { ...process.env, HOLDPOINT_FAULT: nameOf(fault) },
      stdio: "ignore",
      timeout: 180_000,
    },
  );
  try {
    const report = JSON.parse(readFileSync(output, "utf8")) as Report;
    return report.testResults.flatMap((result) =>
      result.assertionResults.flatMap(({ fullName, status }) => (status === "failed" && fullName.includes(`[${fault.rule}]`) ? [fullName] : [])),
    );
  } catch {
    return [];
  }
}

const SOURCES = readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.startsWith("faults"))
  .map((file) => readFileSync(join(ROOT, "test", file), "utf8"));

/** How many titles of the suite, read from the sources, carry a rule's number. */
const testsOf = (rule: string): number => SOURCES.map((source) => source.split(`[${rule}]`).length - 1).reduce((a, b) => a + b, 0);

function table(): string {
  const rows = FAULTS.map(
    (fault) => `| ${fault.rule} | ${testsOf(fault.rule)} named \`[${fault.rule}]\`, among them in \`${TEST_FILES[fault.tests].file}\` | ${fault.fault} (\`${fault.file}\`) |`,
  );
  return ["| rule | its tests | the one-line fault that they find |", "|---|---|---|", ...rows].join("\n");
}

const spec = readFileSync(SPEC, "utf8");
const current = spec.slice(spec.indexOf(BEGIN) + BEGIN.length, spec.indexOf(END)).trim();
if (process.argv.includes("--write")) {
  writeFileSync(SPEC, `${spec.slice(0, spec.indexOf(BEGIN))}${BEGIN}\n${table()}\n${END}${spec.slice(spec.indexOf(END) + END.length)}`);
  process.exit(0);
}

const wanted = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const tried = FAULTS.filter((fault) => wanted.length === 0 || wanted.includes(fault.rule) || wanted.includes(nameOf(fault)));
let missed = 0;
for (const fault of tried) {
  const source = readFileSync(join(ROOT, fault.file), "utf8");
  const places = source.split(fault.find).length - 1;
  if (places !== 1) {
    missed += 1;
    console.log(`${nameOf(fault).padEnd(12)} NOT TRIED: its line stands ${places} times in ${fault.file}`);
    continue;
  }
  const failing = failingTests(fault);
  if (failing.length === 0) missed += 1;
  console.log(`${nameOf(fault).padEnd(12)} ${failing.length ? `found by ${failing.length}: ${failing[0]}` : `NOT FOUND: ${fault.fault}`}`);
}
if (wanted.length === 0 && current !== table()) {
  missed += 1;
  console.log("docs/spec.md: the table is not today's. Run: npm run faults -- --write");
}
console.log(`${tried.length - missed} passed, ${missed} failed`);
process.exit(missed === 0 ? 0 : 1);

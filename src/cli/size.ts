import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ROOT } from "./processes.ts";
import { quietEnvironment, WRANGLER } from "./server.ts";

// `npm run size`: the Worker's bundle as it would be deployed, and what a browser loads first, each against its limit.

const KIB = 1024;
const WORKER_KIB = 195;
const WEB_KIB = 150;

const folder = mkdtempSync(join(tmpdir(), "holdpoint-size-"));
const made = spawnSync(process.execPath, [WRANGLER, "deploy", "--dry-run", "--outdir", folder], { cwd: ROOT, env: quietEnvironment(folder), encoding: "utf8" });
const gzip = Number(/gzip: ([\d.]+) KiB/.exec(made.stdout)?.[1]);
if (made.status !== 0 || !gzip) {
  console.error(`${made.stdout}\n${made.stderr}`);
  process.exit(1);
}

const web = join(ROOT, "dist/web");
const html = readFileSync(join(web, "index.html"), "utf8");
const first = readdirSync(join(web, "assets")).filter((name) => html.includes(name));
const loaded = first.reduce((sum, name) => sum + gzipSync(readFileSync(join(web, "assets", name))).byteLength, 0) / KIB;

console.log(`Worker: ${gzip.toFixed(1)} KiB gzip of ${WORKER_KIB}`);
console.log(`Web app, first load: ${loaded.toFixed(1)} KiB gzip of ${WEB_KIB} (${first.join(", ")})`);
process.exit(gzip < WORKER_KIB && loaded <= WEB_KIB && loaded > 0 ? 0 : 1);

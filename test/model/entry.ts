import { DurableObject } from "cloudflare:workers";
import { check, type Asked } from "./check.js";
import { sqliteDisk } from "./sqlite.js";

// The Worker of `npm run model`: one object for each part, in whose SQLite its sequences live.

interface Env {
  MODEL: DurableObjectNamespace;
}

export class Model extends DurableObject {
  override async fetch(request: Request): Promise<Response> {
    const { asked, migrations } = (await request.json()) as { asked: Asked; migrations: string[] };
    return Response.json(await check(sqliteDisk(this.ctx.storage, migrations), asked));
  }
}

export default {
  fetch: (request: Request, env: Env): Promise<Response> => env.MODEL.getByName(new URL(request.url).pathname).fetch(request),
};

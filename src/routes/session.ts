import { Hono } from "hono";
import { setCookie } from "hono/cookie";
import * as z from "zod";
import { version } from "../../package.json";
import type { App } from "../auth/guard.js";
import { isOperator } from "../auth/operator.js";
import { COOKIE, isName } from "../auth/local.js";
import { readSettings } from "../settings.js";
import { skills } from "../skills/index.js";
import { problem, readBody } from "./problem.js";

export const session = new Hono<App>()
  .get("/healthz", (c) => {
    const read = readSettings(c.env);
    return c.json({ ok: true, version, model: read.ok ? read.settings.modelName : null });
  })
  .get("/api/me", (c) => {
    const read = readSettings(c.env);
    const { modelName: model, demo } = read.ok ? read.settings : { modelName: "", demo: false };
    return c.json({
      person: c.var.actor.person,
      operator: isOperator(c.env, c.var.actor.person),
      model,
      demo,
      version,
      skills: [...skills.values()].map(({ name, title }) => ({ name, title })),
    });
  })
  .post("/auth/local", async (c) => {
    const { name } = await readBody(c.req.raw, z.object({ name: z.string() }));
    if (!isName(name)) return problem(422, "bad_name", "A name has letters, digits and . _ - in it, 40 at most, and begins with a letter or digit.");
    setCookie(c, COOKIE, name, { path: "/", httpOnly: true, sameSite: "Lax", maxAge: 365 * 86_400 });
    return c.json({ person: name });
  });

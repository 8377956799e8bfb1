import { Hono } from "hono";
import { setCookie } from "hono/cookie";
import * as z from "zod";
import { version } from "../../package.json";
import type { App } from "../auth/guard.js";
import { isOperator } from "../auth/operator.js";
import { COOKIE, isName } from "../auth/local.js";
import { skills } from "../skills/index.js";
import { notFound, problem, readBody } from "./problem.js";

export const session = new Hono<App>()
  .get("/healthz", (c) => {
    return c.json({ ok: true, version, model: c.var.settings.modelName });
  })
  .get("/api/me", (c) => {
    const { caller, actor } = c.var;
    const { auth, modelName: model, demo } = c.var.settings;
    return c.json({
      person: actor.person,
      name: caller.name,
      email: caller.email,
      auth: auth.mode,
      operator: isOperator(c.env.OPERATORS, auth, actor.person, caller),
      model,
      demo,
      version,
      skills: [...skills.values()].map(({ name, title }) => ({ name, title })),
    });
  })
  .post("/auth/local", async (c) => {
    if (c.var.settings.auth.mode !== "local") return notFound();
    const { name } = await readBody(c.req.raw, z.object({ name: z.string() }));
    if (!isName(name)) return problem(422, "bad_name", "A name has letters, digits and . _ - in it, 40 at most, and begins with a letter or digit.");
    setCookie(c, COOKIE, name, { path: "/", httpOnly: true, sameSite: "Lax", maxAge: 365 * 86_400 });
    return c.json({ person: name });
  });

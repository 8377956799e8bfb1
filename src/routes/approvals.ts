import { Hono } from "hono";
import type { App } from "../auth/guard.js";
import { conversationOf } from "../core/ids.js";
import { pausePointState } from "../protocol/entities.js";
import { listPausePoints } from "../store/pause-points.js";
import { limitOf, objectOf } from "./conversations.js";
import { notFound, problem } from "./problem.js";

export const approvals = new Hono<App>()
  .get("/", async (c) => {
    const state = pausePointState.optional().safeParse(c.req.query("state"));
    if (!state.success) return problem(400, "bad_state", `state is one of: ${pausePointState.options.join(", ")}.`);
    return c.json(await listPausePoints(c.env.DB, c.var.actor.person, state.data ?? null, Date.now(), limitOf(c.req.query("limit")), c.req.query("cursor") ?? null));
  })
  .get("/:id", async (c) => {
    const id = c.req.param("id");
    const found = await objectOf(c.env, conversationOf(id)).pausePoint(c.var.actor.person, id);
    return found ? c.json(found) : notFound();
  });

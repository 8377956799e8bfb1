// What the simulation puts in the place of `cloudflare:workers`, which is there only inside workerd.

export class DurableObject<Env> {
  constructor(
    protected readonly ctx: DurableObjectState,
    protected readonly env: Env,
  ) {}
}

/** No traces. */
export const tracing = undefined;

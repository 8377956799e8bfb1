import * as workers from "cloudflare:workers";

/** Does the work in a custom span of the platform's traces; a runtime without them just does the work (H16). */
export function span<T>(name: string, attributes: Record<string, string | number>, work: () => Promise<T>): Promise<T> {
  const tracing = workers.tracing as Partial<typeof workers.tracing> | undefined;
  if (!tracing?.enterSpan) return work();
  return tracing.enterSpan(name, (opened) => {
    opened.setAttributes(attributes);
    return work();
  });
}

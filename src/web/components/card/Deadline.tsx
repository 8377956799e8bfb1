import type { PausePoint } from "../../../protocol/entities.js";
import { duration, until } from "../../lib/time.js";
import { Icon } from "../Icon.js";

const then: Record<PausePoint["onExpiry"], string> = { continue: "Then the agent is told that nobody decided.", halt: "Then the run ends." };

/** Time left by the server's clock, and what happens when it is over. */
export function Deadline({ pausePoint, now, clockOffset }: { pausePoint: PausePoint; now: number; clockOffset: number }) {
  const { expiresAt, onExpiry } = pausePoint;
  if (expiresAt === null) {
    return (
      <p className="tag-due" data-testid="deadline">
        <Icon name="clock" />
        <span>Does not expire. The conversation waits for it.</span>
      </p>
    );
  }
  const left = expiresAt - now;
  return (
    <p className="tag-due" data-testid="deadline">
      <Icon name="clock" />
      {left <= 0 ? (
        <span>
          <b>The deadline has passed.</b> Nobody decided in time.
        </span>
      ) : (
        <span>
          <b>{duration(left)} left</b> · until {until(expiresAt - clockOffset, now - clockOffset)}.{" "}
          {pausePoint.forPerson ? "Then the agent is told that nobody answered." : then[onExpiry]}
        </span>
      )}
    </p>
  );
}

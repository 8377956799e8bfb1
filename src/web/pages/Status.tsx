import { useCallback } from "react";
import { Link } from "wouter";
import type { ObjectStatus, Status } from "../../protocol/status.js";
import { TopBar } from "../components/TopBar.js";
import { useFetched, usePolling } from "../hooks.js";
import { api } from "../lib/api.js";
import { duration } from "../lib/time.js";

/** For the deployment's operators: what runs and waits, and which conversations look wrong (H16). */
export function StatusPage({ onMenu }: { onMenu(): void }) {
  const status = useFetched(api.status, null);
  usePolling(
    useCallback(() => status.again(), []),
    15_000,
  );
  const { value } = status;
  return (
    <>
      <TopBar title="Status" sub="for operators of this deployment" onMenu={onMenu} />
      <div className="page">
        <div className="read">
          {status.error && <p role="alert">{status.error}</p>}
          {value?.indexError && <p role="alert">D1 did not answer: {value.indexError} Chat and decisions go on; lists are behind.</p>}
          {value?.index && <Index index={value.index} now={value.now} />}
          {value && <h2>Conversations looked into</h2>}
          {value?.objects.length === 0 && <p className="quiet">None looks wrong to the index.</p>}
          <Objects objects={value?.objects ?? []} now={value?.now ?? 0} />
        </div>
      </div>
    </>
  );
}

const age = (since: number | null, now: number): string => (since === null ? "–" : duration(now - since));

function Index({ index, now }: { index: NonNullable<Status["index"]>; now: number }) {
  const { running, paused, idle } = index.conversations;
  const { pending, overdue, recovery } = index.cards;
  return (
    <>
      <h2>Conversations</h2>
      <table className="log" data-testid="status-conversations">
        <thead>
          <tr>
            <th>State</th>
            <th className="r">Now</th>
            <th className="r">Over an hour</th>
            <th className="r">Over a day</th>
            <th className="r">Longest</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries({ running, paused }).map(([state, counts]) => (
            <tr key={state} data-state={state}>
              <td className="x">{state}</td>
              <td className="r">{counts.count}</td>
              <td className="r">{counts.overHour}</td>
              <td className="r">{counts.overDay}</td>
              <td className="r">{age(counts.oldest, now)}</td>
            </tr>
          ))}
          <tr data-state="idle">
            <td className="x">idle</td>
            <td className="r">{idle.count}</td>
            <td className="r">–</td>
            <td className="r">–</td>
            <td className="r">–</td>
          </tr>
        </tbody>
      </table>
      <h2>Cards</h2>
      <table className="log" data-testid="status-cards">
        <tbody>
          {[
            { name: "wait for a person", row: pending },
            { name: "past their deadline: an alarm is overdue", row: overdue },
            { name: "ask about an unknown outcome", row: recovery },
          ].map(({ name, row }) => (
            <tr key={name}>
              <td className="x">{name}</td>
              <td className="r">{row.count}</td>
              <td className="r">{age(row.oldest, now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Objects({ objects, now }: { objects: Status["objects"]; now: number }) {
  return (
    <table className="log" data-testid="status-objects">
      <tbody>
        {objects.map((object) => (
          <tr key={object.conversation}>
            <td className="x">
              <Link href={`/c/${object.conversation}`}>{object.conversation.slice(0, 10)}…</Link>
            </td>
            <td>{"error" in object ? object.error : sentence(object, now)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What one object says of itself, in words; what is as it should be is left out. */
function sentence({ run, startedCalls, unknownCalls, undelivered, parked, alarmOverdue }: ObjectStatus, now: number): string {
  const said = [run ? `${run.runId} ${run.status}, begun ${age(run.startedAt, now)} ago` : "no run"];
  if (startedCalls.count > 0) said.push(`${startedCalls.count} calls under way, the oldest for ${age(startedCalls.oldest, now)}`);
  if (unknownCalls > 0) said.push(`${unknownCalls} outcomes unknown`);
  if (undelivered.count > 0) said.push(`${undelivered.count} rows not in D1, the oldest for ${age(undelivered.oldest, now)}`);
  if (parked > 0) said.push(`${parked} rows refused by D1`);
  if (alarmOverdue) said.push("its alarm is overdue");
  return said.join("; ");
}

import { useEffect, useState, type ReactNode } from "react";
import type { Json } from "../../../protocol/json.js";
import { canonicalJson } from "../../../protocol/canonical.js";
import { isObject, label, own } from "../../lib/schema-form.js";
import { PlainText } from "../PlainText.js";
import { Clip, isLong, type SeenReport } from "./Clip.js";

const MOST_FIELDS = 12;

interface Props {
  payload: Json | null;
  schema: Json | null;
  /** What was proposed, when a person approved something else. */
  proposed?: Json | null;
  changedBy?: string | null;
  seen: SeenReport;
}

/** The stored payload, typed and labelled, before any words of the agent (C50). */
export function Fields({ payload, schema, proposed, changedBy, seen }: Props) {
  const [all, setAll] = useState(false);
  const entries = isObject(payload) ? Object.entries(payload) : [];
  const hidden = all || seen.openAll ? 0 : Math.max(0, entries.length - MOST_FIELDS);
  const { report } = seen;
  useEffect(() => {
    report("fields", hidden > 0 ? "clipped" : null);
    return () => report("fields", null);
  }, [report, hidden]);

  if (payload === null || payload === undefined) return null;
  if (!isObject(payload)) return <Clip id="payload" text={typeof payload === "string" ? payload : JSON.stringify(payload, null, 2)} caption="Input" seen={seen} />;
  const shown = entries.slice(0, entries.length - hidden);
  const removed = isObject(proposed) ? Object.keys(proposed).filter((key) => own(payload, key) === undefined) : [];
  const wide = spread(shown.map(([, value]) => isWide(value)));
  return (
    <>
      <dl className="tag-fields">
        {shown.map(([key, value], index) => {
          const before = isObject(proposed) ? own(proposed, key) : undefined;
          const changed = isObject(proposed) && canonicalJson(before) !== canonicalJson(value);
          return (
            <div key={key} className={[wide[index] && "wide", changed && "changed"].filter(Boolean).join(" ") || undefined}>
              <dt title={key}>
                <span>
                  <PlainText text={titleOf(schema, key)} />
                </span>
                {changed && (
                  <span className="edited">
                    changed
                    {changedBy && (
                      <>
                        {" by "}
                        <PlainText text={changedBy} />
                      </>
                    )}
                  </span>
                )}
              </dt>
              <dd className={classOf(value)}>
                <Value id={key} value={value} seen={seen} />
                {changed && (
                  <span className="was">
                    proposed <s>{before === undefined ? "nothing" : <PlainText text={brief(before)} />}</s>
                  </span>
                )}
              </dd>
            </div>
          );
        })}
        {removed.map((key) => (
          <div key={`-${key}`} className="wide changed">
            <dt>
              <span>
                <PlainText text={titleOf(schema, key)} />
              </span>
              <span className="edited">taken out</span>
            </dt>
            <dd>
              <span className="was">
                proposed <s>{isObject(proposed) && <PlainText text={brief(own(proposed, key) ?? null)} />}</s>
              </span>
            </dd>
          </div>
        ))}
      </dl>
      {hidden > 0 && (
        <div className="tag-raw">
          <p className="cap more">
            <span>+{hidden} fields not shown</span>
            <button type="button" className="link" onClick={() => setAll(true)}>
              View all
            </button>
          </p>
        </div>
      )}
    </>
  );
}

function Value({ id, value, seen }: { id: string; value: Json; seen: SeenReport }): ReactNode {
  switch (typeof value) {
    case "string":
      if (value === "") return <small>empty text</small>;
      return isLong(value) ? <Clip id={id} text={value} seen={seen} /> : <PlainText text={value} />;
    case "object": {
      if (value === null) return "null";
      const text = JSON.stringify(value, null, 2);
      return text.length <= 60 ? <PlainText text={JSON.stringify(value)} /> : <Clip id={id} text={text} seen={seen} />;
    }
    default:
      return String(value);
  }
}

/** One line of a value, for places where it is mentioned and not shown. */
export function brief(value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}… (${text.length} characters)` : text === "" ? "empty text" : text;
}

function titleOf(schema: Json | null, key: string): string {
  const properties = isObject(schema) ? schema["properties"] : undefined;
  const property = isObject(properties) ? own(properties, key) : undefined;
  return isObject(property) && typeof property["title"] === "string" ? property["title"] : label(key);
}

const isWide = (value: Json): boolean => {
  if (typeof value === "string") return value.length > 32 || value.includes("\n");
  return typeof value === "object" && value !== null && JSON.stringify(value).length > 32;
};

function classOf(value: Json): string | undefined {
  if (typeof value === "string") return value.length > 80 || value.includes("\n") ? "text" : /^\S+[@/:.]\S+$/.test(value) ? "mono" : undefined;
  return typeof value === "number" ? undefined : "mono";
}

// A narrow field that is left alone in its row takes the whole of it.
export function spread(wide: boolean[]): boolean[] {
  const spreadOut = [...wide];
  let open: number | null = null;
  for (const [index, isWideOne] of wide.entries()) {
    if (isWideOne) {
      if (open !== null) spreadOut[open] = true;
      open = null;
    } else open = open === null ? index : null;
  }
  if (open !== null) spreadOut[open] = true;
  return spreadOut;
}

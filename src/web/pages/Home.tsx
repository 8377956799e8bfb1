import { useState } from "react";
import { useLocation } from "wouter";
import { Composer } from "../components/Composer.js";
import { Mark } from "../components/Icon.js";
import { TopBar } from "../components/TopBar.js";
import { useSession } from "../hooks.js";
import { keepFirstText } from "../first-text.js";
import { api } from "../lib/api.js";

const examples = ["Transfer 250 EUR from operations to savings", "Send an e-mail to ana@example.com that says the invoice is paid", "What are the balances of all accounts?"];

const LONGEST_TITLE = 80;

/** The first line, cut between words. */
function titleOf(text: string): string {
  const [line = ""] = text.trim().split("\n");
  return line.length <= LONGEST_TITLE ? line : `${line.slice(0, LONGEST_TITLE).replace(/\s+\S*$/, "")}…`;
}

/** Where a conversation begins. */
export function Home({ onMenu }: { onMenu(): void }) {
  const [, go] = useLocation();
  const { me } = useSession();
  const [skill, setSkill] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<{ text: string; message: string } | null>(null);
  const begin = async (text: string) => {
    setBusy(true);
    try {
      const title = titleOf(text);
      const { id } = await api.createConversation({ ...(title && { title }), ...(skill && { skill }) });
      keepFirstText(id, text);
      go(`/c/${id}`);
    } catch (reason) {
      setFailed({ text, message: reason instanceof Error ? reason.message : String(reason) });
      setBusy(false);
    }
  };
  return (
    <>
      <TopBar title="New conversation" onMenu={onMenu} />
      <div className="page home">
        <div className="read">
          <h2>
            <Mark size={28} /> An agent that stops and asks
          </h2>
          <p>
            It does what needs no asking. Before anything of consequence it stops and shows a card, on every device of everyone who may decide, and carries on from there when one
            of you has answered.
          </p>
          <ul className="examples" aria-label="Examples">
            {examples.map((example) => (
              <li key={example}>
                <button type="button" className="btn wrap" disabled={busy} onClick={() => void begin(example)}>
                  {example}
                </button>
              </li>
            ))}
          </ul>
          {me?.demo && <p className="quiet">This deployment runs the built-in demo model: it follows a script, needs no key and costs nothing.</p>}
          {me && me.skills.length > 1 && (
            <label className="skill">
              Skill
              <select value={skill ?? me.skills[0]?.name} onChange={(event) => setSkill(event.target.value)}>
                {me.skills.map(({ name, title }) => (
                  <option key={name} value={name}>
                    {title}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
      </div>
      <footer className="foot">
        {failed && (
          <p className="complaint" role="alert">
            <b>Not sent.</b> {failed.message}{" "}
            <button type="button" className="link" onClick={() => void begin(failed.text)}>
              Send again
            </button>
          </p>
        )}
        <Composer draftKey="holdpoint:draft:new" placeholder="Write to the agent" note="Typing never approves anything." disabled={busy} onSend={(text) => void begin(text)} />
      </footer>
    </>
  );
}

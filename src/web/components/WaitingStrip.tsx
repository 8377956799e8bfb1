import { useEffect, useState } from "react";
import type { PausePoint } from "../../protocol/entities.js";
import { HoldIcon, Icon } from "./Icon.js";
import { PlainText } from "./PlainText.js";

/** Brings a card into view and marks it; the focus goes along only because a person asked for the card. */
export function goToCard(id: string, focus: boolean): void {
  const card = document.getElementById(id);
  if (!card) return;
  const tall = card.clientHeight > (card.closest(".scroll")?.clientHeight ?? window.innerHeight);
  card.scrollIntoView({ block: tall ? "end" : "center" });
  if (focus) card.focus({ preventScroll: true });
}

/** Says that the agent waits, so that a card can't be buried under what came after it. */
export function WaitingStrip({ cards, mayDecide }: { cards: PausePoint[]; mayDecide: boolean }) {
  const [index, setIndex] = useState(0);
  const current = cards[Math.min(index, cards.length - 1)];
  const inView = useInView(current?.id);
  if (!current) return null;
  const go = (to: number) => {
    const next = (to + cards.length) % cards.length;
    setIndex(next);
    goToCard(cards[next]?.id ?? "", true);
  };
  return (
    <div className="strip" role="status" data-testid="waiting-strip">
      <div>
        <HoldIcon />
        <b>{mayDecide ? "The agent is waiting for you" : "The agent is waiting for a decision"}</b>
        <span className="what">{inView && cards.length === 1 ? "on this card" : <PlainText text={current.summary || current.title} />}</span>
        <span className="end">
          {cards.length > 1 && (
            <span className="pager">
              {Math.min(index, cards.length - 1) + 1} of {cards.length}
            </span>
          )}
          <button type="button" className="btn" onClick={() => go(index)}>
            Go to card
          </button>
          {cards.length > 1 && (
            <button type="button" className="icon-btn" aria-label="Next card" onClick={() => go(index + 1)}>
              <Icon name="right" />
            </button>
          )}
        </span>
      </div>
    </div>
  );
}

function useInView(id: string | undefined): boolean {
  const [inView, setInView] = useState(false);
  useEffect(() => {
    const sign = id === undefined ? null : document.getElementById(id)?.querySelector(".tag-sign");
    if (!sign) {
      setInView(false);
      return;
    }
    const observer = new IntersectionObserver(([entry]) => setInView(entry?.isIntersecting ?? false), { threshold: 0.6 });
    observer.observe(sign);
    return () => observer.disconnect();
  }, [id]);
  return inView;
}

import { lazy, memo, Suspense } from "react";
import { spellOut } from "../lib/odd-characters.js";
import type { MarkdownProps } from "./RenderedMarkdown.js";

// A third of the app's code. Cards, buttons and plain text don't wait for it.
const load = () => import("./RenderedMarkdown.js");
const Rendered = lazy(load);

/** Fetches the renderer before there is anything to render. */
export const preloadMarkdown = (): void => void load().catch(() => {});

export const Markdown = memo(function Markdown(props: MarkdownProps) {
  return (
    <Suspense fallback={<p className="plain">{props.escape ? spellOut(props.text) : props.text}</p>}>
      <Rendered {...props} />
    </Suspense>
  );
});

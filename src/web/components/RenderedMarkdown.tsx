import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import remend from "remend";
import { spellOut } from "../lib/odd-characters.js";

const plugins = [remarkGfm];

function safeUrl(url: string): string {
  try {
    const { protocol } = new URL(url);
    return protocol === "http:" || protocol === "https:" || protocol === "mailto:" ? url : "";
  } catch {
    // Relative: it would lead into this app under words that the model chose.
    return "";
  }
}

const place = (url: string): string => {
  const { protocol, host, pathname } = new URL(url);
  return protocol === "mailto:" ? pathname : host;
};

const components: Components = {
  a({ href, children }) {
    if (!href) return <>{children}</>;
    const where = place(href);
    return (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
        {!String(children).includes(where) && <span className="host"> ({where})</span>}
      </a>
    );
  },
  // Loading it would tell its server that this was read, and whatever the model put into the address (C49).
  img({ src, alt }) {
    const where = typeof src === "string" && src ? place(src) : "";
    return (
      <span className="no-image">
        [image not loaded{alt ? `: ${alt}` : ""}
        {where && `, ${where}`}]
      </span>
    );
  },
  table: ({ children }) => (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  // A check box in prose looks like a control and is none.
  input: ({ checked }) => (checked ? "☑ " : "☐ "),
};

export interface MarkdownProps {
  text: string;
  /** More of it is coming: what is opened at its end is closed for now. */
  streaming?: boolean;
  /** Hidden characters are spelled out, as everywhere on a card. */
  escape?: boolean;
}

/** Prose of a model: Markdown without HTML, without images, and with links that say where they lead. */
export default function RenderedMarkdown({ text, streaming = false, escape = false }: MarkdownProps) {
  const source = escape ? spellOut(text) : text;
  return (
    <ReactMarkdown remarkPlugins={plugins} skipHtml urlTransform={safeUrl} components={components}>
      {streaming ? remend(source, { linkMode: "text-only" }) : source}
    </ReactMarkdown>
  );
}

import { segments } from "../lib/odd-characters.js";

/** Text from anywhere, shown as what it is: characters that can't be seen are drawn as codes (C47). */
export function PlainText({ text }: { text: string }) {
  const parts = segments(text);
  if (parts.length === 0 || (parts.length === 1 && parts[0]?.odd === false)) return text;
  return parts.map((part, index) =>
    part.odd ? (
      <span key={index} className="esc" title="hidden character">
        {part.code}
        {part.count > 1 && ` ×${part.count}`}
      </span>
    ) : (
      part.text
    ),
  );
}

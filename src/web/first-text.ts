const texts = new Map<string, string>();

/** Hands the first text of a new conversation over to its page, which sends it over the socket like any other. */
export const keepFirstText = (conversationId: string, text: string): void => void texts.set(conversationId, text);

export function takeFirstText(conversationId: string): string | null {
  const text = texts.get(conversationId) ?? null;
  texts.delete(conversationId);
  return text;
}

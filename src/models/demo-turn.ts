import type { LanguageModelV4Prompt, LanguageModelV4ToolResultOutput } from "@ai-sdk/provider";

/** A call of the demo's last step and what came of it. */
export interface Outcome {
  tool: string;
  input: unknown;
  /** The tool result as it was told: a `ToldOutcome`, or a tool's bare result. */
  result: unknown;
  /** A person, or the rule that remembers their answer, said no. */
  refused: boolean;
}

/** What is new since the demo spoke last. */
export interface Turn {
  outcomes: Outcome[];
  /** What a person wrote. Empty when the demo is only to go on after its calls. */
  texts: string[];
  /** Decisions that were told in a message (RESUME_MODE=message). */
  decisions: string[];
  /** The newest text of a person asks to insist. */
  insists: boolean;
}

/** Reads the end of a prompt: everything after the assistant's last message, and the calls of that message. */
export function currentTurn(prompt: LanguageModelV4Prompt): Turn {
  const last = prompt.findLastIndex((message) => message.role === "assistant");
  const asked = prompt[last];
  const inputs = new Map<string, unknown>();
  if (asked?.role === "assistant") for (const part of asked.content) if (part.type === "tool-call") inputs.set(part.toolCallId, part.input);
  const outcomes: Outcome[] = [];
  for (const message of prompt.slice(last + 1)) {
    if (message.role !== "tool") continue;
    for (const part of message.content) {
      if (part.type !== "tool-result") continue;
      const result = valueOf(part.output);
      outcomes.push({ tool: part.toolName, input: inputs.get(part.toolCallId), result, refused: isRefusal(result) });
    }
  }
  const all = textsOf(prompt.slice(last + 1));
  const decisions = all.flatMap((text) => DECISION.exec(text)?.[1] ?? []);
  const texts = all.filter((text) => !DECISION.test(text));
  const said = textsOf(prompt).filter((text) => !DECISION.test(text));
  return { outcomes, texts, decisions, insists: /\binsist\b/i.test(said.at(-1) ?? "") };
}

const DECISION = /^[0-9a-f]{24} (Approval .*)$/s;

function textsOf(prompt: LanguageModelV4Prompt): string[] {
  return prompt.flatMap((message) => (message.role === "user" ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : []));
}

function valueOf(output: LanguageModelV4ToolResultOutput): unknown {
  return "value" in output ? output.value : null;
}

function isRefusal(result: unknown): boolean {
  const outcome = typeof result === "object" && result !== null && "outcome" in result ? result.outcome : null;
  return outcome === "rejected" || outcome === "denied";
}

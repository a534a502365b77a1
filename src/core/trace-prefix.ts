// What the event about a broken prompt-cache prefix says: each cause, and what it changed.

/** One cause of a broken prefix, without what the conversation says. */
export type PrefixCause = {
  /** What changed: `model`, `system`, `header`, `tool-added`, `message-edited`, … as in `explainBreak`. */
  readonly kind: string
  /** The tool's name. */
  readonly name?: string
  /** The message's position. */
  readonly index?: number
}

/** What a cause changed: the definition, the message, the system prompt, … before and after; undefined where there was none. */
export type PrefixChange = {
  /** As it was sent before. */
  readonly before?: unknown
  /** As it is sent now. */
  readonly after?: unknown
}

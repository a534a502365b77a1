// Types of the four features that help models use deferred tools: descriptions, reminders, preloading, learned tools.
import type { Message } from '../../core/index.ts'

/** Which of the four features are on. */
export type ToolUseHelpOptions = {
  /** Characters of description with each announced name; 0 for names only. An option of the shelf. */
  readonly describe: number
  /** How many relevant deferred tools to name with each message; 0 for none. */
  readonly remind: number
  /** Loads the tools that a message names. */
  readonly preload: boolean
  /** Keeps tools loaded that most sessions call. */
  readonly learn: boolean
}

/** The parts of a server's configuration that learned tools change. */
export type ServerLike = {
  readonly name: string
  readonly tools: { readonly [tool: string]: { readonly alwaysLoad?: boolean; readonly hint?: string } }
}

/** A tool that stays loaded because most recent sessions called it. */
export type LearnedTool = {
  /** As the model calls it. */
  readonly tool: string
  readonly server: string
  /** Its own name at its server. */
  readonly original: string
  readonly reason: string
}

/** The four features for one session. */
export type ToolUseHelp = {
  /** Returns the current options. */
  options(): ToolUseHelpOptions
  /** Switches reminders, preloading or learning. `describe` is fixed, because it is an option of the shelf. */
  switch(options: Partial<Omit<ToolUseHelpOptions, 'describe'>>): void
  /** Returns the reminder to add to a user message: one text or none. Never throws. */
  remind(text: string): Promise<string[]>
  /** Returns the tools that the last reminder named. */
  reminded(): readonly string[]
  /** Returns the deferred tools that a message names exactly and that are not loaded yet. */
  preload(text: string): string[]
  /** Marks learned tools as always loaded in the servers' configuration; explicit settings of a tool stay. */
  withLearnedTools<Server extends ServerLike>(servers: readonly Server[]): Server[]
  /** Returns the tools that are kept loaded because most recent sessions called them. */
  learnedTools(): readonly LearnedTool[]
  /** Stops loading a learned tool, by its full name, and does not learn it again. */
  forget(tool: string): void
  /** Allows a forgotten tool to be learned again. */
  remember(tool: string): void
  /** Records what this session used; `messages` are those of this session only. A second call does nothing. */
  close(messages: readonly Message[]): void
}

/** The record of one session. */
export type SessionUse = {
  /** Requests to the model. */
  readonly turns: number
  /** Tokens of a request made only to search. */
  readonly searchTokens: number
  readonly tools: readonly ToolUsed[]
}

/** A tool that was loaded and called. */
export type ToolUsed = {
  readonly tool: string
  readonly server: string
  readonly original: string
  /** Tokens of its definition. */
  readonly tokens: number
}

/** What the last sessions used, and the tools that are not learned again. */
export type ToolUsage = {
  /** Newest last. */
  readonly sessions: readonly SessionUse[]
  readonly forgotten: readonly string[]
}

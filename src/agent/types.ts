// The vocabulary of the agent. The loop tells what happens as events; a failure is an event too, never a throw.
import type { Content, Decision, Message, Shelf, Tool, ToolResult, ToolUse } from '../core/index.ts'
import type { Access } from './accesses.ts'
import type { FileChange } from './diff.ts'

/** What the agent asks a model with: the Anthropic SDK's client, or anything with its shape. */
export type Client = {
  readonly messages: {
    create(
      request: never,
      options?: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal },
    ): PromiseLike<unknown>
  }
}

/** A tool that the agent runs itself. */
export type AgentTool = Tool & {
  /** What it throws, the model reads as an error. */
  readonly run: (input: ToolInput, context: ToolContext) => Content | Promise<Content>
  /** Changes nothing. Nobody need be asked while it reads inside the working folder only. */
  readonly isReadOnly?: boolean
  /** Files that it would read or change with this input, by their real paths. */
  readonly accesses?: (input: ToolInput) => Promise<readonly Access[]>
  /** What it would do to a file with this input; undefined where it would fail. */
  readonly change?: (input: ToolInput) => Promise<FileChange | undefined>
}

export type ToolInput = { readonly [name: string]: unknown }

export type ToolContext = {
  readonly call: ToolUse
  readonly signal: AbortSignal
  /** Tells of what a tool's own agent does. */
  readonly tell: (event: AgentEvent) => void
  /** Shows a person what was done to a file. */
  readonly report?: (change: FileChange) => void
  /** Files below what may be read that may not: the tool leaves them out. */
  readonly isHidden?: (path: string) => boolean
}

/** Runs the tools of MCP servers; an `McpHost` is one. */
export type Runner = {
  run(call: ToolUse, options?: { readonly signal?: AbortSignal }): Promise<ToolResult>
  /** Whether a tool only reads, by the word of a server that the user trusts. */
  isReadOnly?(call: ToolUse): boolean
}

/** What is to be decided: may this call run? */
export type PermissionRequest = {
  readonly call: ToolUse
  /** The MCP server whose tool it is. */
  readonly server: string | undefined
  readonly signal: AbortSignal
  /** The call of the sub-agent that wants it, where one does. */
  readonly agent?: ToolUse
  /** The tool changes nothing, and what it reads is inside the working folder. */
  readonly isHarmless: boolean
  /** Files that it would read or change, as far as the tool says. */
  readonly accesses: readonly Access[]
  /** What it would do to a file; undefined where it would change none, or fail. */
  readonly change: () => Promise<FileChange | undefined>
}

/** The call may run, without the files that are hidden from it; a text is a refusal, with its reason for the model. */
export type PermissionVerdict = true | { readonly isHidden: (path: string) => boolean } | string

/** Decides about every call of a tool but ToolSearch. `createPermissions` makes one from rules. */
export type Permission = (request: PermissionRequest) => Promise<PermissionVerdict> | PermissionVerdict

export type AgentEvent =
  /** A piece of what the model says or thinks. */
  | { readonly type: 'text' | 'thinking'; readonly text: string }
  /** What was sent, before the reply comes. */
  | { readonly type: 'request'; readonly sent: SentRequest }
  /** The whole reply. */
  | {
      readonly type: 'reply'
      readonly content: readonly Message[]
      readonly usage: TokenUsage
      readonly stopReason: string
    }
  /** A call is about to run. */
  | { readonly type: 'call'; readonly call: ToolUse }
  /** What a call came to; `loaded` are the tools that a search loaded. */
  | {
      readonly type: 'result'
      readonly call: ToolUse
      readonly result: ToolResult
      readonly loaded: readonly string[]
      /** What it did to a file. */
      readonly change?: FileChange
      /** Files outside of the working folder that it read or changed. */
      readonly outside?: readonly string[]
    }
  /** A reply broke off, or was stopped, after it had begun: it is billed all the same. */
  | { readonly type: 'broken-off'; readonly usage: TokenUsage }
  /** The model could not be asked; it will be again, and what it had said so far is void. */
  | {
      readonly type: 'retry'
      readonly reason: string
      readonly attempt: number
      /** At most so many are made. */
      readonly attempts: number
      readonly milliseconds: number
    }
  | { readonly type: 'compacted'; readonly before: number; readonly after: number }
  /** Something a person should know. */
  | { readonly type: 'notice'; readonly text: string }
  /** What happens inside a sub-agent. */
  | { readonly type: 'inside'; readonly call: ToolUse; readonly event: AgentEvent }
  | { readonly type: 'end'; readonly reason: EndReason; readonly error?: string }

export type EndReason = 'done' | 'stopped' | 'failed' | 'limit' | 'refused'

/** Tokens of one reply, or of many. */
export type TokenUsage = {
  /** Not read from the prompt cache. */
  readonly input: number
  /** Read from the prompt cache. */
  readonly cached: number
  /** Of `input`, those that were written to the prompt cache. */
  readonly cacheWritten?: number
  /** Of `cacheWritten`, those that are kept for an hour. */
  readonly cacheWritten1h?: number
  readonly output: number
}

/** A request as it went out, for whoever keeps a ledger. */
export type SentRequest = {
  readonly request: { readonly model: string; readonly [field: string]: unknown }
  readonly decision: Decision
  readonly loaded: readonly string[]
}

export type AgentOptions = {
  readonly client: Client
  readonly model: string
  readonly shelf: Shelf
  /** The agent's own tools; they are put on the shelf. */
  readonly tools?: readonly AgentTool[]
  /** Runs tools of MCP servers. */
  readonly runner?: Runner
  readonly system?: string
  /** Without it, everything may run. */
  readonly permission?: Permission
  /** From an earlier session. */
  readonly messages?: readonly Message[]
  /** Told of every change of the history: what to append to it, or what takes its place. */
  readonly onHistory?: (change: HistoryChange) => void
  /** What a user message is given on its way, such as the skills that fit it. */
  readonly enrich?: (
    text: string,
    agent: { readonly messages: readonly Message[] },
  ) => Promise<readonly string[]>
  /** Deferred tools that a user message needs, by exact name: they are loaded before the model is asked. */
  readonly preload?: (text: string) => readonly string[]
  readonly maxTokens?: number
  /** In tokens. */
  readonly contextWindow?: number
  /** The share of the window from which on the history is compacted. */
  readonly compactAt?: number
  /** Model calls for one message of the user, at most. */
  readonly maxSteps?: number
  /** How often a model call that failed for a passing reason is made again. */
  readonly retries?: number
  /** Waits; a test waits less. */
  readonly wait?: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

export type HistoryChange =
  | { readonly type: 'append'; readonly messages: readonly Message[] }
  | { readonly type: 'replace'; readonly messages: readonly Message[] }

export type Agent = {
  /** One message of the user, until the model is done with it. One at a time. */
  send(text: string, options?: { readonly signal?: AbortSignal }): AsyncGenerator<AgentEvent>
  /** Summarises the history now. */
  compact(options?: { readonly signal?: AbortSignal }): AsyncGenerator<AgentEvent>
  readonly messages: readonly Message[]
  readonly shelf: Shelf
  model: string
  /** Tokens that the last request and its reply took. */
  readonly used: number
  readonly contextWindow: number
}

// Types of the agent. The loop reports everything as events; it reports failures as events too and never throws.
import type { Decision, Message, Shelf, Tool, ToolResult, ToolUse } from '@toolshelf/core'
import type { Content, ConversationListener, FileChange } from '@toolshelf/core/internal'
import type { Access } from './accesses.ts'

/** The client that calls the model: the Anthropic SDK's, or anything with its shape. */
export type MessagesClient = {
  /** The one resource of the SDK's client that the agent uses. */
  readonly messages: {
    create(
      request: never,
      options?: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal },
    ): PromiseLike<unknown>
  }
}

/** A tool that the agent runs itself. */
export type AgentTool = Tool & {
  /** Runs the tool. A thrown error becomes an error result for the model. */
  readonly run: (input: ToolInput, context: ToolContext) => Content | Promise<Content>
  /** The tool changes nothing. It needs no permission while it reads only inside the working folder. */
  readonly isReadOnly?: boolean
  /** Files that it would read or change with this input, by their real paths. */
  readonly accesses?: (input: ToolInput) => Promise<readonly Access[]>
  /** The file change it would make with this input; undefined if it would fail. */
  readonly change?: (input: ToolInput) => Promise<FileChange | undefined>
}

/** A call's input, as the model wrote it. */
export type ToolInput = { readonly [name: string]: unknown }

/** What a tool gets besides its input. */
export type ToolContext = {
  /** The model's call, with its id. */
  readonly call: ToolUse
  /** Aborts when the turn is stopped. */
  readonly signal: AbortSignal
  /** Forwards an event of the tool's sub-agent. */
  readonly emit: (event: AgentEvent) => void
  /** Shows a person what was done to a file. */
  readonly report?: (change: FileChange) => void
  /** Whether a file is hidden by rules; the tool must skip such files. */
  readonly isHidden?: (path: string) => boolean
  /** Makes an ordinary call of another tool: checked, permitted, reported. Never rejects. */
  readonly callTool?: (call: ToolUse, options?: InnerCallOptions) => Promise<ToolResult>
  /** Whether a call is known to change nothing. */
  readonly isReadOnly?: (call: ToolUse) => boolean
  /** The name of the shelf's search tool, which only the model itself may call. */
  readonly searchTool?: string
}

/** How a tool calls another one. */
export type InnerCallOptions = {
  /** Aborts this call alone. */
  readonly signal?: AbortSignal
  /** The result is not put on the shelf: it does not go to the model. Default: false. */
  readonly isWhole?: boolean
  /** The script that makes the call. */
  readonly script?: ScriptPlan
}

/** A script that makes calls, for the person who is asked about them. The same object for all calls of one run. */
export type ScriptPlan = {
  /** The script's source text. */
  readonly source: string
  /** The calls that it has made so far. */
  readonly calls: readonly ToolUse[]
}

/** Runs the tools of MCP servers; an `McpHost` is one. */
export type ToolRunner = {
  /** `meta` is for the server, such as the trace context of the call. */
  run(
    call: ToolUse,
    options?: { readonly signal?: AbortSignal; readonly meta?: { readonly [name: string]: unknown } },
  ): Promise<ToolResult>
  /** Whether a tool only reads, according to a server that the user trusts. */
  isReadOnly?(call: ToolUse): boolean
  /** Returns the folder that brought a server; undefined for the user's own. */
  folderOf?(server: string): string | undefined
}

/** A request for permission to run a call. */
export type PermissionRequest = {
  /** The call to decide about. */
  readonly call: ToolUse
  /** The MCP server whose tool it is. */
  readonly server: string | undefined
  /** The folder that brought this server; undefined for the user's own. */
  readonly folder?: string | undefined
  /** Aborts when the turn is stopped. */
  readonly signal: AbortSignal
  /** The `Agent` call of the sub-agent that makes it, if any. */
  readonly agent?: ToolUse
  /** The tool changes nothing, and what it reads is inside the working folder. */
  readonly isHarmless: boolean
  /** Files that it would read or change, if the tool lists them. */
  readonly accesses: readonly Access[]
  /** The file change it would make; undefined if none, or if it would fail. */
  readonly change: () => Promise<FileChange | undefined>
  /** The script that makes the call, if any. */
  readonly script?: ScriptPlan
}

/** `true` allows the call, an object allows it without hidden files, and a string refuses it with a reason for the model. */
export type PermissionVerdict = true | { readonly isHidden: (path: string) => boolean } | string

/** Decides about every tool call except ToolSearch. `createPermissions` creates one from rules. */
export type PermissionCheck = (request: PermissionRequest) => Promise<PermissionVerdict> | PermissionVerdict

/** What `agent.send` yields while it works. The last event is `end`. */
export type AgentEvent =
  /** A piece of the model's text or thinking. */
  | {
      readonly type: 'text' | 'thinking'
      /** The piece. */
      readonly text: string
    }
  /** A request is sent to the model. */
  | {
      readonly type: 'request'
      /** The request, and what tool search did to it. */
      readonly sent: SentRequest
    }
  /** The whole reply. */
  | {
      readonly type: 'reply'
      /** The reply's content blocks. */
      readonly content: readonly Message[]
      /** Tokens of the request and the reply. */
      readonly usage: TokenUsage
      /** The API's `stop_reason`. */
      readonly stopReason: string
    }
  /** A call is about to run. */
  | {
      readonly type: 'call'
      /** The call: `id`, `name` and `input`. */
      readonly call: ToolUse
    }
  /** A call has run, failed or was refused. */
  | {
      readonly type: 'result'
      /** The call. */
      readonly call: ToolUse
      /** Its `tool_result`. */
      readonly result: ToolResult
      /** Names of the tools that it loaded, if it was a search. */
      readonly loaded: readonly string[]
      /** The file change it made. */
      readonly change?: FileChange
      /** Files outside of the working folder that it read or changed. */
      readonly outside?: readonly string[]
    }
  /** A reply broke off or was stopped after it had begun; the API bills it anyway. */
  | {
      readonly type: 'broken-off'
      /** Tokens as far as the API reported them. */
      readonly usage: TokenUsage
    }
  /** The model call failed and will be retried; discard what the model said so far. */
  | {
      readonly type: 'retry'
      /** Why it failed. */
      readonly reason: string
      /** The number of the attempt that failed, from 1. */
      readonly attempt: number
      /** The maximum number of attempts. */
      readonly attempts: number
      /** The wait before the next attempt. */
      readonly milliseconds: number
    }
  /** The history was summarised. */
  | {
      readonly type: 'compacted'
      /** Messages before. */
      readonly before: number
      /** Messages after. */
      readonly after: number
    }
  /** Information for a person. */
  | {
      readonly type: 'notice'
      /** The information. */
      readonly text: string
    }
  /** An event of a sub-agent, or of a call that a script or a batch makes. */
  | {
      readonly type: 'inside'
      /** The call of `Agent`, `RunScript` or `CallTools`. */
      readonly call: ToolUse
      /** Its event. */
      readonly event: AgentEvent
    }
  /** The message is finished; always the last event. */
  | {
      readonly type: 'end'
      /** Why it ended. */
      readonly reason: EndReason
      /** What went wrong, in a sentence. */
      readonly error?: string
    }

/** `done`: the model finished. `stopped`: aborted. `limit`: `maxSteps` or the reply's token limit was reached. */
export type EndReason = 'done' | 'stopped' | 'failed' | 'limit' | 'refused'

/** Tokens of one reply, or of many. */
export type TokenUsage = {
  /** Not read from the prompt cache. */
  readonly input: number
  /** Read from the prompt cache. */
  readonly cached: number
  /** Tokens of `input` that were written to the prompt cache. */
  readonly cacheWritten?: number
  /** Tokens of `cacheWritten` that are kept for an hour. */
  readonly cacheWritten1h?: number
  /** Written by the model. */
  readonly output: number
}

/** A request as it was sent, for cost accounting. */
export type SentRequest = {
  /** The body, as the client of the API got it. */
  readonly request: { readonly model: string; readonly [field: string]: unknown }
  /** Whether tool search is on, and why. */
  readonly decision: Decision
  /** Names of the tools that are loaded. */
  readonly loaded: readonly string[]
}

/** Options of `createAgent`. */
export type AgentOptions = {
  /** A client of the official SDK, or one with the same `messages.create`. */
  readonly client: MessagesClient
  /** The model's id; `agent.model` changes it later. */
  readonly model: string
  /** Holds the tools and decides which of them are sent. */
  readonly shelf: Shelf
  /** The agent's own tools; they are put on the shelf. */
  readonly tools?: readonly AgentTool[]
  /** Runs tools of MCP servers. */
  readonly runner?: ToolRunner
  /** The system prompt. Default: none. */
  readonly system?: string
  /** Decides which calls may run. Without it, every call runs. */
  readonly permission?: PermissionCheck
  /** Receives samplings, calls, results and permissions as events; pass the function that is the shelf's option `trace`, too. */
  readonly trace?: ConversationListener | undefined
  /** The history of an earlier session. */
  readonly messages?: readonly Message[]
  /** Called for every change of the history: messages to append, or a replacement. */
  readonly onHistory?: (change: HistoryChange) => void
  /** Adds texts to a user message, such as matching skills. */
  readonly enrich?: (
    text: string,
    agent: { readonly messages: readonly Message[] },
  ) => Promise<readonly string[]>
  /** Returns the names of deferred tools that a user message needs; they are loaded before the model call. See `namedTools`. */
  readonly preload?: (text: string) => readonly string[]
  /** Maximum output tokens per reply. Default: 8192. */
  readonly maxTokens?: number
  /** The model's context window in tokens. Default: 200,000. */
  readonly contextWindow?: number
  /** The share of the context window at which the history is compacted. Default: 0.8. */
  readonly compactAt?: number
  /** Maximum model calls per user message. Default: 200. */
  readonly maxSteps?: number
  /** How often a model call is retried after a transient failure. Default: 4. */
  readonly retries?: number
  /** Waits before a retry; replaceable in tests. */
  readonly wait?: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

/** A change of the conversation, for a transcript. */
export type HistoryChange =
  | { readonly type: 'append'; readonly messages: readonly Message[] }
  | { readonly type: 'replace'; readonly messages: readonly Message[] }

/** An agent with one conversation. */
export type Agent = {
  /** Sends a user message and yields events until the model has finished. One message at a time. */
  send(text: string, options?: { readonly signal?: AbortSignal }): AsyncGenerator<AgentEvent>
  /** Summarises the history now. */
  compact(options?: { readonly signal?: AbortSignal }): AsyncGenerator<AgentEvent>
  /** The history so far, with the shelf's notes. */
  readonly messages: readonly Message[]
  /** The shelf that holds the agent's tools. */
  readonly shelf: Shelf
  /** The model of the next request; may be changed between messages. */
  model: string
  /** Tokens of the last request and its reply. */
  readonly used: number
  /** The model's context window in tokens. */
  readonly contextWindow: number
}

// The vocabulary of the MCP side. Every other file of this folder speaks these words.
import type { ToolResult, ToolUse } from '../core/index.ts'

/** A server as it is configured, in one form whatever file it came from; environment references are expanded. */
export type ServerConfig = {
  readonly name: string
  readonly transport: StdioConfig | RemoteConfig
  readonly disabled: boolean
  /** Started only when one of its tools is called; its definitions come from the cache. */
  readonly lazy: boolean
  /** Its tools are never deferred, unless one says otherwise. */
  readonly alwaysLoad: boolean | undefined
  /** One line about the server, for the model. */
  readonly description: string | undefined
  readonly tools: { readonly [tool: string]: ToolConfig }
  /** Patterns over the tools' own names, with `*`; an empty list allows all. */
  readonly allow: readonly string[]
  readonly deny: readonly string[]
  /** How many of its tools are used at most; 5,000 if left out. */
  readonly maxTools?: number
  /** Whether the user may be asked what the server wants to know during a call; `ask` if left out. */
  readonly elicitation?: 'ask' | 'deny'
  /** Whether the client's model may be asked for what the server requests during a call; `ask` if left out. */
  readonly sampling?: 'ask' | 'deny'
  /** Milliseconds. */
  readonly connectTimeout: number
  /** Milliseconds without progress. */
  readonly callTimeout: number
  /** The user believes what it says of its own tools: those with `readOnlyHint` run in an agent without a question. */
  readonly trustAnnotations?: boolean
  /** The file it came from. */
  readonly source: string
  /** Environment variables that `${}` references in it stood for, with their values: hidden in everything that is shown. */
  readonly variables?: { readonly [name: string]: string }
}

/** A server that runs as a process of ours. */
export type StdioConfig = {
  readonly kind: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  /** Added to the few variables that every server inherits. */
  readonly env: { readonly [name: string]: string }
  readonly cwd: string | undefined
}

/** A server that is reached by URL. */
export type RemoteConfig = {
  /** `auto`: streamable HTTP, and SSE where a server speaks only that. */
  readonly kind: 'http' | 'sse' | 'auto'
  readonly url: string
  readonly headers: { readonly [name: string]: string }
}

/** Settings of one tool. */
export type ToolConfig = { readonly alwaysLoad?: boolean; readonly hint?: string }

/** Something in a configuration that was left out or mended, and what to do about it. */
export type ConfigProblem = { readonly file: string; readonly server?: string; readonly message: string }

/** A tool as a server lists it: whatever it holds passes through. */
export type ListedTool = {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
  readonly annotations?: { readonly [hint: string]: unknown }
  readonly _meta?: { readonly [key: string]: unknown }
  readonly [field: string]: unknown
}

/** What is wrong with a tool's definition, and what was done about it. */
export type ToolProblem = {
  readonly tool: string
  /** `limited`: there is more of it than is used. */
  readonly kind: 'dropped' | 'repaired' | 'large' | 'limited'
  readonly message: string
}

/** `idle`: not started, and will be when one of its tools is called. */
export type ServerState = 'idle' | 'pending' | 'connected' | 'failed' | 'disabled'

/** The state of a server, and what it offers. */
export type ServerStatus = {
  readonly name: string
  readonly state: ServerState
  /** Why it failed, with what to do about it where that is known. */
  readonly reason: string | undefined
  readonly config: ServerConfig
  /** Its tools as last listed, those that rules hide left out. */
  readonly tools: readonly ListedTool[]
  /** Tools that only the pages of an MCP App may call; they are not among `tools`. */
  readonly pageTools: readonly ListedTool[]
  /** Own names of the tools that `allow` and `deny` hide. */
  readonly hidden: readonly string[]
  /** Own names of the tools held back because their definition changed. */
  readonly held: readonly string[]
  /** The list is from an earlier run: the server has not answered in this one. */
  readonly isCached: boolean
  /** An earlier run has kept what the server lists. */
  readonly isRemembered: boolean
  readonly problems: readonly ToolProblem[]
  readonly info: { readonly name: string; readonly version: string } | undefined
  readonly protocol: string | undefined
  readonly capabilities: { readonly [name: string]: unknown }
  readonly instructions: string | undefined
  /** From the start of the process, or of the connection, to the first list. */
  readonly startMilliseconds: number | undefined
  readonly pid: number | undefined
  /** The last lines that the process wrote to stderr. */
  readonly stderr: string
  /** What it lists besides tools, as last listed, in this run or an earlier one; undefined while it is not known. */
  readonly prompts: readonly unknown[] | undefined
  readonly resources: readonly unknown[] | undefined
  readonly resourceTemplates: readonly unknown[] | undefined
  /** All of these three were listed in this run. */
  readonly hasListed: boolean
}

/** What a client is told of a server when it connects. */
export type KnownServer = Pick<ServerStatus, 'name' | 'state' | 'instructions' | 'capabilities'> & {
  readonly config: Pick<ServerConfig, 'description'>
}

/** Options of a call to a server. */
export type CallOptions = {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
  /** Milliseconds without progress; the server's `callTimeout` by default. */
  readonly timeout?: number
  /** Answers what the server asks during this call. */
  readonly asker?: QuestionHandler
  /** Sent along as `_meta`, such as the trace context; keys that belong to a connection are left out. */
  readonly meta?: { readonly [key: string]: unknown }
}

/** How far a call has got, as its server reports it. */
export type Progress = { readonly progress: number; readonly total?: number; readonly message?: string }

/** Answers what a server asks its client: elicitation, sampling, roots. Rejects for what it cannot do. */
export type QuestionHandler = {
  /** Askers of one client may answer for each other. */
  readonly client?: object
  /** What the client behind it can do, where that is known; servers of the newer protocol are told with each call. */
  readonly capabilities?: { readonly [name: string]: unknown }
  ask(
    method: string,
    params: { readonly [name: string]: unknown },
    signal?: AbortSignal,
    /** How the server calls this question, where it has a name. */
    key?: string,
  ): Promise<{ readonly [name: string]: unknown }>
}

/** What a tool call gives, as MCP spells it. */
export type CallOutput = {
  readonly content: readonly { readonly type: string; readonly [field: string]: unknown }[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: { readonly [key: string]: unknown }
  readonly [field: string]: unknown
}

/** What the listeners of `host.listen` and `gateway.onChange` receive. */
export type HostEvent =
  /** A server connects, is connected, failed or was disabled. */
  | {
      readonly type: 'state'
      /** The server's name. */
      readonly server: string
      /** Its status now. */
      readonly status: ServerStatus
    }
  /** A server's list of tools changed. */
  | {
      readonly type: 'tools'
      /** The server's name. */
      readonly server: string
      /** Its status now. */
      readonly status: ServerStatus
    }
  /** A server's list of resources or prompts changed. */
  | {
      readonly type: 'resources' | 'prompts'
      /** The server's name. */
      readonly server: string
    }
  /** The configured servers changed. */
  | { readonly type: 'servers' }
  /** A resource changed. */
  | {
      readonly type: 'resource'
      /** The server's name. */
      readonly server: string
      /** The URI as the server knows it. */
      readonly uri: string
    }
  /** The user has done what an elicitation in URL mode asked for. */
  | {
      readonly type: 'elicitation'
      /** The server's name. */
      readonly server: string
      /** The elicitation's id. */
      readonly id: string
    }
  /** A server logged a message. */
  | {
      readonly type: 'log'
      /** The server's name. */
      readonly server: string
      /** `debug` to `emergency`, as in MCP. */
      readonly level: string
      /** The logger's name, if the server gives one. */
      readonly logger: string | undefined
      /** The message: text or JSON. */
      readonly data: unknown
      /** The client in whose call it was logged; undefined outside of calls, and where that is not clear. */
      readonly client: object | undefined
    }

/** Supplies the bearer token for a remote server. A provider of the MCP SDK is one. */
export type AuthProvider = {
  /** Called before each request; without a token the request is sent without one. */
  token(): Promise<string | undefined>
  /** Called when the server answers 401; the request is then sent once more. */
  onUnauthorized?(context: UnauthorizedContext): Promise<void>
}

/** The 401 answer that a provider is called about. */
export type UnauthorizedContext = {
  readonly response: Response
  readonly serverUrl: URL
  readonly fetchFn: (url: string | URL, init?: RequestInit) => Promise<Response>
}

/** Many servers, connected in the background, feeding one shelf. */
export type McpHost = {
  /** Recalls what earlier runs learned of the servers, and the tools of those always loaded: this takes no time. */
  recall(): Promise<void>
  /** Puts all their tools on the shelf, one server after another; `start` does it too. */
  prime(): Promise<void>
  /** Begins to connect; a second call does nothing. `capabilities` are what the client behind us can do. */
  start(capabilities?: { readonly [name: string]: unknown }): void
  /**
   * Takes these servers in place of those it has: new and changed ones are started, those whose entry is the same stay
   * connected, and others end once their calls are answered.
   */
  configure(servers: readonly ServerConfig[]): Promise<void>
  status(): readonly ServerStatus[]
  /** The model's call → its tool_result. Whatever goes wrong is an answer, never a rejection. */
  run(call: ToolUse, options?: CallOptions): Promise<ToolResult>
  /** Whether a tool only reads, by the word of a server whose annotations the user trusts. */
  isReadOnly(call: ToolUse): boolean
  /** A call by the server's and the tool's own names. Rejects with an error that says what to do. */
  call(
    server: string,
    tool: string,
    input: { readonly [name: string]: unknown } | undefined,
    options?: CallOptions,
  ): Promise<CallOutput>
  /** Any other request to a server, which is started for it if need be. */
  request(
    server: string,
    method: string,
    params?: { readonly [name: string]: unknown },
    options?: CallOptions,
  ): Promise<{ readonly [name: string]: unknown }>
  /** Resolves when no server is pending, or when the time is over. */
  settled(options?: { readonly timeout?: number; readonly only?: 'alwaysLoad' }): Promise<void>
  /** A notification to every connected server. */
  notify(method: string): void
  /** Lists a server's tools anew; on failure the last good list stays. */
  refresh(server: string): Promise<void>
  /** Lists prompts, resources and templates too, from now on; `status()` has them. */
  watchLists(): void
  /** Lists anew what servers have said is fresh no longer; resolves when that is done, or when the time is over. */
  freshen(options: { readonly timeout: number }): Promise<void>
  /** Tells of each change until the returned function is called. */
  listen(listener: (event: HostEvent) => void): () => void
  /** Ends every connection and process. */
  close(): Promise<void>
}

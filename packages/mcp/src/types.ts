// Defines the types of the MCP side, which all other files of this folder use.
import type { ToolResult, ToolUse } from '@toolshelf/core'

/** A configured server, in the same form for all file formats; environment references are expanded. */
export type ServerConfig = {
  /** Its part of its tools' names: at most 30 of `\w-`, no `__`, unique without case; `readConfig` and `createMcpHost` make it so. */
  readonly name: string
  /** Its name in the file, if that is not `name`. */
  readonly original?: string
  /** How to reach it: a process, or a URL. */
  readonly transport: StdioConfig | RemoteConfig
  /** It is listed, and never started. */
  readonly disabled: boolean
  /** Starts the server only when one of its tools is called; until then its definitions come from the cache. */
  readonly lazy: boolean
  /** True: its tools are never deferred, unless a tool says otherwise. */
  readonly alwaysLoad: boolean | undefined
  /** One line about the server, for the model. */
  readonly description: string | undefined
  /** Settings of single tools, by their own names. */
  readonly tools: { readonly [tool: string]: ToolConfig }
  /** Patterns over the tools' own names, with `*`; an empty list allows all. */
  readonly allow: readonly string[]
  /** Patterns of tools to hide, even those that `allow` matches. */
  readonly deny: readonly string[]
  /** Maximum number of its tools to use. Default: 5,000. */
  readonly maxTools?: number
  /** Whether the server may ask the user questions during a call. Default: `ask`. */
  readonly elicitation?: 'ask' | 'deny'
  /** Whether the server may send requests to the client's model during a call. Default: `ask`. */
  readonly sampling?: 'ask' | 'deny'
  /** Milliseconds to connect. `readConfig` sets 60,000 unless the file says otherwise. */
  readonly connectTimeoutMs: number
  /** Milliseconds that a call may take without progress. `readConfig` sets 120,000 unless the file says otherwise. */
  readonly callTimeoutMs: number
  /** Longest result of its tools, in characters, that is sent whole, in place of the general budget; 0 sends all whole. */
  readonly resultBudget?: number
  /** The file it came from. */
  readonly source: string
  /** The folder that brought it; undefined for the user's own servers. A rule or a record of one is not about the other. */
  readonly folder?: FolderSource
  /** Environment variables that its `${}` references use, with their values, which are hidden wherever they appear. */
  readonly variables?: { readonly [name: string]: string }
  /** Each user has their own credentials and connection, which others cannot see. */
  readonly credentials?: 'user'
  /** Why it cannot be started: calls fail with this reason. */
  readonly blocked?: string
}

/** Content that came with a folder, as somebody else may have written it. */
export type FolderSource = {
  /** The real path of the folder. */
  readonly path: string
  /** SHA-256 of the content of the configuration file, in hexadecimal: what the user was asked about. */
  readonly hash: string
}

/** A server that runs as a child process. */
export type StdioConfig = {
  /** A child process that speaks MCP on stdin and stdout. */
  readonly kind: 'stdio'
  /** The program: a path, or a name that is looked up in `PATH`. */
  readonly command: string
  /** Its arguments; no shell interprets them. */
  readonly args: readonly string[]
  /** Added to the variables that every server inherits: those that any program of its user needs. */
  readonly env: { readonly [name: string]: string }
  /** Further variables that it inherits: all but Toolshelf's own, or those of these names. Default: none. */
  readonly inheritEnv?: true | readonly string[]
  /** Its working folder. Default: that of this process. */
  readonly cwd: string | undefined
}

/** A server that is reached by URL. */
export type RemoteConfig = {
  /** `auto`: streamable HTTP, or SSE if the server supports only that. */
  readonly kind: 'http' | 'sse' | 'auto'
  /** The URL of the endpoint. */
  readonly url: string
  /** Sent with every request; their values are hidden wherever they appear. */
  readonly headers: { readonly [name: string]: string }
}

/** Settings of one tool. */
export type ToolConfig = {
  /** True: never deferred; false: deferred even if its server is always loaded. */
  readonly alwaysLoad?: boolean
  /** A phrase that search weighs above the description. */
  readonly hint?: string
  /** Longest result, in characters, that is sent whole; 0 sends all whole. */
  readonly resultBudget?: number
}

/** A part of a configuration that was skipped or repaired, and what to do about it. */
export type ConfigProblem = {
  /** The file that has it. */
  readonly file: string
  /** The entry that has it; undefined if the whole file has. */
  readonly server?: string
  /** What is wrong, and what happens to the entry. */
  readonly message: string
  /** The environment variables to set, if nothing else is missing: the file itself is fine. */
  readonly unset?: readonly string[]
  /** `own-entry`: the entry starts Toolshelf itself. `no-servers`: the file has no section for servers. */
  readonly kind?: 'own-entry' | 'no-servers'
}

/** A tool as a server lists it; unknown fields pass through. */
export type ListedTool = {
  /** The tool's name on its server. */
  readonly name: string
  /** A name for people. */
  readonly title?: string
  /** What it does, as the server says. */
  readonly description?: string
  /** The JSON schema of its arguments. */
  readonly inputSchema?: unknown
  /** The JSON schema of its `structuredContent`. */
  readonly outputSchema?: unknown
  /** Hints such as `readOnlyHint`; only trusted ones count. */
  readonly annotations?: { readonly [hint: string]: unknown }
  /** Metadata, such as `anthropic/alwaysLoad`. */
  readonly _meta?: { readonly [key: string]: unknown }
  readonly [field: string]: unknown
}

/** What is wrong with a tool's definition, and what was done about it. */
export type ToolProblem = {
  /** The tool's own name. */
  readonly tool: string
  /**
   * `dropped`: the definition cannot be used. `unsupported`: it is left out because Toolshelf cannot run it. `limited`: the
   * server lists more than a limit allows. `hidden`: a text contains characters or marks that people do not see.
   */
  readonly kind: 'dropped' | 'unsupported' | 'repaired' | 'large' | 'limited' | 'hidden'
  /** What is wrong, and what was done about it. */
  readonly message: string
}

/** The state of a server. `idle`: not running; starts when one of its tools is called. */
export type ServerState = 'idle' | 'pending' | 'connected' | 'failed' | 'disabled'

/** The state of a server, and what it offers. */
export type ServerStatus = {
  /** Its configured name. */
  readonly name: string
  /** What it is doing now. */
  readonly state: ServerState
  /** Why it failed, with what to do about it where that is known; for people, because it may be in the server's own words. */
  readonly reason: string | undefined
  /** What kind of failure it was, without a word of the server's: what a model reads. */
  readonly category: string | undefined
  /** Its configuration, with secrets hidden. */
  readonly config: ServerConfig
  /** Its tools as last listed, without those that rules hide. */
  readonly tools: readonly ListedTool[]
  /** Tools that only the pages of an MCP App may call; they are not among `tools`. */
  readonly pageTools: readonly ListedTool[]
  /** Names, on the server, of the tools that `allow` and `deny` hide. */
  readonly hidden: readonly string[]
  /** Names, on the server, of the tools held back because their definition changed. */
  readonly held: readonly string[]
  /** How many of its definitions changed since they were accepted, and whether they are held back; undefined if none did. */
  readonly changes?: { readonly count: number; readonly isHeld: boolean } | undefined
  /** Whether the list comes from an earlier run: the server has not listed its tools in this one. */
  readonly isCached: boolean
  /** Whether an earlier run stored what the server lists. */
  readonly isRemembered: boolean
  /** What is wrong with its tools. */
  readonly problems: readonly ToolProblem[]
  /** The name and version that it reports; undefined until it has connected once. */
  readonly info: { readonly name: string; readonly version: string } | undefined
  /** The protocol version in use. */
  readonly protocol: string | undefined
  /** The capabilities that it declares. */
  readonly capabilities: { readonly [name: string]: unknown }
  /** Its instructions for the model. */
  readonly instructions: string | undefined
  /** Time from the start of the process, or of the connection, to the first list. */
  readonly startMilliseconds: number | undefined
  /** The process id of a local server that runs. */
  readonly pid: number | undefined
  /** The last lines that the process wrote to stderr. */
  readonly stderr: string
  /** What it lists besides tools, as last listed, in this run or an earlier one; undefined while it is not known. */
  readonly prompts: readonly unknown[] | undefined
  /** See `prompts`. */
  readonly resources: readonly unknown[] | undefined
  /** See `prompts`. */
  readonly resourceTemplates: readonly unknown[] | undefined
  /** Whether all of these were listed in this run. */
  readonly hasListed: boolean
}

/** The parts of a status that the greeting of a client uses. */
export type KnownServer = Pick<
  ServerStatus,
  'name' | 'state' | 'instructions' | 'capabilities' | 'changes'
> & {
  readonly config: Pick<ServerConfig, 'description'>
}

/** Options of a call to a server. */
export type CallOptions = {
  /** Cancels the call, at the server too. */
  readonly signal?: AbortSignal
  /** Called for each progress notification of the server. */
  readonly onProgress?: (progress: Progress) => void
  /** Milliseconds without progress. Default: the server's `callTimeoutMs`. */
  readonly timeoutMs?: number
  /** Answers the server's questions during this call. */
  readonly questionHandler?: QuestionHandler
  /** Sent as `_meta`, such as the trace context; keys that belong to a connection are omitted. */
  readonly meta?: { readonly [key: string]: unknown }
}

/** The progress of a call, as its server reports it. */
export type Progress = { readonly progress: number; readonly total?: number; readonly message?: string }

/** Answers a server's questions to its client: elicitation, sampling, roots. Rejects those it cannot answer. */
export type QuestionHandler = {
  /** Identifies the client: handlers of one client may answer for each other. */
  readonly client?: object
  /** The client's capabilities, if known; sent with each call to servers of the newer protocol. */
  readonly capabilities?: { readonly [name: string]: unknown }
  /** Answers one request of a server with its result. */
  ask(
    method: string,
    params: { readonly [name: string]: unknown },
    signal?: AbortSignal,
    /** The server's name for this question, if it has one. */
    key?: string,
  ): Promise<{ readonly [name: string]: unknown }>
}

/** The result of a tool call in MCP's format. */
export type CallOutput = {
  /** What the model reads: texts, images, links, resources. */
  readonly content: readonly { readonly type: string; readonly [field: string]: unknown }[]
  /** The same as JSON, for tools with an output schema. */
  readonly structuredContent?: unknown
  /** The tool failed; `content` says why. */
  readonly isError?: boolean
  /** Metadata that may pass from the server to the client. */
  readonly _meta?: { readonly [key: string]: unknown }
  readonly [field: string]: unknown
}

/** What the listeners of `host.listen` and `gateway.onChange` receive. */
export type HostEvent =
  /** The state of a server changed. */
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
  /** Definitions of a server differ from those first seen, or are as accepted again. */
  | {
      readonly type: 'pins'
      /** The server's name. */
      readonly server: string
      /** What changed. */
      readonly kind: 'tool' | 'prompt' | 'instructions'
      /** Names, on the server, of what changed now. */
      readonly names: readonly string[]
      /** Whether they cannot be used until they are accepted. */
      readonly isHeld: boolean
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
      /** The client in whose call it was logged; undefined outside of calls, and if it is ambiguous. */
      readonly client: object | undefined
    }

/** Supplies the bearer token for a remote server. Providers of the MCP SDK have this type. */
export type AuthProvider = {
  /** Called before each request; without a token the request is sent without one. */
  token(): Promise<string | undefined>
  /** Called when the server answers 401; the request is then sent once more. */
  onUnauthorized?(context: UnauthorizedContext): Promise<void>
}

/** The 401 response that a provider is called for. */
export type UnauthorizedContext = {
  /** The 401 response. */
  readonly response: Response
  /** The URL of the server. */
  readonly serverUrl: URL
  /** Fetches as the connection does. */
  readonly fetchFn: (url: string | URL, init?: RequestInit) => Promise<Response>
}

/** Many servers, connected in the background, feeding one shelf. */
export type McpHost = {
  /** Reads what earlier runs stored about the servers; puts the tools of always-loaded servers on the shelf. */
  readCache(): Promise<void>
  /** Puts the stored tools of all servers on the shelf, one server after another. `start` does this too. */
  publishCachedTools(): Promise<void>
  /** Starts connecting; a second call does nothing. `capabilities` are those of the client, sent to the servers. */
  start(capabilities?: { readonly [name: string]: unknown }): void
  /**
   * Replaces the configured servers: starts new and changed ones, keeps those whose entry is unchanged, and closes the
   * others once their calls are answered.
   */
  configure(servers: readonly ServerConfig[]): Promise<void>
  /** Returns the status of every configured server, in the order of the configuration. */
  status(): readonly ServerStatus[]
  /** Runs a call of the model and returns its tool_result. Never rejects: a failure becomes a result with `is_error`. */
  run(call: ToolUse, options?: CallOptions): Promise<ToolResult>
  /** Returns whether the tool only reads, according to a server whose annotations the user trusts. */
  isReadOnly(call: ToolUse): boolean
  /** Returns the folder that brought a server; undefined for the user's own. */
  folderOf(server: string): string | undefined
  /** Calls a tool by its server's name and its own. Rejects with an error that says what to do. */
  call(
    server: string,
    tool: string,
    input: { readonly [name: string]: unknown } | undefined,
    options?: CallOptions,
  ): Promise<CallOutput>
  /** Sends any other request to a server, and connects to it first if necessary. */
  request(
    server: string,
    method: string,
    params?: { readonly [name: string]: unknown },
    options?: CallOptions,
  ): Promise<{ readonly [name: string]: unknown }>
  /** Resolves when no server is pending, or after the timeout. */
  settled(options?: { readonly timeoutMs?: number; readonly only?: 'alwaysLoad' }): Promise<void>
  /** Sends a notification to every connected server. */
  notifyServers(method: string): void
  /** Connects to a server now, also to one that failed. Rejects with an error that says why it cannot. */
  connect(server: string): Promise<void>
  /** Ends the connection to a server, and its process. Its tools stay; a call of one connects again. */
  disconnect(server: string): Promise<void>
  /** Lists a server's tools again. Rejects on failure; the last good list stays. */
  refresh(server: string): Promise<void>
  /** From now on, lists prompts, resources and templates too; `status()` returns them. */
  watchLists(): void
  /** Refreshes lists whose time-to-live has expired; resolves when that is done, or after the timeout. */
  refreshStaleLists(options: { readonly timeoutMs: number }): Promise<void>
  /** Calls the listener at each change until the returned function is called. */
  listen(listener: (event: HostEvent) => void): () => void
  /** Closes every connection and stops every server process. */
  close(): Promise<void>
}

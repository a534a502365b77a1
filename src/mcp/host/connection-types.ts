// What the connection to one server does and knows, and what it needs.

import type { AuthProvider } from '@modelcontextprotocol/client'
import type { Fields } from '../../lib/index.ts'
import type { Limiter } from '../../node/index.ts'
import type { DefinitionCache } from '../cache/index.ts'
import type { StdioLimits } from '../session/index.ts'
import type {
  CallOptions,
  CallOutput,
  ListedTool,
  QuestionHandler,
  ServerConfig,
  ServerState,
  ToolProblem,
} from '../types.ts'
import type { KnownLists } from './server-lists.ts'
import type { Times } from './times.ts'

export type Connection = {
  readonly view: () => ConnectionView
  /** The configuration without its secrets. */
  readonly shownConfig: () => ServerConfig
  /** Takes what an earlier run learned of the server, but for its tools. */
  recall(): Promise<unknown>
  /** And its tools. */
  prime(): Promise<void>
  start(): Promise<void>
  call(tool: string, input: Fields | undefined, options: CallOptions): Promise<CallOutput>
  request(method: string, params: Fields | undefined, options: CallOptions): Promise<Fields>
  notify(method: string): Promise<void>
  refresh(): Promise<void>
  /** Lists anew what the server has said is fresh no longer, and other lists that are not known yet. */
  freshen(): Promise<void>
  /** Lists prompts and resources too, from now on. */
  watchLists(): void
  close(): Promise<void>
}

/** What is known of the server now. */
export type ConnectionView = {
  readonly state: ServerState
  readonly reason: string | undefined
  readonly tools: readonly ListedTool[]
  readonly problems: readonly ToolProblem[]
  readonly isCached: boolean
  readonly isRemembered: boolean
  readonly info: { readonly name: string; readonly version: string } | undefined
  readonly protocol: string | undefined
  readonly capabilities: Fields
  readonly instructions: string | undefined
  readonly startMilliseconds: number | undefined
  readonly pid: number | undefined
  readonly stderr: string
} & KnownLists

/** The view of a server before anything is known about it. */
export function emptyView(config: ServerConfig): ConnectionView {
  return {
    state: config.disabled ? 'disabled' : 'pending',
    reason: undefined,
    tools: [],
    problems: [],
    isCached: false,
    isRemembered: false,
    info: undefined,
    protocol: undefined,
    capabilities: {},
    instructions: undefined,
    startMilliseconds: undefined,
    pid: undefined,
    stderr: '',
    prompts: undefined,
    resources: undefined,
    resourceTemplates: undefined,
    hasListed: false,
  }
}

export type ConnectionOptions = {
  readonly config: ServerConfig
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly capabilities: () => Fields
  readonly cache: DefinitionCache | undefined
  readonly limit: Limiter
  readonly authorize: () => Promise<AuthProvider | undefined>
  readonly times: Times
  readonly limits: StdioLimits | undefined
  readonly asker: QuestionHandler | undefined
  readonly onState: () => void
  /** Resolves when the shelf has them. */
  readonly onTools: () => Promise<void>
  /** `client`: whose call it belongs to; undefined outside of calls, and where that is not clear. */
  readonly onNotification: (method: string, params: Fields, client: object | undefined) => void
  /** Told to the person who runs this. */
  readonly notify: (message: string) => void
  /** Prompts, or resources or their templates, are not those that were known. */
  readonly onList: (capability: 'prompts' | 'resources') => void
}

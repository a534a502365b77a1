// Defines the connection to one server: its methods, its view and its options.
import type { AuthProvider } from '@modelcontextprotocol/client'
import type { Fields } from '@toolshelf/core/internal'
import type { Limiter } from '@toolshelf/core/internal/node'
import type { DefinitionCache } from '../cache/definition-cache.ts'
import type { LoginHint } from '../protocol/protocol.ts'
import type { StdioLimits } from '../session/stdio.ts'
import type { ListedTool, QuestionHandler, ServerConfig, ServerState, ToolProblem } from '../types.ts'
import type { KnownLists } from './server-lists.ts'
import type { HostTimeouts } from './timers.ts'

/** What is known about a server now. */
export type ConnectionView = {
  readonly state: ServerState
  readonly reason: string | undefined
  /** What kind of failure it was, in our words: what a model reads. */
  readonly category: string | undefined
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

/** The part of a view that says that nothing has failed. */
export const NO_FAILURE = { reason: undefined, category: undefined } as const

/** Returns the view of a server before anything is known about it. */
export function emptyView(config: ServerConfig): ConnectionView {
  return {
    state: config.disabled ? 'disabled' : 'pending',
    ...NO_FAILURE,
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
  readonly loginHint?: LoginHint | undefined
  readonly times: HostTimeouts
  readonly limits: StdioLimits | undefined
  readonly questionHandler: QuestionHandler | undefined
  readonly onState: () => void
  /** Resolves when the tools are on the shelf. */
  readonly onTools: () => Promise<void>
  /** `client`: the client whose call it belongs to; undefined outside of calls, and if it is ambiguous. */
  readonly onNotification: (method: string, params: Fields, client: object | undefined) => void
  readonly notify: (message: string) => void
  /** Called when prompts, resources or resource templates have changed. */
  readonly onList: (list: 'prompts' | 'resources') => void
}

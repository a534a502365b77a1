// Defines one server of a host: its connection, and which of its tools, prompts and instructions may be used.
import { isForModel } from '../protocol/protocol.ts'
import type { ListedTool, ServerConfig, ServerStatus, ToolProblem } from '../types.ts'
import type { Connection } from './connection.ts'

export type Member = {
  readonly config: ServerConfig
  readonly connection: Connection
  hidden: ReadonlySet<string>
  held: ReadonlySet<string>
  /** Tools that only pages may call. */
  pageTools: readonly ListedTool[]
  /** Whether some of its listed tools are left out because of a limit. */
  isLimited: boolean
  /** Whether the operator was already notified that tools cannot be used. */
  isDropping: boolean
  publishing: Promise<void>
  /** Calls and other requests in flight. */
  readonly calls: Set<Promise<unknown>>
  /** The instructions in use, which may be older than the server's current ones. */
  instructions: string | undefined
  /** Its prompts except those held back. */
  prompts: readonly unknown[] | undefined
  /** How many lists of prompts are being compared with those first seen. */
  comparing: number
  /** Whether the operator was already notified that its instructions were cleaned. */
  hiddenInstructions: ToolProblem | undefined
}

/** Creates the member of a server that has listed nothing yet. */
export function newMember(config: ServerConfig, connection: Connection): Member {
  return {
    config,
    connection,
    hidden: new Set(),
    held: new Set(),
    pageTools: [],
    isLimited: false,
    isDropping: false,
    publishing: Promise.resolve(),
    calls: new Set(),
    instructions: undefined,
    prompts: undefined,
    comparing: 0,
    hiddenInstructions: undefined,
  }
}

export function describeMember(
  {
    config,
    connection,
    hidden,
    held,
    pageTools,
    instructions,
    hiddenInstructions,
    prompts,
    comparing,
  }: Member,
  limits: readonly ToolProblem[],
): ServerStatus {
  const view = connection.view()
  return {
    name: config.name,
    config: connection.shownConfig(),
    ...view,
    instructions,
    prompts: view.prompts?.length === 0 ? view.prompts : prompts,
    hasListed: view.hasListed && comparing === 0,
    problems: [...(hiddenInstructions ? [hiddenInstructions] : []), ...view.problems, ...limits],
    tools: toolsForModel(view.tools, hidden),
    pageTools,
    hidden: [...hidden],
    held: [...held],
  }
}

const shownTools = new WeakMap<
  readonly ListedTool[],
  { readonly hidden: ReadonlySet<string>; readonly tools: readonly ListedTool[] }
>()

/** Returns the same list for the same tools, so that a status costs nothing while they do not change. */
function toolsForModel(listed: readonly ListedTool[], hidden: ReadonlySet<string>): readonly ListedTool[] {
  const known = shownTools.get(listed)
  if (known?.hidden === hidden) return known.tools
  const tools = listed.filter((tool) => !hidden.has(tool.name) && isForModel(tool))
  shownTools.set(listed, { hidden, tools })
  return tools
}

export function whyUnavailable({ config, hidden }: Member, tool: string, acceptHint: string): string {
  if (hidden.has(tool)) return `"${tool}" of "${config.name}" is not allowed by ${config.source}`
  return describeHeldBack(`"${tool}" of "${config.name}"`, acceptHint)
}

/** Returns the message about something that is held back. */
export function describeHeldBack(subject: string, acceptHint: string): string {
  return `${subject} is held back: it changed since it was first seen. ${acceptHint}`
}

/** Sorts members with always-loaded tools first. */
export function alwaysLoadedFirst(a: Member, b: Member): number {
  return Number(hasAlwaysLoadedTools(b)) - Number(hasAlwaysLoadedTools(a))
}

export function hasAlwaysLoadedTools({ config: { alwaysLoad, tools } }: Member): boolean {
  return alwaysLoad === true || Object.values(tools).some((tool) => tool.alwaysLoad === true)
}

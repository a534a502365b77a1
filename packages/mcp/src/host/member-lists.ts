// Publishes what a server lists: its tools to the shelf, its prompts and instructions to clients. May hold back
// what changed since it was first seen.
import { isDeepStrictEqual } from 'node:util'
import type { ServerDetails } from '@toolshelf/core'
import { quote, unsafeKinds } from '@toolshelf/core/internal'
import { isAllowed } from '../config/rules.ts'
import { isForModel } from '../protocol/protocol.ts'
import type { ListedTool, ServerConfig, ServerState, ServerStatus, ToolProblem } from '../types.ts'
import { ChangeGuard, type ChangeGuardOptions } from './change-guard.ts'
import type { Connection } from './connection.ts'
import { hiddenText } from './definitions.ts'
import type { McpHostOptions } from './host.ts'
import { alwaysLoadLimits, createPublisher, type Publisher } from './publisher.ts'

type MemberListsOptions = Pick<McpHostOptions, 'shelf' | 'pins' | 'onChange' | 'alwaysLoad'> &
  Pick<ChangeGuardOptions, 'notify' | 'acceptHint' | 'emit' | 'later'> & {
    /** Returns the member of this name that is configured now. */
    readonly find: (server: string) => Member | undefined
  }

const CORE_STATE: { readonly [state in ServerState]: ServerDetails['state'] } = {
  idle: 'connected',
  pending: 'pending',
  connected: 'connected',
  failed: 'failed',
  disabled: 'disabled',
}

/** The lists of all servers of a host. */
export class MemberLists {
  readonly guard: ChangeGuard
  readonly #publisher: Publisher
  readonly #options: MemberListsOptions
  readonly #onChange: 'report' | 'hold'

  constructor(servers: readonly ServerConfig[], options: MemberListsOptions) {
    const { shelf, onChange = 'report', notify, find } = options
    this.#options = options
    this.#onChange = onChange
    this.#publisher = createPublisher(servers, {
      shelf,
      limits: { ...alwaysLoadLimits, ...options.alwaysLoad },
      notify,
      onTools: (server) => {
        const member = find(server)
        if (member) this.#reportTools(member)
      },
    })
    this.guard = new ChangeGuard({
      ...options,
      onChange,
      recheck: (server) => {
        const member = find(server)
        if (member) void this.publish(member).then(() => this.showPrompts(member))
      },
    })
  }

  status(member: Member): ServerStatus {
    const changes = this.guard.changes(member.config.name)
    return { ...describeMember(member, this.#publisher.problems(member.config.name)), changes }
  }

  /** Sets the configured servers and their order on the shelf. */
  arrange(servers: readonly ServerConfig[]): Promise<void> {
    return this.#publisher.arrange(servers)
  }

  /** Publishes lists of tools one after the other, so that the latest wins. */
  publish(member: Member): Promise<void> {
    const listed = member.connection.view().tools
    member.publishing = member.publishing
      .then(() => this.#publishNow(member, listed))
      .catch((error: Error) =>
        this.#options.notify(`server "${member.config.name}": its tools could not be used: ${error.message}`),
      )
    return member.publishing
  }

  /** Shows the prompts that are not held back, after comparing them. */
  async showPrompts(member: Member): Promise<void> {
    if (!this.#isHere(member)) return
    const { name } = member.config
    member.comparing++
    const listed = member.connection.view().prompts
    const prompts = listed && (await this.guard.prompts(name, listed))
    member.comparing--
    if (member.connection.view().prompts !== listed) return
    this.showServer(member)
    const isSame = isDeepStrictEqual(prompts ?? [], member.prompts ?? [])
    member.prompts = prompts
    if (!isSame) this.#options.emit({ type: 'prompts', server: name })
  }

  /** Sets the state and the instructions of a server on the shelf. */
  showServer(member: Member): void {
    if (!this.#isHere(member)) return
    const { config, connection, instructions } = member
    const { state, category } = connection.view()
    const kinds = instructions === undefined || member.hiddenInstructions ? [] : unsafeKinds(instructions)
    if (kinds.length > 0) {
      member.hiddenInstructions = { tool: '', ...hiddenText('instructions', kinds) }
      this.#options.notify(
        `server "${config.name}": its instructions contained hidden characters or marks of Toolshelf, which were removed.`,
      )
    }
    this.#options.shelf.setServer(config.name, {
      state: CORE_STATE[state],
      error: category,
      alwaysLoad: config.alwaysLoad,
      instructions,
      changes: this.guard.changes(config.name),
      description: config.description,
      ...(config.resultBudget === undefined ? {} : { resultBudget: config.resultBudget }),
    })
  }

  /** Shows cached texts, which were compared when they arrived; with `hold`, some may have been accepted since. */
  async readCache(member: Member): Promise<void> {
    await member.connection.readCache()
    const { instructions, prompts, isRemembered } = member.connection.view()
    const { name } = member.config
    const isHolding = this.#onChange === 'hold' && isRemembered
    member.instructions = isHolding ? await this.guard.instructions(name, instructions) : instructions
    member.prompts = isHolding && prompts ? await this.guard.prompts(name, prompts) : prompts
  }

  #isHere(member: Member): boolean {
    return this.#options.find(member.config.name) === member
  }

  async #publishNow(member: Member, listed: readonly ListedTool[]): Promise<void> {
    const { config } = member
    const { isCached, instructions } = member.connection.view()
    // Cached definitions were compared when they arrived; if nothing is held back, they need not be compared again at
    // the start.
    const isKnown = isCached && this.#onChange === 'report'
    const held = isKnown ? new Set<string>() : await this.guard.tools(config.name, listed)
    member.instructions = isKnown ? instructions : await this.guard.instructions(config.name, instructions)
    this.showServer(member)
    this.#reportLimits(member)
    member.hidden = new Set(listed.flatMap(({ name }) => (isAllowed(name, config) ? [] : [name])))
    member.held = held
    const shown = listed.filter(({ name }) => !member.hidden.has(name) && !held.has(name))
    await this.#publisher.publish(config, shown.filter(isForModel))
    const pageTools = shown.filter((tool) => !isForModel(tool))
    if (isDeepStrictEqual(pageTools, member.pageTools)) return
    member.pageTools = pageTools
    this.#reportTools(member)
  }

  /** Reports once that a list is too long, and that tools cannot be used. */
  #reportLimits(member: Member): void {
    const { problems } = member.connection.view()
    const subject = `server "${member.config.name}"`
    const limit = problems.find(({ kind }) => kind === 'limited')
    if (limit && !member.isLimited) this.#options.notify(`${subject}: ${limit.message}`)
    member.isLimited = limit !== undefined
    const dropped = problems.filter(({ kind }) => kind === 'dropped')
    const [first] = dropped
    if (first && !member.isDropping)
      this.#options.notify(
        `${subject}: ${dropped.length} of its tools cannot be used, first ${quote(first.tool)}: ${first.message}`,
      )
    member.isDropping = first !== undefined
  }

  #reportTools(member: Member): void {
    this.#options.emit({ type: 'tools', server: member.config.name, status: this.status(member) })
  }
}

export class Member {
  readonly config: ServerConfig
  readonly connection: Connection
  hidden: ReadonlySet<string> = new Set()
  held: ReadonlySet<string> = new Set()
  /** Tools that only pages may call. */
  pageTools: readonly ListedTool[] = []
  /** Whether some of its listed tools are left out because of a limit. */
  isLimited = false
  /** Whether the operator was already notified that tools cannot be used. */
  isDropping = false
  publishing = Promise.resolve()
  /** Calls and other requests in flight. */
  readonly calls = new Set<Promise<unknown>>()
  /** The instructions in use, which may be older than the server's current ones. */
  instructions: string | undefined
  /** Its prompts except those held back. */
  prompts: readonly unknown[] | undefined
  /** How many lists of prompts are being compared with those first seen. */
  comparing = 0
  /** Whether the operator was already notified that its instructions were cleaned. */
  hiddenInstructions: ToolProblem | undefined

  constructor(config: ServerConfig, connection: Connection) {
    this.config = config
    this.connection = connection
  }
}

function describeMember(member: Member, limits: readonly ToolProblem[]): ServerStatus {
  const { config, connection, hidden, held, pageTools, instructions, hiddenInstructions } = member
  const view = connection.view()
  return {
    name: config.name,
    config: connection.shownConfig(),
    ...view,
    instructions,
    prompts: view.prompts?.length === 0 ? view.prompts : member.prompts,
    hasListed: view.hasListed && member.comparing === 0,
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

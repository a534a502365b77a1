// Compares definitions with those first seen, reports changes, and holds changed ones back if configured.
import type { DefinitionChange, Verdict } from '../pins/index.ts'
import type { HostEvent, ListedTool } from '../types.ts'

/** Options of `createChangeGuard`. */
export type ChangeGuardOptions = {
  /** Remembers definitions; without it, no change is detected. */
  readonly pins: PinChecker | undefined
  readonly onChange: 'report' | 'hold'
  readonly notify: (message: string) => void
  /** Returns the sentence that says how to accept a server's changes. */
  readonly acceptHint: (server: string) => string
  readonly emit: (event: HostEvent) => void
  /** Runs a task later, unless the host is closed first. */
  readonly later: (task: () => void) => void
  /** Called for a server with something held back, which may have been accepted meanwhile. */
  readonly recheck: (server: string) => void
  /** Called when prompts that were held back can be used again. */
  readonly onPrompts: (server: string) => void
}

/** Remembers the first version of a definition and reports later differences. */
export type PinChecker = {
  judge(
    server: string,
    listed: readonly ListedTool[],
    kind?: DefinitionChange['kind'],
  ): Promise<Pick<Verdict, 'changed'>>
}

/** Compares the definitions of servers with those first seen. */
export type ChangeGuard = {
  /** Returns the names of the tools to hold back. */
  tools(server: string, listed: readonly ListedTool[]): Promise<ReadonlySet<string>>
  /** Returns the instructions to use: with `hold`, the accepted ones. */
  instructions(server: string, text: string | undefined): Promise<string | undefined>
  /** Filters one page of a list to the prompts that may be shown. */
  prompts(server: string, page: readonly unknown[]): Promise<readonly unknown[]>
  isPromptHeld(server: string, name: unknown): boolean
}

type Held = {
  tools: ReadonlySet<string>
  isInstructed: boolean
  readonly prompts: Map<string, ListedTool>
}

/** Most entries that a list can have. */
const MAX_HELD = 50_000
const MAX_NAMED = 5

/** Creates the guard of a host. */
export function createChangeGuard(options: ChangeGuardOptions): ChangeGuard {
  return new Guard(options)
}

class Guard implements ChangeGuard {
  readonly #options: ChangeGuardOptions
  readonly #isHolding: boolean
  readonly #held = new Map<string, Held>()
  readonly #reported = new Map<string, string>()
  #isWaiting = false

  constructor(options: ChangeGuardOptions) {
    this.#options = options
    this.#isHolding = options.onChange === 'hold'
  }

  async tools(server: string, listed: readonly ListedTool[]): Promise<ReadonlySet<string>> {
    const changed = await this.#changesOf(server, listed, 'tool')
    const held = this.#heldBy(server)
    held.tools = new Set(this.#isHolding ? changed.map(({ name }) => name) : [])
    this.#watch()
    return held.tools
  }

  async instructions(server: string, text: string | undefined): Promise<string | undefined> {
    const item = { name: 'instructions', description: text ?? '' }
    const [change] = text === undefined ? [] : await this.#changesOf(server, [item], 'instructions')
    const held = this.#heldBy(server)
    held.isInstructed = this.#isHolding && change !== undefined
    this.#watch()
    if (!held.isInstructed) return text
    return change?.isWhole ? change.before.description : undefined
  }

  async prompts(server: string, page: readonly unknown[]): Promise<readonly unknown[]> {
    const items = page.flatMap((one) => asItem(one) ?? [])
    const changed = new Set((await this.#changesOf(server, items, 'prompt')).map(({ name }) => name))
    if (!this.#isHolding) return page
    const held = this.#heldBy(server).prompts
    for (const item of items) {
      if (!changed.has(item.name)) held.delete(item.name)
      else if (held.size < MAX_HELD) held.set(item.name, item)
    }
    this.#watch()
    return page.filter((one) => !changed.has(asItem(one)?.name ?? ''))
  }

  isPromptHeld(server: string, name: unknown): boolean {
    return this.#held.get(server)?.prompts.has(String(name)) ?? false
  }

  #heldBy(server: string): Held {
    const known = this.#held.get(server) ?? newHeld()
    this.#held.set(server, known)
    return known
  }

  async #changesOf(
    server: string,
    listed: readonly ListedTool[],
    kind: DefinitionChange['kind'],
  ): Promise<readonly DefinitionChange[]> {
    const { pins, notify } = this.#options
    if (!pins || listed.length === 0) return []
    try {
      const { changed } = await pins.judge(server, listed, kind)
      this.#report(server, kind, changed)
      return changed
    } catch (error) {
      notify(
        `server "${server}": could not compare its definitions with their pins: ${(error as Error).message}`,
      )
      return []
    }
  }

  /** Reports each change once. */
  #report(server: string, kind: DefinitionChange['kind'], changed: readonly DefinitionChange[]): void {
    const names = changed.map(({ name }) => name)
    const key = `${server}\n${kind}`
    const before = this.#reported.get(key)
    this.#reported.set(key, names.join('\n'))
    if ((before ?? '') === names.join('\n')) return
    this.#options.emit({ type: 'pins', server, kind, names, isHeld: this.#isHolding && names.length > 0 })
    if (names.length === 0) return
    const what =
      kind === 'instructions'
        ? 'its instructions'
        : `${names.length} ${KIND_NAMES[kind]} (${names.slice(0, MAX_NAMED).join(', ')})`
    const outcome = this.#isHolding ? 'held back until accepted' : 'used as they are now'
    this.#options.notify(
      `server "${server}": ${what} changed since first seen, ${outcome}. ${this.#options.acceptHint(server)}`,
    )
  }

  /** Checks periodically while something is held back: the user may have accepted it. */
  #watch(): void {
    const isHeld = (held: Held) => held.tools.size > 0 || held.isInstructed || held.prompts.size > 0
    if (this.#isWaiting || ![...this.#held.values()].some(isHeld)) return
    this.#isWaiting = true
    this.#options.later(() => {
      this.#isWaiting = false
      for (const [server, held] of this.#held) {
        if (held.tools.size > 0 || held.isInstructed) this.#options.recheck(server)
        if (held.prompts.size > 0) void this.#recheckPrompts(server, held.prompts)
      }
      this.#watch()
    })
  }

  async #recheckPrompts(server: string, held: Map<string, ListedTool>): Promise<void> {
    const changes = await this.#changesOf(server, [...held.values()], 'prompt')
    const names = new Set(changes.map(({ name }) => name))
    const released = [...held.keys()].filter((name) => !names.has(name))
    for (const name of released) held.delete(name)
    if (released.length > 0) this.#options.onPrompts(server)
  }
}

const KIND_NAMES = { tool: 'definition(s)', prompt: 'prompt(s)' } as const

function newHeld(): Held {
  return { tools: new Set(), isInstructed: false, prompts: new Map() }
}

/**
 * Converts a prompt to the shape of a tool, so that both are compared in the same way; its arguments become the input
 * schema.
 */
function asItem(prompt: unknown): ListedTool | undefined {
  const {
    name,
    title,
    description,
    arguments: input,
  } = (prompt ?? {}) as { readonly [field: string]: unknown }
  if (typeof name !== 'string') return undefined
  return {
    name,
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof description === 'string' ? { description } : {}),
    inputSchema: input,
  }
}

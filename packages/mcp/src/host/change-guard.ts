// Compares what servers list with what was accepted, says what changed, and holds it back if configured.
import type { DefinitionChange, Pins } from '../pins/pins.ts'
import type { HostEvent, ListedTool } from '../types.ts'

/** Remembers what was accepted. */
export type PinChecker = Pick<Pins, 'judge'>

export type ChangeGuardOptions = {
  /** Without it, no change is noticed. */
  readonly pins?: PinChecker | undefined
  readonly onChange: 'report' | 'hold'
  readonly notify: (message: string) => void
  /** Returns the sentence that says how to accept a server's changes. */
  readonly acceptHint: (server: string) => string
  readonly emit: (event: HostEvent) => void
  /** Runs a task later, unless the host is closed first. */
  readonly later: (task: () => void) => void
  /** Shows a server again of which something is held back, which may have been accepted meanwhile. */
  readonly recheck: (server: string) => void
}

type Kind = DefinitionChange['kind']
const KIND_NAMES = { tool: 'definition(s)', prompt: 'prompt(s)' } as const
const MAX_NAMED = 5

/** What changed at each server, by kind. */
export class ChangeGuard {
  readonly #options: ChangeGuardOptions
  readonly #isHolding: boolean
  readonly #changed = new Map<string, Map<Kind, ReadonlySet<string>>>()
  #isWaiting = false

  constructor(options: ChangeGuardOptions) {
    this.#options = options
    this.#isHolding = options.onChange === 'hold'
  }

  /** Returns how many definitions of a server changed, for its model; undefined if none did. */
  changes(server: string): { readonly count: number; readonly isHeld: boolean } | undefined {
    const count = [...(this.#changed.get(server)?.values() ?? [])].reduce((sum, { size }) => sum + size, 0)
    return count > 0 ? { count, isHeld: this.#isHolding } : undefined
  }

  isHeld(server: string, kind: Kind, name: unknown): boolean {
    return this.#isHolding && (this.#changed.get(server)?.get(kind)?.has(String(name)) ?? false)
  }

  /** Returns the names of the tools to hold back. */
  async tools(server: string, listed: readonly ListedTool[]): Promise<ReadonlySet<string>> {
    const changed = await this.#compare(server, listed, 'tool')
    return new Set(this.#isHolding ? changed.map(({ name }) => name) : [])
  }

  /** Returns the instructions to use: with `hold`, the accepted ones. None are a text too, which a later one changes. */
  async instructions(server: string, text: string | undefined): Promise<string | undefined> {
    const item = { name: 'instructions', description: text ?? '' }
    const [change] = await this.#compare(server, [item], 'instructions')
    return (this.#isHolding && change ? change.before.description : text) || undefined
  }

  /** Returns the prompts that may be shown. @param isWhole - Whether these are all; new ones on a page are not judged. */
  async prompts(server: string, listed: readonly unknown[], isWhole = true): Promise<readonly unknown[]> {
    const items = listed.flatMap((one) => asItem(one) ?? [])
    await this.#compare(server, items, 'prompt', isWhole)
    return listed.filter((one) => !this.isHeld(server, 'prompt', asItem(one)?.name))
  }

  async #compare(server: string, listed: readonly ListedTool[], kind: Kind, isWhole = true) {
    const { pins, notify } = this.#options
    if (!pins) return []
    try {
      const onNew = !isWhole ? 'skip' : this.#isHolding ? 'hold' : 'accept'
      const changes = await pins.judge(server, listed, kind, onNew)
      if (isWhole) this.#report(server, kind, changes)
      return changes
    } catch (error) {
      notify(
        `server "${server}": could not compare its definitions with their pins: ${(error as Error).message}`,
      )
      return []
    }
  }

  /** Reports each change once, and looks again while something is held back. */
  #report(server: string, kind: Kind, changes: readonly DefinitionChange[]): void {
    const { emit, notify, acceptHint } = this.#options
    const kinds = this.#changed.get(server) ?? new Map<Kind, ReadonlySet<string>>()
    const names = changes.map(({ name }) => name)
    const before = [...(kinds.get(kind) ?? [])].join('\n')
    this.#changed.set(server, kinds.set(kind, new Set(names)))
    this.#watch()
    if (before === names.join('\n')) return
    emit({ type: 'pins', server, kind, names, isHeld: this.#isHolding && names.length > 0 })
    if (names.length === 0) return
    const list = names.slice(0, MAX_NAMED).join(', ')
    const what =
      kind === 'instructions' ? 'its instructions' : `${names.length} ${KIND_NAMES[kind]} (${list})`
    const outcome = this.#isHolding ? 'held back until accepted' : 'used as they are now'
    notify(`server "${server}": ${what} changed since first seen, ${outcome}. ${acceptHint(server)}`)
  }

  #watch(): void {
    const held = [...this.#changed.keys()].filter((server) => this.changes(server)?.isHeld)
    if (this.#isWaiting || held.length === 0) return
    this.#isWaiting = true
    this.#options.later(() => {
      this.#isWaiting = false
      for (const server of held) this.#options.recheck(server)
      this.#watch()
    })
  }
}

/** Converts a prompt to the shape of a tool, so that both are compared in the same way; its arguments become the schema. */
function asItem(prompt: unknown): ListedTool | undefined {
  const {
    name,
    title,
    description,
    arguments: inputSchema,
  } = (prompt ?? {}) as { readonly [field: string]: unknown }
  const texts = Object.entries({ title, description }).filter(([, text]) => typeof text === 'string')
  return typeof name === 'string' ? { name, ...Object.fromEntries(texts), inputSchema } : undefined
}

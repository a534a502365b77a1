// Compares definitions with those first seen, reports changes, and holds changed ones back if configured.
import type { DefinitionChange, Verdict } from '../pins/index.ts'
import type { ListedTool } from '../types.ts'

export type ChangeGuardOptions = {
  /** If undefined, nothing is remembered. */
  readonly pins: Judge | undefined
  readonly onChange: 'report' | 'hold'
  readonly notify: (message: string) => void
  /** Runs a task later, unless the host is closed first. */
  readonly later: (task: () => void) => void
  /** Called for a server with something held back, which may have been accepted meanwhile. */
  readonly recheck: (server: string) => void
  /** Called when prompts that were held back can be used again. */
  readonly onPrompts: (server: string) => void
}

/** Remembers the first version of a definition and reports later differences. */
export type Judge = {
  judge(
    server: string,
    listed: readonly ListedTool[],
    kind?: DefinitionChange['kind'],
  ): Promise<Pick<Verdict, 'changed'>>
}

export type ChangeGuard = {
  /** Own names of the tools to hold back. */
  tools(server: string, listed: readonly ListedTool[]): Promise<ReadonlySet<string>>
  /** Returns the instructions to use: with `hold`, the accepted ones. */
  instructions(server: string, text: string | undefined): Promise<string | undefined>
  /** Filters one page of a list to the prompts that may be shown. */
  prompts(server: string, page: readonly unknown[]): Promise<readonly unknown[]>
  isPromptHeld(server: string, name: unknown): boolean
  /** What is held back besides tools, for display. */
  held(server: string): readonly string[]
}

type Held = {
  tools: ReadonlySet<string>
  isInstructed: boolean
  readonly prompts: Map<string, ListedTool>
}

/** The most prompts that a list can have. */
const MOST_HELD_PROMPTS = 50_000
const MOST_NAMED = 5

export function createChangeGuard(options: ChangeGuardOptions): ChangeGuard {
  const { pins, onChange, notify, later, recheck, onPrompts } = options
  const isHolding = onChange === 'hold'
  const all = new Map<string, Held>()
  const reported = new Map<string, string>()
  let isWaiting = false

  function heldBy(server: string): Held {
    const known = all.get(server) ?? { tools: new Set(), isInstructed: false, prompts: new Map() }
    all.set(server, known)
    return known
  }

  async function changesOf(
    server: string,
    listed: readonly ListedTool[],
    kind: DefinitionChange['kind'],
  ): Promise<readonly DefinitionChange[]> {
    if (!pins || listed.length === 0) return []
    try {
      const { changed } = await pins.judge(server, listed, kind)
      report(server, kind, changed)
      return changed
    } catch (error) {
      notify(
        `server "${server}": could not compare its definitions with their pins: ${(error as Error).message}`,
      )
      return []
    }
  }

  /** Reports each change once. */
  function report(
    server: string,
    kind: DefinitionChange['kind'],
    changed: readonly DefinitionChange[],
  ): void {
    const names = changed.map(({ name }) => name)
    const key = `${server}\n${kind}`
    const before = reported.get(key)
    reported.set(key, names.join('\n'))
    if (names.length === 0 || before === names.join('\n')) return
    const what =
      kind === 'instructions'
        ? 'its instructions'
        : `${names.length} ${kind === 'tool' ? 'definition(s)' : 'prompt(s)'} (${names.slice(0, MOST_NAMED).join(', ')})`
    const outcome = isHolding ? 'held back until accepted' : 'used as they are now'
    notify(
      `server "${server}": ${what} changed since first seen, ${outcome}; see "toolshelf pins show ${server}"`,
    )
  }

  /** Checks periodically while something is held back: the user may have accepted it. */
  function watch(): void {
    const isHeld = (held: Held) => held.tools.size > 0 || held.isInstructed || held.prompts.size > 0
    if (isWaiting || ![...all.values()].some(isHeld)) return
    isWaiting = true
    later(() => {
      isWaiting = false
      for (const [server, held] of all) {
        if (held.tools.size > 0 || held.isInstructed) recheck(server)
        if (held.prompts.size > 0) void recheckPrompts(server, held)
      }
      watch()
    })
  }

  async function recheckPrompts(server: string, held: Held): Promise<void> {
    const names = new Set(
      (await changesOf(server, [...held.prompts.values()], 'prompt')).map(({ name }) => name),
    )
    const released = [...held.prompts.keys()].filter((name) => !names.has(name))
    for (const name of released) held.prompts.delete(name)
    if (released.length > 0) onPrompts(server)
  }

  return {
    async tools(server, listed) {
      const changed = await changesOf(server, listed, 'tool')
      const held = heldBy(server)
      held.tools = new Set(isHolding ? changed.map(({ name }) => name) : [])
      watch()
      return held.tools
    },
    async instructions(server, text) {
      const item = { name: 'instructions', description: text ?? '' }
      const [change] = text === undefined ? [] : await changesOf(server, [item], 'instructions')
      const held = heldBy(server)
      held.isInstructed = isHolding && change !== undefined
      watch()
      if (!held.isInstructed) return text
      return change?.isWhole ? change.before.description : undefined
    },
    async prompts(server, page) {
      const items = page.flatMap((one) => asItem(one) ?? [])
      const changed = new Set((await changesOf(server, items, 'prompt')).map(({ name }) => name))
      if (!isHolding) return page
      const held = heldBy(server)
      for (const item of items) {
        if (!changed.has(item.name)) held.prompts.delete(item.name)
        else if (held.prompts.size < MOST_HELD_PROMPTS) held.prompts.set(item.name, item)
      }
      watch()
      return page.filter((one) => !changed.has(asItem(one)?.name ?? ''))
    },
    isPromptHeld: (server, name) => all.get(server)?.prompts.has(String(name)) ?? false,
    held(server) {
      const held = all.get(server)
      return [...(held?.isInstructed ? ['instructions'] : []), ...(held?.prompts.keys() ?? [])]
    },
  }
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

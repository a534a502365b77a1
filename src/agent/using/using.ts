// Helps models use deferred tools: reminders, preloading of named tools, and learned tools. Each can be switched off.
import { join } from 'node:path'
import { reminder } from '../../core/history/index.ts'
import type { PoolTool, Rank, Shelf } from '../../core/index.ts'
import { splitName } from '../../lib/index.ts'
import { learnedTools } from './learned-tools.ts'
import { relevantTools } from './relevant-tools.ts'
import { sessionUse } from './session-use.ts'
import type { LearnedTool, ServerLike, ToolUsage, ToolUseHelp, ToolUseHelpOptions } from './types.ts'
import { usageFile } from './usage-file.ts'

/** Options of `createToolUseHelp`. */
export type ToolUseHelpParts = {
  readonly shelf: Shelf
  readonly options: ToolUseHelpOptions
  /** Where `usage.json` is kept. */
  readonly folder: string
  readonly notify: (message: string) => void
  /** Must score on the scale of `hybrid`, the default. */
  readonly rank?: Rank
}

/** Characters of a message in which names are looked for; what follows is mostly pasted text. */
const MAX_TEXT_LENGTH = 20_000
const MAX_PRELOADED = 10

/**
 * Helps the model use deferred tools: reminders, preloading of tools that a message names, and tools kept loaded because most sessions use them.
 *
 * @example
 * const options = { describe: 0, remind: 3, preload: true, learn: true }
 * const help = createToolUseHelp({ shelf, options, folder: '.toolshelf', notify: console.warn })
 * const agent = createAgent({ client, model, shelf, enrich: help.remind, preload: help.preload })
 */
export function createToolUseHelp({
  shelf,
  options: initial,
  folder,
  notify,
  rank,
}: ToolUseHelpParts): ToolUseHelp {
  const file = usageFile(join(folder, 'usage.json'), notify)
  let options = initial
  let reminded: readonly string[] = []
  let usage: ToolUsage = options.learn ? file.read() : { sessions: [], forgotten: [] }
  let isClosed = false
  /** Forgotten tools leave the list at once; no tool is added during a session. */
  let learned = learnedTools(usage)
  const change = (next: (usage: ToolUsage) => ToolUsage) => {
    if (!options.learn) return
    file.change((saved) => {
      usage = next(saved)
      return usage
    })
    learned = learned.filter(({ tool }) => !usage.forgotten.includes(tool))
  }
  return {
    options: () => options,
    switch(changed) {
      options = { ...options, ...changed }
    },
    reminded: () => reminded,
    async remind(text) {
      reminded = []
      try {
        if (options.remind < 1) return []
        const spared = new Set(options.preload ? named(shelf, text) : [])
        const limit = options.remind + loadedNames(shelf).size + spared.size
        const fits = await relevantTools(shelf.partition().deferred, text, limit, rank)
        const found = waiting(shelf, fits).filter((tool) => !spared.has(tool))
        reminded = found.slice(0, options.remind).map(({ name }) => name)
        if (reminded.length === 0) return []
        return [
          reminder(
            `These deferred tools may fit this: ${reminded.join(', ')}. Load them with ${shelf.searchTool}.`,
          ),
        ]
      } catch (error) {
        notify(`could not remind the model of deferred tools: ${(error as Error).message}`)
        return []
      }
    },
    preload: (text) => (options.preload ? waiting(shelf, named(shelf, text)).map(({ name }) => name) : []),
    withLearnedTools: (servers) => servers.map((server) => withLearnedTools(server, learned)),
    learnedTools: () => learned,
    forget: (tool) =>
      change((saved) => ({ ...saved, forgotten: [...removeName(saved.forgotten, tool), tool] })),
    remember: (tool) => change((saved) => ({ ...saved, forgotten: removeName(saved.forgotten, tool) })),
    close(messages) {
      if (isClosed || !options.learn) return
      isClosed = true
      const isLearned = (name: string) => learned.some(({ tool }) => tool === name)
      const session = sessionUse(messages, shelf, isLearned, usage.sessions.at(-1)?.searchTokens)
      if (session) change((saved) => ({ ...saved, sessions: [...saved.sessions, session] }))
    },
  }
}

function removeName(names: readonly string[], name: string): string[] {
  return names.filter((one) => one !== name)
}

/** Returns the tools that are not loaded yet; none if tool search is off, because then all are loaded. */
function waiting(shelf: Shelf, tools: readonly PoolTool[]): PoolTool[] {
  if (shelf.state().search === 'off') return []
  const loaded = loadedNames(shelf)
  return tools.filter(({ name }) => !loaded.has(name))
}

function loadedNames(shelf: Shelf): Set<string> {
  return new Set(shelf.state().kept.map(({ definition }) => definition.name))
}

/** Finds deferred tools by full name, or by an own name of at least two parts that only one tool has. */
function named(shelf: Shelf, text: string): PoolTool[] {
  const { deferred } = shelf.partition()
  const words = text.slice(0, MAX_TEXT_LENGTH).match(/[\p{L}\p{N}_][\p{L}\p{N}_./-]*/gu) ?? []
  const said = new Set(words.flatMap((word) => [word, word.replace(/[./-]+$/, '')]))
  const isOnly = ({ original }: PoolTool) => deferred.filter((one) => one.original === original).length === 1
  const isNamed = (entry: PoolTool) =>
    said.has(entry.name) ||
    (said.has(entry.original) && splitName(entry.original).length >= 2 && isOnly(entry))
  return deferred.filter(isNamed).slice(0, MAX_PRELOADED)
}

function withLearnedTools<Server extends ServerLike>(
  server: Server,
  learned: readonly LearnedTool[],
): Server {
  const own = learned.filter(({ server: name }) => name === server.name)
  const marked = own.map(({ original }) => {
    const configured = server.tools[original]
    return [original, { ...configured, alwaysLoad: configured?.alwaysLoad ?? true }]
  })
  return { ...server, tools: { ...server.tools, ...Object.fromEntries(marked) } }
}

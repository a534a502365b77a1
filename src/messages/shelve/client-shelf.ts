// The shelf of a client's tools: made once per list of tools, and shared by all requests that bring the same list.
import { createHash } from 'node:crypto'
import { reachesShare } from '../../core/gate/index.ts'
import type { Timer } from '../../core/index.ts'
import {
  capabilities,
  capabilityOf,
  codingHost,
  createShelf,
  type Rank,
  SEARCH_TOOL,
  type Shelf,
  ShelfError,
  type ShelfOptions,
  type Tool,
} from '../../core/index.ts'
import { nameOf } from '../../core/oracle/index.ts'
import { type Fields, fieldsOf, matchesAny, oncePerFrozen, without } from '../../lib/index.ts'
import { createRecent } from '../recent.ts'
import { rest, type Slice } from '../scheduler.ts'
import { type CodedNames, codeNames } from './carry.ts'

export type ShelveOptions = {
  readonly rank: Rank
  /** Patterns of tools that are always sent; `*` stands for anything. */
  readonly keep: readonly string[]
  readonly timer: (milliseconds: number) => Timer
  readonly notify: (message: string) => void
  /** Tokens of the models' window, for the share that tools take of it; by the model if left out. */
  readonly contextWindow: number | undefined
}

/** A client's tools on the shelf; every request works on a fork of it. */
export type ClientShelf = {
  readonly shelf: Shelf
  /** Tools that the API itself defines: they are sent as they are. */
  readonly own: readonly Fields[]
  readonly deferred: ReadonlySet<string>
  /** Deferred names by their codes in the ids of calls. */
  readonly names: CodedNames
  /** Whether the deferred definitions take so many per cent of the model's window. */
  readonly reachesShare: (model: string, percent: number) => boolean
}

export type ClientShelves = {
  /** The shelf of these tools, or why they cannot be shelved. */
  readonly shelfFor: (tools: readonly Fields[], slice?: Slice) => Promise<ClientShelf | string>
}

const MOST_SHELVES = 32

export function createClientShelves(options: ShelveOptions): ClientShelves {
  /** Lists that the server read are frozen, and the same object whenever they have the same bytes. */
  const byList = new WeakMap<readonly Fields[], Promise<ClientShelf | string>>()
  const byJson = createRecent<Promise<ClientShelf | string>>(MOST_SHELVES)
  const byContent = (tools: readonly Fields[], slice: Slice | undefined) => {
    const key = createHash('sha256').update(JSON.stringify(tools)).digest('base64')
    const shelf = byJson.get(key) ?? openShelf(tools, options, slice)
    byJson.set(key, shelf)
    return shelf
  }
  return {
    shelfFor(tools, slice) {
      let shelf = byList.get(tools)
      if (!shelf) {
        shelf = Object.isFrozen(tools) ? openShelf(tools, options, slice) : byContent(tools, slice)
        byList.set(tools, shelf)
        shelf.catch(() => byList.delete(tools))
      }
      return shelf
    },
  }
}

async function openShelf(
  tools: readonly Fields[],
  options: ShelveOptions,
  slice: Slice | undefined,
): Promise<ClientShelf | string> {
  try {
    const own = tools.filter((tool) => !isCustom(tool)).map(withoutBreakpoint)
    const settings = shelfOptions(tools, options)
    const shelf = createShelf({ ...settings, tools: await readTools(tools, options, settings, slice) })
    await rest(slice)
    const shelving = shelf.shelving()
    const twice = own.map(nameOf).find((name) => shelving.pool.byName.has(name))
    if (twice !== undefined) return cannot(`two tools are named "${twice}"`)
    const names = codeNames(shelving.deferredNames)
    await rest(slice)
    const windowOf = (model: string) =>
      options.contextWindow ?? capabilityOf(model, 'anthropic', capabilities).contextWindow
    return {
      shelf,
      own,
      deferred: shelving.deferredNames,
      names,
      reachesShare: (model, percent) => reachesShare(shelving, windowOf(model), percent),
    }
  } catch (error) {
    // What cannot be shelved is the upstream's to take or to refuse.
    if (error instanceof ShelfError) return cannot(error.message)
    throw error
  }
}

/** The tools with their marks; their definitions are made in slices, so that very many of them block nobody. */
async function readTools(
  tools: readonly Fields[],
  { keep }: ShelveOptions,
  settings: ShelfOptions,
  slice: Slice | undefined,
): Promise<Tool[]> {
  const reading = createShelf(settings)
  const custom = tools.filter(isCustom)
  const hasMcpNames = custom.some((tool) => nameOf(tool).startsWith('mcp__'))
  const marked: Tool[] = []
  for (const tool of custom) {
    const next = withMark(withoutBreakpoint(tool), markFor(nameOf(tool), keep, hasMcpNames))
    reading.readAhead(next)
    marked.push(next)
    await rest(slice)
  }
  return marked
}

function cannot(why: string): string {
  return `the tools cannot be shelved: ${why}`
}

/** What the library sends when references are understood; an upstream that does not gets it in plain words later. */
function shelfOptions(tools: readonly Fields[], options: ShelveOptions): ShelfOptions {
  const { rank, timer, notify, contextWindow } = options
  // Tools change places, so their breakpoints become one: the last, at the end of the tools that never move.
  const mark = tools.findLast(({ cache_control: control }) => control)?.cache_control
  const models = capabilities.models.map((row) => ({ ...row, boundThinking: false }))
  return {
    toolSearch: true,
    wire: 'reference',
    announce: 'prepend',
    searchTool: SEARCH_TOOL,
    exactNames: true,
    descriptionLimit: Number.MAX_SAFE_INTEGER,
    capabilities: { models, withoutReferences: [] },
    ...(mark ? { cacheControl: fieldsOf(mark) } : {}),
    ...(contextWindow === undefined ? {} : { contextWindow }),
    rank,
    timer,
    notify,
  }
}

type Mark = 'alwaysLoad' | 'shouldDefer' | undefined

/** Where a client marks MCP tools by their names, those are deferred; else all but the few that every agent needs. */
function markFor(name: string, keep: readonly string[], hasMcpNames: boolean): Mark {
  if (matchesAny(keep, name)) return 'alwaysLoad'
  const isEssential = ESSENTIAL.has(name.toLowerCase().replaceAll(/[_-]/g, '')) || FINDS_TOOLS.test(name)
  return (hasMcpNames ? matchesAny(codingHost.defer, name) : !isEssential) ? 'shouldDefer' : undefined
}

/** By tool and mark: a list that differs in one tool shares all that was made of the others. */
const markedTools = oncePerFrozen((_: Fields) => new Map<Mark, Tool>())

function withMark(tool: Fields, mark: Mark): Tool {
  const known = markedTools(tool)
  let marked = known.get(mark)
  if (!marked) {
    marked = { ...(tool as unknown as Tool), ...(mark ? { [mark]: true } : {}) }
    known.set(mark, marked)
  }
  return marked
}

/** What coding agents work with on every turn, in lower case and without separators. */
const ESSENTIAL = new Set([
  ...['bash', 'shell', 'terminal', 'execute', 'executecommand', 'runcommand', 'runshellcommand', 'exec'],
  ...['runterminalcommand', 'runterminalcmd', 'read', 'readfile', 'readfiles', 'readmanyfiles', 'view'],
  ...['viewfile', 'write', 'writefile', 'writetofile', 'createfile', 'edit', 'editfile', 'multiedit'],
  ...['replace', 'replaceinfile', 'searchreplace', 'applypatch', 'applydiff', 'patch', 'strreplace'],
  ...['strreplaceeditor', 'strreplacebasededittool', 'glob', 'globsearch', 'grep', 'grepsearch', 'search'],
  ...['searchfilecontent', 'searchfiles', 'filesearch', 'codesearch', 'codebasesearch', 'ripgrep'],
  ...['list', 'ls', 'listfiles', 'listdir', 'listdirectory', 'agent', 'task', 'skill', 'todowrite'],
  ...['todoread', 'question', 'askuserquestion', 'askfollowupquestion', 'attemptcompletion', 'finish'],
  ...['submit'],
])

/** A client's own search for tools: the model must see it to use it. */
const FINDS_TOOLS = /tools?[_-]?(search|find|discover)|(search|find|discover)[_-]?(deferred[_-]?)?tools?/i

const withoutBreakpoint = oncePerFrozen((tool: Fields): Fields => {
  return tool.cache_control === undefined ? tool : Object.freeze(without(tool, 'cache_control'))
})

function isCustom(tool: Fields): boolean {
  return tool.type === undefined || tool.type === null || tool.type === 'custom'
}

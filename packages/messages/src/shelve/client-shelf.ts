// Builds a shelf from a client's tools, once per tool list, and shares it among all requests with that list.
import { createHash } from 'node:crypto'
import { codingAgentPolicy, defaultCapabilities, type Rank, type Shelf, type Tool } from '@toolshelf/core'
import {
  capabilityOf,
  type Fields,
  fieldsOf,
  matchesAny,
  nameOf,
  omitFields,
  oncePerFrozen,
  reachesShare,
  SEARCH_TOOL,
  type Timer,
} from '@toolshelf/core/internal'
import { type Slice, turns, yieldIfOver } from '@toolshelf/core/internal/node'
import { createPureShelf, type PureShelfOptions } from '@toolshelf/core/pure'
import { createRecent } from '../recent.ts'
import { type CodedNames, codeNames } from './carry.ts'

/** Options of `createClientShelves`. */
type ShelveOptions = {
  readonly rank: Rank
  /** Name patterns of tools that are always sent; `*` matches anything. */
  readonly keep: readonly string[]
  readonly timer: (milliseconds: number) => Timer
  readonly notify: (message: string) => void
  /** Context window in tokens, for computing the tools' share of it; taken from the model if undefined. */
  readonly contextWindow: number | undefined
}

/** A client's tools on a shelf; every request uses a fork of it. */
export type ClientShelf = {
  readonly shelf: Shelf
  /** Tools defined by the API itself, which are sent unchanged. */
  readonly own: readonly Fields[]
  readonly deferred: ReadonlySet<string>
  /** Deferred tool names by the codes that call ids use for them. */
  readonly names: CodedNames
  /** Whether the deferred definitions take at least `percent` of the model's context window. */
  readonly reachesShare: (model: string, percent: number) => boolean
}

const MAX_SHELVES = 32

/** Creates an empty collection of shelves. */
export function createClientShelves(options: ShelveOptions) {
  /** Parsed lists are frozen, and the same object whenever they have the same bytes (json/lists.ts). */
  const byList = new WeakMap<readonly Fields[], Promise<ClientShelf | string>>()
  const byJson = createRecent<Promise<ClientShelf | string>>(MAX_SHELVES)
  const byContent = (tools: readonly Fields[], slice: Slice | undefined) => {
    const key = createHash('sha256').update(JSON.stringify(tools)).digest('base64')
    const shelf = byJson.get(key) ?? openShelf(tools, options, slice)
    byJson.set(key, shelf)
    shelf.catch(() => byJson.delete(key))
    return shelf
  }
  return {
    /** Returns the shelf for these tools, or the reason why they cannot be shelved. */
    shelfFor(tools: readonly Fields[], slice?: Slice) {
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
    const own = tools.filter((tool) => !isCustom(tool)).map(withoutMarks)
    const settings = shelfOptions(tools, options)
    const shelf = createPureShelf({ ...settings, tools: await readTools(tools, options, settings, slice) })
    await yieldIfOver(slice)
    const partition = shelf.partition()
    const twice = own.map(nameOf).find((name) => partition.pool.byName.has(name))
    if (twice !== undefined) return cannot(`two tools are named "${twice}"`)
    const names = codeNames(partition.deferredNames)
    await yieldIfOver(slice)
    const windowOf = (model: string) =>
      options.contextWindow ?? capabilityOf(model, 'anthropic', defaultCapabilities).contextWindow
    return {
      shelf,
      own,
      deferred: partition.deferredNames,
      names,
      reachesShare: (model, percent) => reachesShare(partition, windowOf(model), percent),
    }
  } catch (error) {
    // The upstream decides whether to accept tools that cannot be shelved.
    if (error instanceof Error && error.name === 'ShelfError') return cannot(error.message)
    throw error
  }
}

/** Marks the tools and builds their definitions in slices, so that long lists do not block the event loop. */
async function readTools(
  tools: readonly Fields[],
  { keep }: ShelveOptions,
  settings: PureShelfOptions,
  slice: Slice | undefined,
): Promise<Tool[]> {
  const reading = createPureShelf(settings)
  const custom = tools.filter(isCustom)
  const isDeferring = custom.some((tool) => tool.defer_loading === true)
  const hasMcpNames = custom.some((tool) => nameOf(tool).startsWith('mcp__'))
  const marked: Tool[] = []
  for (const tool of custom) {
    const mark = isDeferring ? chosenMark(tool, keep) : markFor(nameOf(tool), keep, hasMcpNames)
    const next = withMark(withoutMarks(tool), mark)
    reading.readAhead(next)
    marked.push(next)
    await yieldIfOver(slice)
  }
  return marked
}

function cannot(why: string): string {
  return `the tools cannot be shelved: ${why}`
}

/** Shelf options for the `native` wire; wire/lower.ts later translates requests for other upstreams. */
function shelfOptions(tools: readonly Fields[], options: ShelveOptions): PureShelfOptions {
  const { rank, timer, notify, contextWindow } = options
  // Tools move, so one cache breakpoint replaces theirs: the last one, at the end of the tools that never move.
  const mark = tools.findLast(({ cache_control: control }) => control)?.cache_control
  const models = defaultCapabilities.models.map((row) => ({ ...row, boundThinking: false }))
  return {
    toolSearch: true,
    wire: 'reference',
    announce: 'prepend',
    searchTool: SEARCH_TOOL,
    exactNames: true,
    descriptionLimit: Number.MAX_SAFE_INTEGER,
    capabilities: { models, withoutReferences: [] },
    ...(mark ? { cacheControl: fieldsOf(mark) } : {}),
    contextWindow,
    rank,
    timer,
    pause: turns.pause,
    notify,
  }
}

type Mark = 'alwaysLoad' | 'shouldDefer' | undefined

/** The mark for a tool of a client that chooses itself what is deferred. */
function chosenMark(tool: Fields, keep: readonly string[]): Mark {
  return tool.defer_loading === true && !matchesAny(keep, nameOf(tool)) ? 'shouldDefer' : 'alwaysLoad'
}

/** Defers MCP tools if the client names any as such; otherwise all tools except those every agent needs. */
function markFor(name: string, keep: readonly string[], hasMcpNames: boolean): Mark {
  if (matchesAny(keep, name)) return 'alwaysLoad'
  const isEssential = ESSENTIAL.has(name.toLowerCase().replaceAll(/[_-]/g, '')) || FINDS_TOOLS.test(name)
  return (hasMcpNames ? matchesAny(codingAgentPolicy.defer, name) : !isEssential) ? 'shouldDefer' : undefined
}

/** Cached per tool and mark, so that lists which differ in one tool share everything else. */
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

/** Tools that coding agents use on every turn, in lower case and without separators. */
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

/** Matches a client's own tool-search tool, which must stay visible. */
const FINDS_TOOLS = /tools?[_-]?(search|find|discover)|(search|find|discover)[_-]?(deferred[_-]?)?tools?/i

/** Removes what the shelf decides anew: the cache breakpoint and the deferral. */
const withoutMarks = oncePerFrozen((tool: Fields): Fields => {
  const isBare = tool.cache_control === undefined && tool.defer_loading === undefined
  return isBare ? tool : Object.freeze(omitFields(tool, 'cache_control', 'defer_loading'))
})

function isCustom(tool: Fields): boolean {
  return tool.type === undefined || tool.type === null || tool.type === 'custom'
}

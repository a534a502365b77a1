// Tool search on behalf of a client that sends all its tools on every turn: its request → one of the contract, made
// by the library as an agent would. Nothing is kept between requests but tools that were read already.
import { createHash } from 'node:crypto'
import {
  capabilities,
  codingHost,
  createShelf,
  type Decision,
  type Rank,
  SEARCH_TOOL,
  type SearchOutcome,
  type Shelf,
  type Tool,
} from '../../core/index.ts'
import type { Timer } from '../../core/options.ts'
import { nameOf } from '../../core/oracle/catalogue.ts'
import { type Fields, fieldsOf } from '../../core/oracle/json.ts'
import { matchesAny } from '../../core/tools/wildcard.ts'
import { createRecent } from '../recent.ts'
import type { MessagesRequest } from '../types.ts'
import { codeNames } from './carry.ts'
import type { Memory } from './memory.ts'
import { hasSearches, restore } from './restore.ts'

export type ShelveOptions = {
  readonly rank: Rank
  /** Patterns of tools that are always sent; `*` stands for anything. */
  readonly keep: readonly string[]
  readonly timer: (milliseconds: number) => Timer
  readonly notify: (message: string) => void
  /** Tokens of the models' window, for the share that tools take of it; by the model if left out. */
  readonly contextWindow: number | undefined
}

/** A conversation whose tools are on the shelf, for one request of its client. */
export type Shelved = {
  /** Why tool search is on for it, or off. */
  readonly decision: Decision
  readonly loaded: readonly string[]
  readonly deferred: ReadonlySet<string>
  /** The request of the contract; with `extra`, after further turns that the client does not see. */
  readonly prepare: (extra: readonly Fields[]) => Promise<MessagesRequest>
  readonly search: (input: unknown) => Promise<SearchOutcome>
}

export type Lift = (request: MessagesRequest, asked: Asked) => Promise<Shelved>

/** `toolSearch` as the library has it: true, or `auto:N`. */
export type Asked = { readonly toolSearch: string | boolean; readonly owner: string; readonly memory: Memory }

const MOST_SHELVES = 32

export function createLift(options: ShelveOptions): Lift {
  const shelves = createRecent<Shelf>(MOST_SHELVES)

  function shelfFor(tools: readonly Fields[], toolSearch: string | boolean): Shelf {
    const key = createHash('sha1')
      .update(JSON.stringify([toolSearch, tools]))
      .digest('base64')
    let shelf = shelves.get(key)
    if (!shelf) {
      shelf = openShelf(tools, toolSearch, options)
      shelves.set(key, shelf)
    }
    return shelf
  }

  return async (request, { toolSearch, owner, memory }) => {
    const { tools = [] } = request
    const own = tools.filter((tool) => !isCustom(tool))
    const shelf = shelfFor(tools.filter(isCustom), toolSearch).fork({ subAgent: false })
    const { deferredNames: deferred } = shelf.tools()
    const restoring = {
      names: codeNames(deferred),
      deferred,
      searchTool: SEARCH_TOOL,
      remembered: memory.recall(owner, request.messages),
    }
    // A call alone does not tell that the tools were on the shelf: where they are few, they never were.
    const isNew = toolSearch !== true && !hasSearches(request.messages, restoring)
    const messages =
      isNew && !(await isOpen(shelf, request, own)) ? request.messages : restore(request.messages, restoring)
    const prepare = (extra: readonly Fields[]) =>
      shelf.prepare({ ...request, tools: own, messages: [...messages, ...extra] })
    const { decision, loaded } = await prepare([])
    return {
      decision,
      loaded,
      deferred,
      prepare: async (extra) => (await prepare(extra)).request as unknown as MessagesRequest,
      search: shelf.search,
    }
  }
}

async function isOpen(shelf: Shelf, request: MessagesRequest, own: readonly Fields[]): Promise<boolean> {
  const { decision } = await shelf.fork({ subAgent: false }).prepare({ ...request, tools: own })
  return decision.open
}

/** What the library sends when references are understood; an upstream that does not gets it in plain words later. */
function openShelf(tools: readonly Fields[], toolSearch: string | boolean, options: ShelveOptions): Shelf {
  const { rank, keep, timer, notify, contextWindow } = options
  const mark = tools.findLast(({ cache_control: control }) => control)?.cache_control
  const models = capabilities.models.map((row) => ({ ...row, boundThinking: false }))
  return createShelf({
    tools: marked(tools, keep),
    toolSearch,
    wire: 'reference',
    announce: 'prepend',
    searchTool: SEARCH_TOOL,
    descriptionLimit: Number.MAX_SAFE_INTEGER,
    capabilities: { models, withoutReferences: [] },
    ...(mark ? { cacheControl: fieldsOf(mark) } : {}),
    ...(contextWindow === undefined ? {} : { contextWindow }),
    rank,
    timer,
    notify,
  })
}

/** Where a client marks MCP tools by their names, those are deferred; else all but the few that every agent needs. */
function marked(tools: readonly Fields[], keep: readonly string[]): Tool[] {
  const hasMcpNames = tools.some((tool) => nameOf(tool).startsWith('mcp__'))
  return tools.map((tool) => {
    const given = tool as unknown as Tool
    const name = nameOf(tool)
    if (matchesAny(keep, name)) return { ...given, alwaysLoad: true }
    const isEssential = ESSENTIAL.has(name.toLowerCase().replaceAll(/[_-]/g, ''))
    if (hasMcpNames ? matchesAny(codingHost.defer, name) : !isEssential)
      return { ...given, shouldDefer: true }
    return given
  })
}

/** What coding agents work with on every turn, in the spellings that are around. */
const ESSENTIAL = new Set([
  ...['bash', 'shell', 'terminal', 'execute', 'executecommand', 'runcommand', 'runshellcommand', 'exec'],
  ...[
    'read',
    'readfile',
    'view',
    'write',
    'writefile',
    'edit',
    'editfile',
    'multiedit',
    'replace',
    'applypatch',
  ],
  ...['patch', 'strreplace', 'strreplaceeditor', 'strreplacebasededittool'],
  ...['glob', 'grep', 'search', 'searchfilecontent', 'list', 'ls', 'listdirectory', 'agent', 'task', 'skill'],
  ...['todowrite', 'todoread', 'question', 'attemptcompletion', 'finish', 'submit'],
])

function isCustom(tool: Fields): boolean {
  return tool.type === undefined || tool.type === null || tool.type === 'custom'
}

// The history of a client that knows nothing of searches → the same with the searches it never saw, each in the one
// form that can be told from the history alone. A tool that was called was loaded.
import { searchNote, withRemark } from '../../core/history/notes.ts'
import { type Fields, textOf } from '../../core/oracle/json.ts'
import { blocksOf } from '../../core/oracle/turns.ts'
import { type CodedNames, carriedBy, type Search, withoutCarried } from './carry.ts'

export type Restoring = {
  /** Deferred tools by the code of their names. */
  readonly names: CodedNames
  readonly deferred: ReadonlySet<string>
  readonly searchTool: string
  /** Searches of the reply at this place that its ids do not carry. */
  readonly remembered: (message: number) => readonly Search[]
}

export function restore(messages: readonly Fields[], restoring: Restoring): Fields[] {
  const loaded = new Set<string>()
  return messages.flatMap((message, index) => {
    if (message.role !== 'assistant') return [withPlainIds(message)]
    // A model that only searched has said nothing, which no API takes back.
    if (blocksOf(message.content).length === 0 && index < messages.length - 1) return []
    const searches = searchesIn(message, index, loaded, restoring)
    const plain = withPlainIds(message)
    return searches.length === 0 ? [plain] : split(plain, index, searches, restoring.searchTool)
  })
}

/** A search in its one form, and its result. */
export function searchTurn(
  { names, left }: Search,
  id: string,
  searchTool: string,
): { call: Fields; result: Fields } {
  const more = `${left} more tools matched; search with more specific words for those.`
  const references = names.map((name) => ({ type: 'tool_reference', tool_name: name }))
  return {
    call: { type: 'tool_use', id, name: searchTool, input: { query: `select:${names.join(',')}` } },
    result: withRemark(
      { type: 'tool_result', tool_use_id: id, content: references },
      left > 0 ? searchNote(more) : undefined,
    ),
  }
}

/** Unique in the conversation, and the same whoever restores it. */
export function searchId(message: number, search: number): string {
  return `toolu_shelf_${message}_${search}`
}

function searchesIn(
  message: Fields,
  index: number,
  loaded: Set<string>,
  { names, deferred, remembered }: Restoring,
): Search[] {
  const blocks = blocksOf(message.content)
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  const carried = calls.flatMap(({ id }) => carriedBy(textOf(id), names))
  const told = [...carried, ...remembered(index)].map((search) => ({ ...search, isCalled: false }))
  const firstCall = blocks.findIndex(({ type }) => type === 'tool_use')
  const latest = firstCall < 0 ? blocks.length - 1 : firstCall
  const called = { at: latest, left: 0, names: calls.map(({ name }) => textOf(name)), isCalled: true }
  return [...told, called]
    .map((search) => ({ ...search, at: Math.min(search.at, latest) }))
    .sort((a, b) => a.at - b.at)
    .map((search) => {
      const isMissing = (name: string) => deferred.has(name) && (!search.isCalled || !loaded.has(name))
      const names = [...new Set(search.names.filter(isMissing))]
      for (const name of names) loaded.add(name)
      return { ...search, names }
    })
    .filter((search) => search.names.length > 0)
}

/** Did this conversation have hidden searches? */
export function hasSearches(messages: readonly Fields[], { names, remembered }: Restoring): boolean {
  return messages.some(
    ({ content }, index) =>
      remembered(index).length > 0 ||
      (Array.isArray(content) && blocksOf(content).some(({ id }) => carriedBy(textOf(id), names).length > 0)),
  )
}

function split(message: Fields, index: number, searches: readonly Search[], searchTool: string): Fields[] {
  const blocks = blocksOf(message.content)
  const turns: Fields[] = []
  let from = 0
  for (const [number, search] of searches.entries()) {
    const { call, result } = searchTurn(search, searchId(index, number), searchTool)
    turns.push({ ...message, content: [...blocks.slice(from, search.at), call] })
    turns.push({ role: 'user', content: [result] })
    from = search.at
  }
  return [...turns, { ...message, content: blocks.slice(from) }]
}

function withPlainIds(message: Fields): Fields {
  if (!Array.isArray(message.content)) return message
  const blocks = blocksOf(message.content)
  const content = blocks.map((block) => {
    const field = block.type === 'tool_use' ? 'id' : block.type === 'tool_result' ? 'tool_use_id' : undefined
    const id = field && textOf(block[field])
    const plain = id && withoutCarried(id)
    return field && plain !== id ? { ...block, [field]: plain } : block
  })
  return content.every((block, index) => block === blocks[index]) ? message : { ...message, content }
}

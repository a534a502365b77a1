// The five wires, addition in both its forms, and how a tool gets loaded and seen on each.

import type { Prepared, ShelfOptions } from '../../../test/doors.ts'
import { visibleTools } from '../../../test/doors.ts'
import { type Loose, quietShelf, Talk } from './talk.ts'

export type WireCase = { readonly label: string; readonly options: ShelfOptions }

export const wireCases: readonly WireCase[] = [
  { label: 'reference', options: { wire: 'reference' } },
  { label: 'addition by reference', options: { wire: 'addition' } },
  { label: 'addition by value', options: { wire: 'addition', additions: 'value' } },
  { label: 'append', options: { wire: 'append' } },
  { label: 'bridge', options: { wire: 'bridge' } },
  { label: 'hosted', options: { wire: 'hosted' } },
]

export function wireCase(label: string): WireCase {
  const found = wireCases.find((candidate) => candidate.label === label)
  if (!found) throw new Error(`no wire ${label}`)
  return found
}

/** Where two wires meet in the middle of a conversation. */
export const wirePairs = wireCases.flatMap((from) =>
  wireCases.filter((to) => to !== from).map((to) => [from.label, to.label] as const),
)

export function talkOn(label: string, options: ShelfOptions = {}, model?: string): Talk {
  return new Talk(quietShelf({ ...wireCase(label).options, ...options }), model)
}

/** One turn in which the model searches for these tools, the way the wire in use lets it, and gets them. */
export async function load(talk: Talk, ...names: string[]): Promise<void> {
  if (talk.shelf.state().search !== 'hosted') return void (await talk.search(`select:${names.join(',')}`))
  talk.assistant(hostedSearch(`srvtoolu_${talk.messages.length}`, names)).user('go on')
}

/** What the API's own search puts into a reply. */
export function hostedSearch(id: string, names: readonly string[]): Loose[] {
  const references = names.map((name) => ({ type: 'tool_reference', tool_name: name }))
  return [
    { type: 'server_tool_use', id, name: 'tool_search_tool_bm25', input: { query: names.join(' ') } },
    {
      type: 'tool_search_tool_result',
      tool_use_id: id,
      content: { type: 'tool_search_tool_search_result', tool_references: references },
    },
    { type: 'text', text: 'Found.' },
  ]
}

/** The deferred tools whose definition the model can read in this request, wherever its wire puts it. */
export function seen({ request, decision }: Prepared<Loose>, names: readonly string[]): string[] {
  if (decision.wire !== 'bridge') return names.filter((name) => visibleTools(request).includes(name))
  const results = request.messages
    .flatMap(({ content }: Loose) => (Array.isArray(content) ? content : []))
    .flatMap(({ content }: Loose) => (Array.isArray(content) ? content : []))
  const text = results.map(({ text }: Loose) => text ?? '').join('\n')
  return names.filter((name) => text.includes(`{"name":"${name}",`))
}

/** The call by which the model uses a loaded tool on this wire. */
export function callOf({ decision }: Prepared<Loose>, id: string, name: string, input: Loose = {}): Loose {
  return decision.wire === 'bridge'
    ? { type: 'tool_use', id, name: 'CallTool', input: { name, arguments: input } }
    : { type: 'tool_use', id, name, input }
}

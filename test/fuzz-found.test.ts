// Conversations that random runs found: each broke once, and is kept in its smallest form.
import { describe, expect, it } from 'vitest'
import { explainBreak } from '../packages/core/src/index.ts'
import { extendsPrefix, renderRequest } from '../packages/core/src/reading.ts'
import { signThinking } from '../packages/messages/src/oracle/thinking.ts'
import { validateRequest } from '../packages/messages/src/oracle/validate.ts'
import { BOUND_MODEL, builtIn, type Loose, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const edition = (number: number) => mcp('calendar', 'create', { description: `edition ${number}` })
const CREATE = 'mcp__calendar__create'

/** A conversation with a model that binds its thinking to what it was sent. */
class BoundTalk extends Talk {
  override async prepare(): Promise<Loose> {
    const prepared = await super.prepare()
    const request = JSON.parse(JSON.stringify(prepared.request))
    const refusal = validateRequest(request, { bindsThinking: request.model === BOUND_MODEL })
    expect(refusal?.body.error.message).toBeUndefined()
    return prepared
  }

  override assistant(content: Loose = [{ type: 'text', text: 'done' }]): this {
    const request = JSON.parse(JSON.stringify(this.last?.request))
    return super.assistant([
      { type: 'thinking', thinking: 'hm', signature: signThinking(request) },
      ...content,
    ])
  }
}

describe('a definition that was sent', () => {
  it('N5 stays when its tool left before it was first sent and comes back changed', async () => {
    const shelf = quietShelf({ tools: [builtIn('Bash'), edition(1)] })
    const talk = new BoundTalk(shelf, BOUND_MODEL)
    await talk.user('start').prepare()
    const call = talk.call('ToolSearch', { query: `select:${CREATE}` })
    talk.assistant([call])
    const found = await shelf.answer(call)
    shelf.remove({ server: 'calendar' })
    await talk.user([found]).prepare()
    shelf.add(edition(2))
    await talk.search(`select:${CREATE}`)
    const { request } = await talk.prepare()
    expect(request.tools.find(({ name }: Loose) => name === CREATE).description).toBe('edition 1')
  })
})

describe('a break of the prefix', () => {
  it.each(['append', 'bridge'] as const)(
    'K2 is explained when a staged conversation moves between %s and references',
    async (wire) => {
      const shelf = quietShelf({ tools: [builtIn('Bash'), edition(1)], wire, strategy: 'staged' })
      const talk = new Talk(shelf)
      const before = await talk.user('start').prepare()
      const messages: Loose[] = before.history
      const other = quietShelf({
        ...{ tools: [builtIn('Bash'), edition(1)], wire: 'reference', strategy: 'staged' },
        state: shelf.state(),
      } as const)
      const after: Loose = await other.prepare({ model: talk.model, max_tokens: 100, messages })
      for (const [one, next] of [[before, after] as const, [after, before] as const]) {
        expect(extendsPrefix(renderRequest(one.request), renderRequest(next.request)).extends).toBe(false)
        expect(explainBreak(one, next)).not.toEqual([])
      }
    },
  )

  it('K2 the first deferred tool is named, and the last one', () => {
    const open = [{ name: 'Bash', input_schema: { type: 'object' } }]
    const hidden = { name: 'Placeholder', input_schema: { type: 'object' }, defer_loading: true }
    const sent = (tools: object[]) => ({ request: { model: 'm', tools, messages: [] } })
    const [without, within] = [sent(open), sent([...open, hidden])]
    expect(explainBreak(without, within)).toEqual([{ kind: 'tool-added', name: 'Placeholder' }])
    expect(explainBreak(within, without)).toEqual([{ kind: 'tool-removed', name: 'Placeholder' }])
  })
})

describe('a retry', () => {
  it('K3 addition: a server that connects before it waits for the next turn to be announced', async () => {
    const shelf = quietShelf({ tools: [builtIn('Bash'), edition(1)], wire: 'addition' })
    const talk = new Talk(shelf)
    await talk.user('start').prepare()
    await talk.search(`select:${CREATE}`)
    const before = await talk.prepare()
    shelf.add(mcp('late', 'tool'))
    const again = await talk.prepare()
    expect(extendsPrefix(renderRequest(before.request), renderRequest(again.request)).extends).toBe(true)
    const next = await talk.assistant().user().prepare()
    expect(extendsPrefix(renderRequest(again.request), renderRequest(next.request)).extends).toBe(true)
    expect(JSON.stringify(next.request.messages)).toContain('mcp__late__tool')
  })
})

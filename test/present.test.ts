// What a person sees of a conversation with searches in it.
import { describe, expect, it } from 'vitest'
import {
  describeReads,
  describeSearches,
  type PresentOptions,
  presentMessages,
} from '../packages/core/src/present.ts'
import type { Loose } from '../packages/testkit/src/talk.ts'

const options: PresentOptions = {
  searchTool: 'ToolSearch',
  kinds: { Read: describeReads, Grep: describeSearches, Glob: describeSearches },
}
const call = (name: string, input: Loose = {}) => ({ type: 'tool_use', id: `id_${name}`, name, input })
const search = call('ToolSearch', { query: 'slack send' })
const text = (content: string) => ({ type: 'text', text: content })
const replies = (...blocks: Loose[]) => blocks.map((block) => ({ role: 'assistant', content: [block] }))
const shown = (blocks: Loose[], more: Partial<PresentOptions> = {}) =>
  presentMessages(replies(...blocks), { ...options, ...more })

describe('a person', () => {
  it('P1 sees nothing of a search', () => {
    expect(shown([search])).toEqual([])
    expect(shown([text('Let me look.'), search, search, text('Found it.')])).toEqual([
      { type: 'text', text: 'Let me look.' },
      { type: 'text', text: 'Found it.' },
    ])
    expect(shown([call('Edit', { path: 'a' }), search, call('Edit', { path: 'b' })])).toEqual([
      { type: 'call', name: 'Edit', input: { path: 'a' } },
      { type: 'call', name: 'Edit', input: { path: 'b' } },
    ])
  })

  it('P1 the name of the search tool is the one the host gave it', () => {
    expect(shown([call('FindTools')], { searchTool: 'FindTools' })).toEqual([])
    expect(shown([search], { searchTool: 'FindTools' })).toHaveLength(1)
  })

  it("P1 sees nothing of the provider's own search either", () => {
    const hosted = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'tool_search_tool_bm25', input: {} }
    const found = { type: 'tool_search_tool_result', tool_use_id: 'srvtoolu_1', content: {} }
    expect(shown([hosted, found])).toEqual([])
  })

  it('P1 in a collapsed group a search joins without being counted', () => {
    const reads = [call('Read'), search, call('Read'), call('Grep'), search, call('Read'), call('Glob')]
    expect(shown(reads)).toEqual([{ type: 'summary', text: 'Read 3 files, searched 2 files', calls: reads }])
    expect(shown([search, call('Read'), search])).toMatchObject([{ type: 'summary', text: 'Read 1 file' }])
    expect(shown([call('Grep'), search])).toMatchObject([{ type: 'summary', text: 'Searched 1 file' }])
  })

  it('P1 a group ends where something else is shown, and a search does not end it', () => {
    const blocks = [call('Read'), search, text('Now.'), search, call('Read'), call('Edit'), call('Read')]
    expect(shown(blocks).map((one) => (one.type === 'call' ? one.name : one.text))).toEqual([
      'Read 1 file',
      'Now.',
      'Read 1 file',
      'Edit',
      'Read 1 file',
    ])
  })

  it('P1 odd messages harm nothing', () => {
    const messages: Loose[] = [
      { role: 'assistant', content: null },
      { role: 'assistant', content: '' },
      { role: 'assistant', content: [null, { type: 'unheard' }] },
      { role: 'user', content: 'hello' },
      { type: 'deferred_tools_delta', role: 'user', content: 'x' },
      { role: 'assistant', content: 'Fine.' },
    ]
    expect(presentMessages(messages, options)).toEqual([{ type: 'text', text: 'Fine.' }])
  })
})

describe('verbose', () => {
  it('P2 shows every search in full, one by one', () => {
    expect(shown([call('Read', { path: 'a' }), search, call('Grep')], { verbose: true })).toEqual([
      { type: 'call', name: 'Read', input: { path: 'a' } },
      { type: 'call', name: 'ToolSearch', input: { query: 'slack send' } },
      { type: 'call', name: 'Grep', input: {} },
    ])
    const hosted = {
      type: 'server_tool_use',
      id: 'srvtoolu_1',
      name: 'tool_search_tool_regex',
      input: { pattern: 'slack' },
    }
    expect(shown([hosted], { verbose: true })).toEqual([
      { type: 'call', name: 'tool_search_tool_regex', input: { pattern: 'slack' } },
    ])
  })
})

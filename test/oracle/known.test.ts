// Fields that the oracle does not know are left out, at every depth; what it knows, and whole requests of that, stay.
import { describe, expect, it } from 'vitest'
import { withoutUnknown } from '../../src/core/oracle/index.ts'
import {
  assistant,
  deferred,
  found,
  reference,
  request,
  result,
  search,
  system,
  text,
  tool,
  use,
  user,
} from './requests.ts'

const news = { news: 1 }
const added = (definition: object) => ({
  type: 'tool_addition',
  tool: { type: 'tool_definition', definition },
})
const conversation = (more: object) =>
  request(
    [tool('a', { ...more }), deferred('b', { ...more })],
    { ...user(text('hi', { ...more })), ...more },
    assistant({ ...use('c1'), ...more }, { ...search('s1'), ...more }),
    user(result('c1', [{ ...reference('b'), ...more }], { ...more })),
    assistant({ ...found('s1', 'b'), ...more }),
    user(text('on')),
    system(added({ ...tool('d'), ...more })),
  )

describe('withoutUnknown', () => {
  it('wire 34 leaves out what is unknown in tools, messages and blocks', () => {
    expect(withoutUnknown(conversation(news))).toEqual(conversation({}))
  })

  it('wire 34 keeps the body’s own fields, blocks of unknown types and tools of the API’s', () => {
    const open = {
      ...request(
        [{ type: 'web_search_20260209', name: 'web_search', ...news }],
        user({ type: 'new', ...news }),
      ),
      ...news,
    }
    expect(withoutUnknown(open)).toEqual(open)
  })

  it('takes anything for a request', () => {
    const odd = { tools: [null, 'x', {}], messages: [null, 'x', {}, { role: 'user', content: [null, 5] }] }
    expect(withoutUnknown(odd)).toEqual(odd)
    expect(withoutUnknown({ tools: 5, messages: 'x' })).toEqual({ tools: 5, messages: 'x' })
  })
})

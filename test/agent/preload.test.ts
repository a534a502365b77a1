// Tools that a message names are loaded before the model is asked: which words name a tool, and that it takes no search.
import { describe, expect, test } from 'vitest'
import { namedTools } from '../../packages/agent/src/index.ts'
import type { Tool } from '../../packages/core/src/index.ts'
import { mcp, quietShelf } from '../../packages/testkit/src/talk.ts'
import { lines, refusals, runnerOn, said, scripted, talking } from './support.ts'

const tools: readonly Tool[] = [
  mcp('slack', 'send_message', { description: 'Sends a message to a Slack channel or a person.' }),
  mcp('slack', 'list_channels', { description: 'Lists the channels of a Slack workspace.' }),
  mcp('github', 'create_issue', { description: 'Opens a new issue in a GitHub repository.' }),
  mcp('gitlab', 'create_issue', { description: 'Opens a new issue in a GitLab project.' }),
  mcp('weather', 'forecast', { description: 'The weather of the next days at a place.' }),
]

const named = (text: string, shelf = quietShelf({ tools })) => namedTools(shelf, text)

describe('namedTools', () => {
  test('finds what is named in full', () => {
    expect(named('use mcp__slack__list_channels, then mcp__github__create_issue.')).toEqual([
      'mcp__slack__list_channels',
      'mcp__github__create_issue',
    ])
  })

  test('finds a tool by its own name of two parts if only one tool has that name', () => {
    expect(named('call `send_message` for me')).toEqual(['mcp__slack__send_message'])
    expect(named('call create_issue')).toEqual([])
    expect(named('what is the forecast?')).toEqual([])
  })

  test('ignores half a name, and what stands far behind', () => {
    expect(named('mcp__slack__list_channels_all, my_send_message, send message')).toEqual([])
    expect(named(`${'x'.repeat(20_000)} send_message`)).toEqual([])
  })

  test('leaves out what is loaded', async () => {
    const shelf = quietShelf({ tools })
    await shelf.answer({
      id: 'toolu_1',
      name: 'ToolSearch',
      input: { query: 'select:mcp__slack__send_message' },
    })
    expect(named('send_message', shelf)).toEqual([])
  })

  test('N5 leaves out what was sent openly and stays so', async () => {
    const shelf = quietShelf({ tools })
    shelf.setServer('slack', { alwaysLoad: true })
    await shelf.prepare({ model: 'claude-opus-5-5', messages: [{ role: 'user', content: 'hello' }] })
    shelf.setServer('slack', { alwaysLoad: false })
    expect(named('send_message', shelf)).toEqual([])
  })
})

test('an agent loads what a message names, without a request for a search', async () => {
  const shelf = quietShelf({ tools })
  const script = scripted({
    when: 'send_message',
    do: [{ call: 'mcp__slack__send_message' }, { say: 'Done.' }],
  })
  const preload = (text: string) => namedTools(shelf, text)
  const talk = await talking(script, { shelf, runner: runnerOn(shelf), preload })
  const told = lines(await said(talk.agent, 'Please send_message.'))
  expect(told.slice(0, 2)).toEqual(['result ToolSearch: loaded mcp__slack__send_message', 'request'])
  expect(talk.seen).toHaveLength(2)
  expect(refusals(talk)).toEqual([])
})

// Using what is deferred: reminders, and loading what a message names.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createToolUseHelp, type ToolUseHelpOptions } from '../../src/agent/using/index.ts'
import type { Rank, Tool } from '../../src/index.ts'
import { mcp, quietShelf } from '../support/talk.ts'

const tools: readonly Tool[] = [
  mcp('slack', 'send_message', { description: 'Sends a message to a Slack channel or a person.' }),
  mcp('slack', 'list_channels', { description: 'Lists the channels of a Slack workspace.' }),
  mcp('github', 'create_issue', { description: 'Opens a new issue in a GitHub repository.' }),
  mcp('gitlab', 'create_issue', { description: 'Opens a new issue in a GitLab project.' }),
  mcp('browser', 'go_forward', { description: 'Goes on to the next page.' }),
  mcp('weather', 'forecast', { description: 'The weather of the next days at a place.' }),
]

function usingWith(options: Partial<ToolUseHelpOptions>, more: { rank?: Rank; toolSearch?: boolean } = {}) {
  const { rank, ...shelfOptions } = more
  const shelf = quietShelf({ tools, ...shelfOptions })
  const notices: string[] = []
  const using = createToolUseHelp({
    shelf,
    options: { describe: 0, remind: 0, preload: false, learn: false, ...options },
    folder: mkdtempSync(join(tmpdir(), 'using-')),
    notify: (message) => notices.push(message),
    ...(rank ? { rank } : {}),
  })
  return { shelf, using, notices }
}

const load = (shelf: ReturnType<typeof quietShelf>, name: string) =>
  shelf.answer({ id: 'toolu_1', name: 'ToolSearch', input: { query: `select:${name}` } })

describe('remind', () => {
  test('names the deferred tools that fit, best first, as many as asked for', async () => {
    const { using } = usingWith({ remind: 2 })
    const [text] = await using.remind('post the release notes as a message in the slack channel of the team')
    expect(text).toMatch(/^<system-reminder>\nThese deferred tools may fit this: mcp__slack__send_message/)
    expect(text).toMatch(/\. Load them with ToolSearch\.\n<\/system-reminder>$/)
    expect(text?.match(/mcp__/g)?.length).toBeLessThanOrEqual(2)
  })

  test.each(['go on', 'thanks, that is good', '', '+++', 'ok do it', '🙂', 'x'.repeat(100_000)])(
    'says nothing to %j',
    async (text) => {
      expect(await usingWith({ remind: 3 }).using.remind(text)).toEqual([])
    },
  )

  test('says nothing where nothing fits, and nothing when it is off', async () => {
    expect(await usingWith({ remind: 3 }).using.remind('write a haiku about autumn leaves')).toEqual([])
    expect(await usingWith({ remind: 0 }).using.remind('send a slack message to a channel')).toEqual([])
  })

  test.each([
    [[4.9, 4.8], 0],
    [[5.1, 4.9], 1],
    [[10, 6.1, 5.9], 2],
  ])('of scores %j so many are worth a word: %i', async (scores, count) => {
    const rank: Rank = (all) => ({
      hits: scores.map((score, index) => ({ tool: all[index]!, score })),
      matched: scores.length,
    })
    const [text = ''] = await usingWith({ remind: 5 }, { rank }).using.remind('two telling words')
    expect(text.match(/mcp__/g) ?? []).toHaveLength(count)
  })

  test('leaves out what the message names, as that is loaded at once', async () => {
    const message = 'send_message to the slack channel: a message about the channels of slack'
    const { using } = usingWith({ remind: 3, preload: true })
    expect(using.preload(message)).toEqual(['mcp__slack__send_message'])
    expect(String(await using.remind(message))).not.toContain('send_message')
    expect(String(await usingWith({ remind: 3 }).using.remind(message))).toContain('send_message')
  })

  test('leaves out loaded tools, and names the next best ones instead', async () => {
    const { shelf, using } = usingWith({ remind: 1 })
    const message = 'open an issue in the repository: github or gitlab'
    const [first] = await using.remind(message)
    const name = /mcp__\w+/.exec(first ?? '')?.[0] ?? ''
    await load(shelf, name)
    const [second] = await using.remind(message)
    expect(second).toContain('create_issue')
    expect(second).not.toContain(name)
  })

  test('N5 leaves out what was sent openly and stays so', async () => {
    const { shelf, using } = usingWith({ remind: 5 })
    const message = 'send a message to a slack channel'
    expect(String(await using.remind(message))).toContain('send_message')
    shelf.setServer('slack', { alwaysLoad: true })
    await shelf.prepare({ model: 'claude-opus-5-5', messages: [{ role: 'user', content: 'hello' }] })
    shelf.setServer('slack', { alwaysLoad: false })
    expect(String(await using.remind(message))).not.toContain('send_message')
  })

  test('says nothing once tool search is off: everything is loaded', async () => {
    const { shelf, using } = usingWith({ remind: 3, preload: true }, { toolSearch: false })
    await shelf.prepare({ model: 'claude-opus-4-6', messages: [{ role: 'user', content: 'hello' }] })
    expect(await using.remind('send a slack message to a channel')).toEqual([])
    expect(using.preload('mcp__slack__send_message')).toEqual([])
  })

  test('a ranker that fails costs the reminder, not the message', async () => {
    const rank: Rank = () => {
      throw new Error('no index')
    }
    const { using, notices } = usingWith({ remind: 3 }, { rank })
    expect(await using.remind('send a slack message to a channel')).toEqual([])
    expect(notices).toEqual(['could not remind the model of deferred tools: no index'])
  })
})

describe('preload', () => {
  const preload = (text: string) => usingWith({ preload: true }).using.preload(text)

  test('loads what is named in full', () => {
    expect(preload('use mcp__slack__list_channels, then mcp__github__create_issue.')).toEqual([
      'mcp__slack__list_channels',
      'mcp__github__create_issue',
    ])
  })

  test("loads by a tool's own name of two parts if only one tool has that name", () => {
    expect(preload('call `send_message` for me')).toEqual(['mcp__slack__send_message'])
    expect(preload('call create_issue')).toEqual([])
    expect(preload('what is the forecast?')).toEqual([])
  })

  test('ignores half a name', () => {
    expect(preload('mcp__slack__list_channels_all, my_send_message, send message')).toEqual([])
  })

  test('loads nothing twice, and nothing when it is off', async () => {
    const { shelf, using } = usingWith({ preload: true })
    await load(shelf, 'mcp__slack__send_message')
    expect(using.preload('send_message')).toEqual([])
    expect(usingWith({}).using.preload('send_message')).toEqual([])
  })
})

// The README's loop with the official SDK against the offline model, and the README itself.
import { readFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import { afterEach, describe, expect, it } from 'vitest'
import { runTask } from '../examples/loop.ts'
import { type OfflineModel, startOfflineModel } from '../examples/offline-model.ts'
import { exampleTools } from '../examples/tools.ts'
import type { ShelfOptions } from '../packages/core/src/index.ts'
import { estimateTokens } from '../packages/core/src/index.ts'
import { quietShelf } from '../packages/testkit/src/talk.ts'

let offline: OfflineModel | undefined

afterEach(() => offline?.close())

const fileIt = {
  call: 'mcp__github__create_issue',
  input: { repository: 'shop', title: 'It broke' },
  search: 'github create issue',
}
const tellDev = {
  call: 'mcp__slack__create_message',
  input: { workspace: 'shop', channel: '#dev', text: 'Filed.' },
  search: '+slack create message',
}
const steps = [fileIt, tellDev, { say: 'Done.' }]
const thoughtful = steps.flatMap((step) => [{ think: 'Next step.' }, step])

type Talking = { readonly script?: object; readonly model?: string; readonly shelf?: ShelfOptions }

async function converse({ script = { rules: [{ do: steps }] }, model, shelf: options }: Talking = {}) {
  offline = await startOfflineModel(script)
  const client = new Anthropic({ baseURL: offline.url, apiKey: 'none', maxRetries: 0 })
  const shelf = quietShelf({ tools: exampleTools, toolSearch: true, ...options })
  const run: string[] = []
  const task = 'File it, tell #dev.'
  const messages = await runTask(client, shelf, model ?? 'claude-opus-4-6', task, async (call) => {
    run.push(`${call.server}/${call.original}`)
    return 'ok'
  })
  return { seen: offline.seen, messages, run }
}

describe('the loop of the README', () => {
  it('N5 works the same on a model that binds thinking to the prefix', async () => {
    const script = { boundThinking: true, rules: [{ do: thoughtful }] }
    const { run, seen } = await converse({ script, model: 'claude-opus-5-5' })
    expect(run).toEqual(['github/create_issue', 'slack/create_message'])
    expect(JSON.stringify(seen.at(-1)?.request.messages)).toContain('"signature"')
    expect(seen.every(({ refused }) => refused === undefined)).toBe(true)
  })

  it('W2 an old proxy refuses what a shelf that trusts it sends, and never sees it by default', async () => {
    const script = { api: 'old', rules: [{ do: steps }] }
    await expect(converse({ script })).rejects.toThrow(/Extra inputs are not permitted|not supported/)
    await offline?.close()
    const shelf = { toolSearch: undefined, baseURL: 'http://127.0.0.1:1' }
    const { seen, run } = await converse({ script, shelf })
    expect(run).toEqual(['github/create_issue', 'slack/create_message'])
    expect(seen.every(({ refused }) => refused === undefined)).toBe(true)
  })

  it('K4 the search tool is under 500 tokens, and deferral saves over 85 % of the definitions', async () => {
    const many = ['github', 'slack', 'jira', 'linear'].flatMap((name) =>
      exampleTools.filter(({ server }) => server !== undefined).map((tool) => ({ ...tool, server: name })),
    )
    const unique = many.filter(({ name, server }, index) => {
      return many.findIndex((other) => other.name === name && other.server === server) === index
    })
    const builtIns = exampleTools.filter(({ server, shouldDefer }) => !server && !shouldDefer)
    const tools = [...builtIns, ...unique.slice(0, 147)]
    const tokensOf = async (toolSearch: boolean) => {
      const shelf = quietShelf({ tools, toolSearch })
      const { request } = await shelf.prepare({
        model: 'claude-opus-4-6',
        messages: [{ role: 'user', content: 'hi' }],
      })
      const search = request.tools.find(({ name }) => name === 'ToolSearch')
      if (search) expect(estimateTokens(JSON.stringify(search))).toBeLessThanOrEqual(500)
      return estimateTokens(JSON.stringify(request))
    }
    expect(await tokensOf(true)).toBeLessThan(0.15 * (await tokensOf(false)))
  })

  it('is shown by the README as it is', () => {
    const code = readFileSync(new URL('../examples/loop.ts', import.meta.url), 'utf8')
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
    const body = code.slice(code.indexOf('  let messages'), code.indexOf('  return messages'))
    expect(readme).toContain(body.replace(/^ {2}/gm, '').trim())
  })
})

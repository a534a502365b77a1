// The README's loop with the official SDK against the local server, and the README itself.
import { readFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type LocalServer,
  type LocalServerOptions,
  type ScriptStep,
  startLocalServer,
} from '../examples/local-server.ts'
import { runTask } from '../examples/loop.ts'
import { exampleTools } from '../examples/tools.ts'
import { extendsPrefix, render } from '../src/core/oracle/index.ts'
import { estimateTokens, type ShelfOptions } from '../src/index.ts'
import { quietShelf } from './support/talk.ts'

let server: LocalServer | undefined

afterEach(() => server?.close())

const script: readonly ScriptStep[] = [
  { call: 'ToolSearch', input: { query: 'github create issue' } },
  { call: 'mcp__github__create_issue', input: { repository: 'shop', title: 'It broke' } },
  { call: 'ToolSearch', input: { query: '+slack create message' } },
  { call: 'mcp__slack__create_message', input: { workspace: 'shop', channel: '#dev', text: 'Filed.' } },
  { say: 'Done.' },
]

async function converse(
  options: LocalServerOptions & { model?: string } = {},
  shelfOptions: ShelfOptions = {},
) {
  server = await startLocalServer(script, options)
  const client = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 })
  const shelf = quietShelf({ tools: exampleTools, toolSearch: true, ...shelfOptions })
  const run: string[] = []
  const messages = await runTask(
    client,
    shelf,
    options.model ?? 'claude-opus-4-6',
    'File it, tell #dev.',
    async (call) => {
      run.push(`${call.server}/${call.original}`)
      return 'ok'
    },
  )
  return { received: server.received, messages, run }
}

describe('the loop of the README', () => {
  it('W1 finds, loads and calls tools of two servers, each request accepted, each prefix kept', async () => {
    const { received, messages, run } = await converse()
    expect(run).toEqual(['github/create_issue', 'slack/create_message'])
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: [{ type: 'text', text: 'Done.' }] })
    expect(received.map(({ refused }) => refused)).toEqual(Array(5).fill(undefined))
    const renderings = received.map(({ request }) => render(request))
    for (const [index, rendering] of renderings.entries()) {
      if (index > 0) expect(extendsPrefix(renderings[index - 1] ?? [], rendering)).toEqual({ extends: true })
    }
  })

  it('N5 works the same on a model that binds thinking to the prefix', async () => {
    const { run, received } = await converse({ boundThinking: true, model: 'claude-opus-5-5' })
    expect(run).toEqual(['github/create_issue', 'slack/create_message'])
    expect(received.every(({ refused }) => refused === undefined)).toBe(true)
  })

  it('W2 an old proxy refuses what a shelf that trusts it sends, and never sees it by default', async () => {
    await expect(converse({ oldProxy: true })).rejects.toThrow(/Extra inputs are not permitted|not supported/)
    await server?.close()
    const { received } = await converse(
      { oldProxy: true },
      { toolSearch: undefined, baseURL: 'http://127.0.0.1:1' },
    )
    expect(received.every(({ refused }) => refused === undefined)).toBe(true)
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

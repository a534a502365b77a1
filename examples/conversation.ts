// `npm start`: the README's loop against the local server, with what was sent and what was saved.
import Anthropic from '@anthropic-ai/sdk'
import { createShelf } from '../src/index.ts'
import { type Received, type ScriptStep, startLocalServer } from './local-server.ts'
import { runTask } from './loop.ts'
import { exampleTools } from './tools.ts'

const task = 'The nightly build failed. File an issue about it and tell #dev on Slack.'
const fileIssue = {
  call: 'mcp__github__create_issue',
  input: { repository: 'shop', title: 'Nightly build failed', body: 'See the log.' },
}
const tellDev = {
  call: 'mcp__slack__create_message',
  input: { workspace: 'shop', channel: '#dev', text: 'The failed build is filed.' },
}
const done = { say: 'Done: the issue is filed and #dev knows.' }

const deferred = await converse(true, [
  { call: 'ToolSearch', input: { query: 'github create issue' } },
  fileIssue,
  { call: 'ToolSearch', input: { query: '+slack create message' } },
  tellDev,
  done,
])
const plain = await converse(false, [fileIssue, tellDev, done])

console.log(`
  ${exampleTools.length} tools; a scripted model; a local server that checks and renders requests as the API does.
  Tokens are estimates of what the model reads, at 2.9 characters each.
`)
print('With Toolshelf', deferred)
print('Without it, all tools in every request', plain)
const saved = Math.round(100 * (1 - total(deferred) / total(plain)))
console.log(`  Saved: ${saved} % of the tokens, searches included.\n`)

async function converse(toolSearch: boolean, script: readonly ScriptStep[]): Promise<readonly Received[]> {
  const server = await startLocalServer(script)
  const client = new Anthropic({ baseURL: server.url, apiKey: 'not-needed' })
  const shelf = createShelf({ tools: exampleTools, toolSearch, contextWindow: 200_000, environment: {} })
  await runTask(client, shelf, 'claude-opus-4-6', task, async ({ name }) => `${name}: ok`)
  await server.close()
  return server.received
}

function print(title: string, received: readonly Received[]): void {
  console.log(`  ${title}\n  request  tools seen  tokens  then the model`)
  received.forEach(({ visible, tokens, deed }, index) => {
    const cells = [index + 1, visible.length, tokens]
    console.log(
      `  ${cells.map((cell, column) => String(cell).padStart([7, 12, 8][column] ?? 0)).join('')}  ${deed}`,
    )
  })
  console.log(`  ${'total'.padStart(19)}${String(total(received)).padStart(8)}\n`)
}

function total(received: readonly Received[]): number {
  return received.reduce((sum, { tokens }) => sum + tokens, 0)
}

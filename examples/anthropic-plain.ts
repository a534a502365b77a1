// Anthropic's SDK and a plain loop: the README's, in loop.ts.
import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import { createShelf } from '@toolshelf/core'
import { runTask } from './loop.ts'
import { expectedDeeds, startOfflineModel, task } from './offline-model.ts'
import { exampleTools } from './tools.ts'

const model = await startOfflineModel()
const client = new Anthropic({ baseURL: model.url, apiKey: 'none' })
const shelf = createShelf({ tools: exampleTools, toolSearch: true })

const ran: string[] = []
await runTask(client, shelf, 'claude-opus-4-6', task, async ({ server, original }) => {
  ran.push(`${server}/${original}`)
  return 'ok'
})
await model.close()

assert.deepEqual(
  model.seen.map(({ action }) => action),
  expectedDeeds,
)
assert.deepEqual(ran, ['github/create_issue', 'github/create_issue', 'slack/create_message'])
console.log(model.saved(shelf))

// Implements CallTools: several calls of servers' tools in one request of the client.
import { setMaxListeners } from 'node:events'
import {
  BATCH_TOOL,
  batchContent,
  callToolsTool,
  errorMessage,
  readBatch,
  runBatch,
} from '@toolshelf/core/internal'
import { ALWAYS_LOAD, type OwnTool } from '../greeting/greeting.ts'
import type { CallOutput } from '../types.ts'
import { type CountedCall, type InnerCalls, progressOf, refuseOwnTool } from './inner-calls.ts'

export { BATCH_TOOL }

/** The tool as clients list it. */
export const gatewayBatchTool: OwnTool = {
  name: BATCH_TOOL,
  title: 'Call several tools',
  description: callToolsTool.description,
  inputSchema: callToolsTool.schema,
  annotations: { readOnlyHint: false, openWorldHint: true },
  _meta: ALWAYS_LOAD,
}

/** Makes the calls and returns one result: for each call a JSON object with what it returned. */
export async function callInBatch(
  input: unknown,
  options: CountedCall,
  { shelf, host, call }: InnerCalls,
): Promise<CallOutput> {
  const calls = readBatch(input)
  if (typeof calls === 'string') return { content: [{ type: 'text', text: calls }], isError: true }
  // Each call adds a listener, and Node warns about more than ten.
  if (options.signal) setMaxListeners(0, options.signal)
  const { byName } = shelf.partition().pool
  const progress = progressOf(options.onProgress, calls.length)
  const outputs = await runBatch(calls, {
    scopeOf: ({ name }) => byName.get(name)?.server ?? name,
    isReadOnly: ({ name, input: own }) => byName.has(name) && host.isReadOnly({ id: name, name, input: own }),
    run: async ({ name, input: own }, index) => {
      const output = await callOne(name, () =>
        call(name, own, { ...options, onProgress: progress.report(index) }),
      )
      options.signal?.throwIfAborted()
      progress.end(index)
      return output
    },
  })
  const results = outputs.map(({ content, structuredContent, isError }, index) => ({
    ...{ name: calls[index]?.name ?? '', content, structuredContent, isFailed: isError === true },
  }))
  return {
    content: batchContent(results) as unknown as CallOutput['content'],
    ...(outputs.every(({ isError }) => isError === true) ? { isError: true } : {}),
  }
}

async function callOne(name: string, call: () => Promise<CallOutput>): Promise<CallOutput> {
  try {
    refuseOwnTool(name, BATCH_TOOL)
    return await call()
  } catch (error) {
    return { content: [{ type: 'text', text: errorMessage(error) }], isError: true }
  }
}

// Implements CallTools and RunScript: several calls of servers' tools in one request of the client, in a list or by a small
// program. Each is an ordinary call; by default a script may call only tools that are known to read only.
import { setMaxListeners } from 'node:events'
import { mcpName, type PoolTool, type Shelf, type TraceListener } from '@toolshelf/core'
import {
  BATCH_TOOL,
  batchContent,
  CALL_TOOL,
  callToolsTool,
  cleanText,
  errorMessage,
  type Fields,
  fieldsOf,
  quote,
  READ_TOOL,
  readBatch,
  runBatch,
  SEARCH_TOOL,
  textOf,
} from '@toolshelf/core/internal'
import type { ClientWork } from '@toolshelf/core/internal/node'
import {
  type CallForScript,
  createScriptRunner,
  remarkAbout,
  runScriptTool,
  SCRIPT_TOOL,
  type ScriptLimits,
  type ScriptRunner,
  toolAt,
  valueOfText,
} from '@toolshelf/scripts'
import { ALWAYS_LOAD, type OwnTool } from '../greeting/greeting.ts'
import type { CallOptions, CallOutput, McpHost, Progress } from '../types.ts'

/** Options of a call of the client, with the work of the message that it belongs to. */
export type CountedCall = CallOptions & { readonly work: ClientWork }

export type CallWay = {
  /** Whether the client calls the tool as its own list defines it, including its output schema. */
  readonly isListed?: boolean
  /** Whether the result stays whole, because it does not go to the model. */
  readonly isWhole?: boolean
  /** Called for a valid call before it runs; rejects to refuse it. */
  readonly permit?: (tool: PoolTool) => Promise<void>
}

/** Makes ordinary calls on behalf of a batch or script. */
export type InnerCalls = {
  readonly shelf: Shelf
  readonly host: McpHost
  /** Makes an ordinary call of a server's tool. */
  call(name: string, input: Fields, options: CountedCall, way?: CallWay): Promise<CallOutput>
  trace(options: CallOptions): TraceListener | undefined
}

const OWN = [SEARCH_TOOL, CALL_TOOL, READ_TOOL, BATCH_TOOL, SCRIPT_TOOL]

/** Rejects calls of the gateway's own tools, which only the client may call. */
function refuseOwnTool(name: string, caller: string): void {
  if (OWN.includes(name)) throw new Error(`${name} cannot be called in ${caller}; call it by itself.`)
}

/**
 * Reports the progress of many calls as one: a finished call counts one, a running call the share that its server reports.
 * The sum never decreases, as the protocol requires.
 */
export function progressOf(onProgress: CallOptions['onProgress'], total: number | undefined) {
  const shares = new Map<number, number>()
  let reported = 0
  const update = (index: number, share: number, message?: string) => {
    shares.set(index, Math.max(share, shares.get(index) ?? 0))
    const progress = [...shares.values()].reduce((sum, one) => sum + one, 0)
    if (progress <= reported) return
    reported = progress
    onProgress?.({
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    })
  }
  return {
    report: (index: number) => (given: Progress) => {
      const share = given.total ? given.progress / given.total : given.progress / (given.progress + 1)
      update(index, Math.min(0.99, Math.max(0, share)), given.message)
    },
    end: (index: number) => update(index, 1),
  }
}

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

export { SCRIPT_TOOL }

export type GatewayScripts = {
  /** Limits in place of the defaults. */
  readonly limits?: Partial<ScriptLimits>
}

export type Scripts = ScriptRunner

/** Creates the runner of scripts; returns undefined if they are switched off. */
export function createScripts(options: boolean | GatewayScripts): Scripts | undefined {
  if (options === false) return undefined
  return createScriptRunner(options === true ? {} : options)
}

/** The tool as clients list it. */
export const gatewayScriptTool: OwnTool = {
  name: SCRIPT_TOOL,
  title: 'Run a script over tools',
  description: runScriptTool.description(SEARCH_TOOL),
  inputSchema: runScriptTool.schema,
  annotations: { readOnlyHint: false, openWorldHint: true },
  _meta: ALWAYS_LOAD,
}

type Block = CallOutput['content'][number]

/** Runs the script; `remark` holds blocks that follow its result. Rejects only if the client cancelled it. */
export async function runScriptFor(
  scripts: Scripts,
  input: unknown,
  options: CountedCall,
  inner: InnerCalls,
): Promise<CallOutput & { readonly remark: readonly Block[] }> {
  const source = textOf(fieldsOf(input).script)
  const call = callsOf(source, options, inner)
  const { signal, work } = options
  const outcome = await scripts.run(source, call, { signal, owner: work.owner })
  options.signal?.throwIfAborted()
  const remark = remarkAbout(outcome)
  return {
    content: [{ type: 'text', text: outcome.text }],
    ...(outcome.state === 'returned' ? {} : { isError: true }),
    remark: remark === '' ? [] : [{ type: 'text', text: remark }],
  }
}

function callsOf(source: string, options: CountedCall, inner: InnerCalls): CallForScript {
  const progress = progressOf(options.onProgress, undefined)
  const approvals = new Map<string, Promise<string | undefined>>()
  let count = 0
  return async ({ path, input }, { signal, askPerson }) => {
    const index = count++
    const [first = '', second] = path
    const found = toolAt(path, inner.shelf.partition().pool)
    const name = found?.name ?? (second === undefined ? first : mcpName(first, second, ''))
    refuseOwnTool(name, 'a script')
    const { questionHandler } = options
    const waiting = questionHandler && {
      ...questionHandler,
      ask: (...question: Parameters<typeof questionHandler.ask>) =>
        askPerson(() => questionHandler.ask(...question)),
    }
    const own: CountedCall = {
      ...options,
      signal,
      ...(waiting ? { questionHandler: waiting } : {}),
      onProgress: progress.report(index),
    }
    const permit = async (tool: PoolTool) => {
      if (inner.host.isReadOnly({ id: name, name, input })) return
      const approval = approvals.get(tool.name) ?? approve({ tool, input, source }, own, inner)
      approvals.set(tool.name, approval)
      const refusal = await approval
      if (refusal !== undefined) throw new Error(refusal)
    }
    const output = await inner.call(name, input, own, { isWhole: true, permit })
    progress.end(index)
    return valueIn(output)
  }
}

type Plan = { readonly tool: PoolTool; readonly input: Fields; readonly source: string }

/** Asks the user once per script and tool, showing the whole script; returns why it is refused, or undefined if it is allowed. */
async function approve(plan: Plan, options: CallOptions, inner: InnerCalls): Promise<string | undefined> {
  const { name, server } = plan.tool
  const refusal = await ask(plan, options)
  const isAllowed = refusal === undefined
  inner.trace(options)?.({ type: 'permission', id: name, name, server, isAllowed })
  return refusal
}

/** Longest script that a person can judge in a dialogue, in characters. */
const MAX_PLAN_LENGTH = 6000
const MAX_INPUT_LENGTH = 1000

async function ask(
  { tool, input, source }: Plan,
  { questionHandler, signal }: CallOptions,
): Promise<string | undefined> {
  const { name } = tool
  const outside = `Call ${name} itself, outside of the script.`
  if (source.length > MAX_PLAN_LENGTH)
    return `${name} may change something, and this script is too long to be shown to the user (${source.length} of ${MAX_PLAN_LENGTH} characters). ${outside}`
  const given = cleanText(JSON.stringify(input))
  const shown = given.length > MAX_INPUT_LENGTH ? `${given.slice(0, MAX_INPUT_LENGTH)}… (cut)` : given
  const message = `A script of the model wants to call ${name}, which may change something. If you allow it, the script may call this tool as often as it likes, with any input.\n\nThe first call: ${name}(${shown})\n\nThe script:\n${cleanText(source)}`
  const property = { type: 'boolean', title: `Let this script call ${name}`, default: false }
  const requestedSchema = { type: 'object', properties: { allow: property }, required: ['allow'] }
  try {
    if (!questionHandler) throw new Error('nobody can be asked')
    const answer = await questionHandler.ask('elicitation/create', { message, requestedSchema }, signal)
    const isAllowed = answer.action === 'accept' && fieldsOf(answer.content).allow === true
    return isAllowed ? undefined : `The user does not let this script call ${name}.`
  } catch (error) {
    return `${name} may change something. Scripts run only tools that are known to read only: with "readOnlyHint", of a server that the user trusts (rule "readonly:<server>"). The user could not be asked: ${errorMessage(error)}. ${outside}`
  }
}

/** Returns a result as the script gets it. Omits structured content that only wraps the text. */
function valueIn({ content, structuredContent, isError }: CallOutput): unknown {
  const text = content.map(textIn).join('\n')
  if (isError === true) throw new Error(text || 'the tool failed without saying why')
  if (structuredContent === undefined) return valueOfText(text)
  const values = Object.values(fieldsOf(structuredContent))
  return values.length === 1 && values[0] === text ? text : structuredContent
}

function textIn(block: Block): string {
  if (block.type === 'text') return textOf(block.text)
  const { text } = fieldsOf(block.resource)
  if (typeof text === 'string') return text
  return `[${block.type}${block.mimeType === undefined ? '' : ` of type ${quote(block.mimeType)}`}]`
}

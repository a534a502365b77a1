// What a server lists → its tools, one by one: a definition that is wrong costs only itself.

import { cut } from '../../core/errors.ts'
import { estimateTokens } from '../../core/index.ts'
import { matchesAny } from '../../core/tools/wildcard.ts'
import type { ListedTool, ServerConfig, ToolProblem } from '../types.ts'
import { headerFault } from './param-headers.ts'

export type ReadTools = {
  readonly tools: readonly ListedTool[]
  readonly problems: readonly ToolProblem[]
  /** What was listed, without what cannot be written down. */
  readonly listed: readonly unknown[]
}

const LARGE_TOKENS = 20_000
/** A search reads every word of it. */
const LONGEST_DEFINITION = 2_000_000
const LONGEST_NAME = 200

/** `mirrorsArguments`: over this connection some arguments travel as headers, too. */
export function readTools(listed: readonly unknown[], mirrorsArguments = false): ReadTools {
  const tools: ListedTool[] = []
  const problems: ToolProblem[] = []
  const names = new Set<string>()
  const readable = listed.flatMap((entry, index) => {
    const length = lengthOf(entry)
    if (length !== undefined && length <= LONGEST_DEFINITION) return [{ entry, length }]
    const { name } = entry as Partial<ListedTool>
    const message = `its definition is ${length === undefined ? 'nested too deeply' : 'too large'}`
    const shown = typeof name === 'string' ? cut(name, LONGEST_NAME) : `number ${index + 1}`
    problems.push({ tool: shown, kind: 'dropped', message })
    return []
  })
  readable.forEach(({ entry, length }, index) => {
    const tool = entry as Partial<ListedTool> | null
    if (typeof tool !== 'object' || tool === null || typeof tool.name !== 'string' || tool.name === '') {
      problems.push({ tool: `number ${index + 1}`, kind: 'dropped', message: 'it has no name' })
    } else if (names.has(tool.name)) {
      problems.push({
        tool: tool.name,
        kind: 'dropped',
        message: 'it is listed twice; the first one is used',
      })
    } else {
      names.add(tool.name)
      const fault = taskFault(tool) ?? (mirrorsArguments ? headerFault(tool.inputSchema) : undefined)
      if (fault) problems.push({ tool: tool.name, kind: 'dropped', message: fault })
      else tools.push(mend(tool as ListedTool, length, (problem) => problems.push(problem)))
    }
  })
  return { tools, problems, listed: readable.map(({ entry }) => entry) }
}

/** Tasks are an agreement between a client and one server, which is not ours to make. */
function taskFault({ execution }: Partial<ListedTool>): string | undefined {
  const isTask = (execution as { taskSupport?: unknown } | undefined)?.taskSupport === 'required'
  return isTask ? 'it runs only as a task, which cannot be passed through' : undefined
}

/** Of its JSON. Some are nested deeper than that can be written, by servers that mean harm. */
function lengthOf(entry: unknown): number | undefined {
  try {
    return JSON.stringify(entry)?.length ?? 0
  } catch {
    return undefined
  }
}

/** The same object when nothing was wrong with it. */
function mend(tool: ListedTool, length: number, report: (problem: ToolProblem) => void): ListedTool {
  const repaired = (message: string) => report({ tool: tool.name, kind: 'repaired', message })
  let mended = tool
  if (tool.description !== undefined && typeof tool.description !== 'string') {
    repaired('its description is no text and was left out')
    const { description: _, ...rest } = mended
    mended = rest as ListedTool
  }
  const schema = tool.inputSchema as { readonly type?: unknown } | null | undefined
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    repaired('it has no input schema; it takes any object')
    mended = { ...mended, inputSchema: { type: 'object' } }
  } else if (schema.type !== 'object') {
    repaired(
      `its input schema ${schema.type === undefined ? 'has no type' : `is of type ${JSON.stringify(schema.type)}`}; "object" was put there`,
    )
    mended = { ...mended, inputSchema: { ...schema, type: 'object' } }
  }
  const output = tool.outputSchema
  if (output !== undefined && (typeof output !== 'object' || output === null)) {
    repaired('its output schema is no schema and was left out')
    const { outputSchema: _, ...rest } = mended
    mended = rest as ListedTool
  }
  if (length < LARGE_TOKENS) return mended
  const tokens = estimateTokens(JSON.stringify([tool.description, tool.inputSchema]))
  if (tokens > LARGE_TOKENS) {
    const message = `its definition takes about ${tokens} tokens each time it is loaded`
    report({ tool: tool.name, kind: 'large', message })
  }
  return mended
}

/** Which tools the configuration shows. */
export function isAllowed(tool: string, { allow, deny }: Pick<ServerConfig, 'allow' | 'deny'>): boolean {
  return (allow.length === 0 || matchesAny(allow, tool)) && !matchesAny(deny, tool)
}

// Defines the tool that runs scripts, and writes the answer that the model gets.
import type { PoolTool } from '@toolshelf/core'
import type { ScriptOutcome } from './types.ts'

export const SCRIPT_TOOL = 'RunScript'

/** The tool's definition, without the fields whose names differ between the API and MCP. The same for all servers. */
export const runScriptTool = {
  name: SCRIPT_TOOL,
  description: (searchTool: string) =>
    `Runs a JavaScript program that calls tools; only what it returns reaches you. Use it for loops, counts and joins over many results. Call tools with await tools.<server>.<tool>({…}) or tools["<full name>"]({…}): JSON results come parsed, others as text; errors are thrown. Find tools and their inputs with ${searchTool} first. No files, network, timers or modules.`,
  schema: {
    type: 'object',
    properties: {
      script: {
        type: 'string',
        description:
          'Body of an async function, e.g. const all = await tools.github.list_issues({ repo: "a/b" }); return all.length',
      },
    },
    required: ['script'],
  },
} as const

/** Finds the tool that a script's path refers to, by its name on the shelf, or by its server's and its own name. */
export function toolAt(
  path: readonly string[],
  tools: { readonly byName: ReadonlyMap<string, PoolTool>; readonly tools: readonly PoolTool[] },
): PoolTool | undefined {
  const [first = '', second] = path
  if (second === undefined) return tools.byName.get(first)
  return (
    tools.byName.get(`mcp__${first}__${second}`) ??
    tools.byName.get(`${first}__${second}`) ??
    tools.tools.find(({ server, original }) => server === first && original === second)
  )
}

/** Returns the value that a script gets for a text result: parsed if it is a JSON object or list, else the text. */
export function valueOfText(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Returns what to add to a script's text: the calls it made if it failed, what was cancelled, and its console output. */
export function remarkAbout({ state, calls, log }: ScriptOutcome): string {
  const unfinished = calls.filter(({ outcome }) => outcome === 'unfinished').length
  return [
    state === 'failed' && calls.length > 0 ? `Calls that it made: ${counted(calls)}.` : '',
    unfinished > 0 && state === 'returned'
      ? `${unfinished} calls that it did not await were cancelled; whether they took effect is not known.`
      : '',
    log === '' ? '' : `Console:\n${log.trimEnd()}`,
  ]
    .filter((part) => part !== '')
    .join('\n')
}

const MAX_NAMED = 20

function counted(calls: ScriptOutcome['calls']): string {
  const counts = new Map<string, number>()
  for (const { tool, outcome } of calls) {
    const key = `${tool.slice(0, 200)} ${outcome}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const named = [...counts]
    .slice(0, MAX_NAMED)
    .map(([key, count]) => (count === 1 ? key : `${count} × ${key}`))
  const rest = counts.size - named.length
  return named.join(', ') + (rest > 0 ? ` and ${rest} other kinds` : '')
}

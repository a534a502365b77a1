// The deferred tool `RunScript`: a small program over the other tools, in a sandbox. Its calls are permitted and shown
// each under its own name; what it returns goes to the model, their results do not.

import type { Shelf, ToolResult, ToolUse } from '../../core/index.ts'
import { blocksOf } from '../../core/oracle/index.ts'
import { MCP_PREFIX } from '../../lib/index.ts'
import {
  createScriptRunner,
  remarkAbout,
  runScriptTool,
  SCRIPT_TOOL,
  type ScriptLimits,
  toolAt,
  valueOfText,
} from '../../sandbox/index.ts'
import type { AgentTool, ScriptPlan, ToolContext } from '../types.ts'
import { isOnlyForModel } from './batch.ts'

/** Options of `createScriptTool`. */
export type ScriptToolOptions = {
  /** Holds the tools that scripts may call. */
  readonly shelf: Shelf
  /** Limits in place of the defaults. */
  readonly limits?: Partial<ScriptLimits>
}

/**
 * Creates the tool RunScript for an agent.
 *
 * @example
 * createAgent({ client, model, shelf, runner: host, tools: [createScriptTool({ shelf })] })
 */
export function createScriptTool({ shelf, limits = {} }: ScriptToolOptions): AgentTool {
  const runner = createScriptRunner({ limits })
  return {
    name: SCRIPT_TOOL,
    description: runScriptTool.description(shelf.searchTool),
    searchHint: 'loop over many calls, count, join, aggregate results, program, code',
    shouldDefer: true,
    input_schema: runScriptTool.schema,
    isReadOnly: true,
    async run({ script }, context) {
      const made: ToolUse[] = []
      const plan: ScriptPlan = { source: String(script ?? ''), calls: made }
      const outcome = await runner.run(
        plan.source,
        async ({ path, input }, { signal, askPerson }) => {
          const name = toolAt(path, shelf.partition().pool)?.name ?? nameOf(path)
          const call = { id: `${context.call.id}_${made.length + 1}`, name, input }
          made.push(call)
          // The script's time limit does not run during a call: a person may be asked, and each call has its own timeout.
          return valueIn(await askPerson(() => callOne(call, context, plan, signal)))
        },
        { signal: context.signal },
      )
      const remark = remarkAbout(outcome)
      const text = [outcome.text, remark].filter((part) => part !== '').join('\n\n')
      if (outcome.state !== 'returned') throw new Error(text)
      return text
    },
  }
}

function nameOf([first = '', second]: readonly string[]): string {
  return second === undefined ? first : `${MCP_PREFIX}${first}__${second}`
}

async function callOne(
  call: ToolUse,
  context: ToolContext,
  script: ScriptPlan,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { callTool } = context
  if (!callTool || isOnlyForModel(call.name, context))
    throw new Error(`${call.name} cannot be called in a script; call it itself.`)
  return callTool(call, { signal, isWhole: true, script })
}

/** A result as the script gets it; errors are thrown. */
function valueIn({ content, is_error }: ToolResult): unknown {
  const text = blocksOf(content)
    .map((block) => (block.type === 'text' ? String(block.text) : `[${block.type}]`))
    .join('\n')
  if (is_error) throw new Error(text || 'the tool failed without saying why')
  return valueOfText(text)
}

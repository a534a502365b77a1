// The deferred tool `CallTools`: several calls of other tools in one, each with its own result.
import {
  BATCH_TOOL,
  type BatchCall,
  type Block,
  batchContent,
  callToolsTool,
  readBatch,
  runBatch,
  type ToolUse,
} from '../../core/index.ts'
import { blocksOf } from '../../core/oracle/index.ts'
import { splitToolName } from '../../lib/index.ts'
import { SCRIPT_TOOL } from '../../sandbox/index.ts'
import type { AgentTool, ToolContext } from '../types.ts'

const NOT_INSIDE: readonly string[] = [BATCH_TOOL, SCRIPT_TOOL, 'Agent', 'Skill']

/** Whether only the model itself may call a tool, not a batch or a script. */
export function isOnlyForModel(name: string, { searchTool }: ToolContext): boolean {
  return name === searchTool || NOT_INSIDE.includes(name)
}

/** Creates the tool. Its calls are permitted and shown each under its own name. */
export function createBatchTool(): AgentTool {
  return {
    name: BATCH_TOOL,
    description: callToolsTool.description,
    searchHint: 'many calls at once parallel batch several tools',
    shouldDefer: true,
    input_schema: callToolsTool.schema,
    isReadOnly: true,
    async run(input, context) {
      const { call, callTool, isReadOnly = () => false } = context
      const calls = readBatch(input)
      if (typeof calls === 'string') throw new Error(calls)
      const use = ({ name, input: own }: BatchCall, index: number): ToolUse => ({
        id: `${call.id}_${index + 1}`,
        name,
        input: own,
      })
      const results = await runBatch(calls, {
        scopeOf: ({ name }) => splitToolName(name)?.server ?? '',
        isReadOnly: (one) => isReadOnly(use(one, 0)),
        run: async (one, index) => {
          if (!callTool || isOnlyForModel(one.name, context))
            return {
              content: `${one.name} cannot be called in ${BATCH_TOOL}; call it itself.`,
              is_error: true,
            }
          return callTool(use(one, index))
        },
      })
      const named = results.map(({ content, is_error }, index) => ({
        ...{ name: calls[index]?.name ?? '', content: blocksOf(content), isFailed: is_error === true },
      }))
      return batchContent(named) as Block[]
    },
  }
}

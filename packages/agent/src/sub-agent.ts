// The tool `Agent`: runs a task in a sub-agent with the same tools and its own conversation, and returns one answer (U1).
import type { Trace } from '@toolshelf/core'
import { createAgent } from './agent.ts'
import type { AgentOptions, AgentTool, EndReason, PermissionRequest } from './types.ts'

/** What a sub-agent shares with the agent that calls it. */
type SubAgentOptions = Omit<AgentOptions, 'messages' | 'onHistory' | 'tools' | 'enrich'> & {
  /** The tools of the sub-agent; the tool `Agent` among them is left out. */
  readonly tools: readonly AgentTool[]
}

const AGENT = 'Agent'

/**
 * Creates a tool with which the model gives a task to an agent of its own. `shared` is called for each task, because the
 * model may have changed in between.
 *
 * @example
 * const tools = createBuiltInTools({ directory: process.cwd() })
 * const subAgents = createAgentTool(() => ({ client, model, shelf, tools }))
 * const agent = createAgent({ client, model, shelf, tools: [...tools, subAgents] })
 */
export function createAgentTool(shared: () => SubAgentOptions): AgentTool {
  return {
    name: AGENT,
    description:
      'Gives a task to an agent of its own, which has the same tools and sees nothing of this conversation: say all it must know. Answers with its last words. Good for searching widely without filling this conversation; several can run at once.',
    input_schema: {
      type: 'object',
      properties: {
        description: { type: 'string', description: 'The task in three to five words.' },
        prompt: { type: 'string', description: 'The whole task.' },
      },
      required: ['description', 'prompt'],
    },
    isReadOnly: true,
    async run({ prompt }, { call, signal, emit }) {
      const { tools, shelf, permission, trace, ...rest } = shared()
      const own = tools.filter(({ name }) => name !== AGENT)
      const asking = permission && {
        permission: (request: PermissionRequest) => permission({ ...request, agent: call }),
      }
      const agent = createAgent({
        ...rest,
        ...asking,
        trace: withoutTurns(trace),
        shelf: shelf.fork(),
        tools: own,
      })
      let said = ''
      for await (const event of agent.send(String(prompt), { signal })) {
        emit(event)
        if (event.type === 'request' || event.type === 'retry') said = ''
        if (event.type === 'text') said += event.text
        if (event.type === 'end' && event.reason !== 'done')
          throw new Error(endedEarly(event.reason, event.error, said))
      }
      return said === '' ? 'The sub-agent said nothing.' : said
    },
  }
}

/** The work of a sub-agent is part of its caller's turn. */
function withoutTurns(trace: AgentOptions['trace']): AgentOptions['trace'] {
  const listener = (event: Trace) => {
    if (event.type !== 'turn') trace?.(event)
  }
  return trace && Object.assign(listener, { traceId: trace.traceId })
}

/** The answer of a sub-agent that ended early, with its text so far. */
function endedEarly(reason: EndReason, error: string | undefined, said: string): string {
  return `the sub-agent ended (${reason}): ${error ?? 'no reason given'}${said === '' ? '' : `\nIt had said so far: ${said}`}`
}

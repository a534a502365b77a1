// An agent written with an SDK, in the process of the test: a loop that takes a conversation further.
import type { Agent } from './agent-suite.ts'
import type { Home } from './gateway.ts'
import { connectServers, type PlainTool } from './servers.ts'

/** How often such a loop may ask the model before it gives up. */
export const MAX_STEPS = 8

/** A conversation that grows: takes all messages, answers with the new ones and its last words. */
export type Loop = (
  messages: readonly object[],
) => Promise<{ readonly text: string; readonly added: readonly object[] }>

/** The tools of all servers of a home, and one conversation. */
export async function converser(
  home: Pick<Home, 'servers'>,
  makeLoop: (tools: readonly PlainTool[]) => Promise<Loop>,
): Promise<Agent> {
  const { tools, called, close } = await connectServers(home)
  const loop = await makeLoop(tools)
  const messages: object[] = []
  return {
    async ask(text) {
      messages.push({ role: 'user', content: text })
      const { text: answer, added } = await loop(messages)
      messages.push(...added)
      return answer
    },
    called,
    stop: async () => void (await close()),
  }
}

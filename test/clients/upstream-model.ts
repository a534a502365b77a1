// A model as the gateway meets one, behind any of the three APIs: `toolshelf serve` with a script in its place, which
// hides nothing. Its log is what went upstream. An agent may also speak to it directly, for the figures without Toolshelf.
import { scriptWith } from './conversation.ts'
import type { Home } from './gateway.ts'
import { type Entry, type Serving, startServing } from './serving.ts'

export type Chain = {
  readonly model: Serving
  readonly gateway: Serving
  stop(): Promise<void>
}

/** `upstream`: the API between the gateway and the model, as `--upstream` names it; '' for the Messages API. */
export async function startChain(
  node: string,
  home: Home,
  upstream: '' | 'openai:' | 'responses:',
  ...options: readonly string[]
): Promise<Chain> {
  const model = await startModelServer(node, home)
  const address = upstream === '' ? model.url : `${upstream}${model.url}/v1`
  const words = ['--upstream', address, '--mode', 'shelve', ...options]
  const gateway = await startServing(node, home, ...words)
  return {
    model,
    gateway,
    async stop() {
      await gateway.stop()
      await model.stop()
    },
  }
}

export function startModelServer(node: string, home: Home): Promise<Serving> {
  const script = home.write('script.json', scriptWith({}))
  return startServing(node, home, '--upstream', `script:${script}`, '--mode', 'off')
}

export function tokensOf(log: readonly Entry[]): number {
  return log.reduce((sum, { tokensWith }) => sum + tokensWith, 0)
}

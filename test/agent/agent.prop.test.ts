// Random conversations, stopped and compacted at random places: every request is valid, and no tool is ever lost.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Agent, AgentEvent } from '../../packages/agent/src/types.ts'
import { runs } from '../../packages/testkit/src/runs.ts'
import { echo, heard, over, refusals, runnerOn, scripted, serverTools, shelfWith, whole } from './support.ts'

const NAMES = ['alpha', 'beta', 'gamma', 'delta']

const script = scripted(
  { when: 'use (\\w+) and (\\w+)', do: [{ calls: ['1', '2'].map(callOf) }, { say: '{{result}}' }] },
  { when: 'think (\\w+)', do: [{ think: 'well' }, callOf('1'), { say: 'I thought' }, { call: 'Echo' }] },
  { when: 'fail', do: [{ fail: { status: 400, message: 'no' } }] },
  { when: 'cut', do: [{ cut: true }, { say: 'this is cut in the middle' }] },
  { do: [{ say: 'ok' }] },
)
function callOf(group: string) {
  return { call: `/_{{${group}}}$/`, input: { city: 'Oslo' } }
}

const name = fc.constantFrom(...NAMES)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(name, name).map(([one, other]) => `use ${one} and ${other}`) },
  { weight: 2, arbitrary: name.map((one) => `think ${one}`) },
  fc.constantFrom('hello', 'fail', 'cut', 'compact', 'preload gamma', 'resume'),
)
/** After how many events the turn is stopped, or left by its listener. */
const interruption = fc.option(fc.record({ after: fc.nat(12), isLeft: fc.boolean() }), {
  freq: 3,
  nil: undefined,
})

async function play(
  agent: Agent,
  text: string,
  interrupted: { after: number; isLeft: boolean } | undefined,
): Promise<AgentEvent[]> {
  const stop = new AbortController()
  const events: AgentEvent[] = []
  const { signal } = stop
  for await (const event of text === 'compact' ? agent.compact({ signal }) : agent.send(text, { signal })) {
    events.push(event)
    if (interrupted && events.length > interrupted.after) {
      if (interrupted.isLeft) break
      stop.abort()
    }
  }
  return events
}

/** `append` changes the tools in front of everything, so it is nothing for models that bind their thinking. */
const backEnds = fc.constantFrom(
  { model: 'claude-opus-4-5', wire: 'reference' } as const,
  { model: 'claude-opus-5-5', wire: 'reference' } as const,
  { model: 'claude-opus-4-5', wire: 'append' } as const,
  { model: 'claude-opus-5-5', wire: 'bridge' } as const,
)

const loadedIn = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'result' ? event.loaded : []))

test('every request is valid and nothing loaded is lost', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, interruption), { minLength: 1, maxLength: 14 }),
      backEnds,
      fc.constantFrom(700, 100_000),
      async (steps, { model, wire }, contextWindow) => {
        const backEnd = whole({ ...script, boundThinking: model === 'claude-opus-5-5' })
        const shelf = shelfWith(serverTools('greek', ...NAMES), { wire })
        const options = {
          ...{ shelf, runner: runnerOn(shelf), tools: [echo('Echo')], model, contextWindow, retries: 1 },
          preload: (text: string) => (text.startsWith('preload') ? ['mcp__greek__gamma'] : []),
        }
        let current = over(backEnd, options)
        const loaded = new Set<string>()
        for (const [text, interrupted] of steps) {
          if (text === 'resume') {
            const messages = JSON.parse(JSON.stringify(current.agent.messages))
            const again = shelf.fork({
              isSubAgent: false,
              state: JSON.parse(JSON.stringify(current.shelf.state())),
            })
            current = over(backEnd, { ...options, shelf: again, messages })
          }
          const events = await play(current.agent, text, interrupted)
          if (!interrupted) for (const one of loadedIn(events)) loaded.add(one)
          expect(refusals(backEnd)).toEqual([])
        }
        const [request] = (await heard(current.agent.send('hello'))).filter(
          (event) => event.type === 'request',
        )
        expect(refusals(backEnd)).toEqual([])
        expect(request?.type === 'request' ? request.sent.loaded : []).toEqual(
          expect.arrayContaining([...loaded]),
        )
      },
    ),
    { numRuns: runs(12) },
  )
})

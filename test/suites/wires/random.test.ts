// What must hold along any conversation, whatever happens in it.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endOnFailure, runs, seedOr } from '../../../packages/testkit/src/runs.ts'
import { BOUND_MODEL, type Loose, MODEL } from '../../../packages/testkit/src/talk.ts'
import {
  explainBreak,
  extendsPrefix,
  foldHistory,
  renderRequest,
  validateRequest,
  visibleTools,
} from '../../doors.ts'
import { type Check, isReferenceType, MODELS, RandomTalk, type Sent, type Setup } from './random-talk.ts'
import { type Kind, type Step, stepOf, stepsOf } from './steps.ts'
import { anyCatalogue } from './tools.ts'

const tries = runs(24)
const seed = seedOr(20261101)
/** More runs get more time; a property that runs out of it ends early, without a word. */
const MAX_TIME = 120_000 * Math.max(1, tries / 30)

const turns: readonly Kind[] = ['say', 'search', 'call', 'interrupt', 'retry']
const arrivals: readonly Kind[] = ['connect', 'pending', 'failed', 'long']
const everything: readonly Kind[] = [
  ...[...turns, ...arrivals, 'leave', 'steady', 'model', 'switch', 'fork'],
  ...['compact', 'snip', 'drop', 'resume', 'wire', 'flip', 'edit', 'relist', 'refuse', 'mode'],
] as Kind[]

const option = {
  wire: fc.constantFrom('reference', 'addition', 'append', 'bridge', 'hosted', undefined),
  provider: fc.constantFrom(
    ...Array(4).fill('anthropic'),
    'bedrock',
    'vertex',
    'foundry',
    'openai-compatible',
  ),
  additions: fc.constantFrom('reference', 'value'),
  announce: fc.constantFrom('delta', 'prepend'),
  strategy: fc.constantFrom('on-demand', 'staged'),
  tombstones: fc.boolean(),
  cacheControl: fc.constantFrom(undefined, { type: 'ephemeral' }),
  toolSearch: fc.constantFrom(...Array(6).fill(undefined), 'auto'),
  contextWindow: fc.constantFrom(undefined, undefined, 3000),
  results: fc.constantFrom(false, { budget: 200 }),
  maxResults: fc.constantFrom(undefined, 1, 20),
} as const

const anySetup: fc.Arbitrary<Setup> = fc.record({
  options: fc.record(option),
  host: fc.constantFrom('carry', 'own'),
  model: fc.constantFrom(...MODELS),
  thinks: fc.boolean(),
  catalogue: fc.option(anyCatalogue, { nil: undefined }),
})

/** On the reference wire, with nothing that is known to edit what was sent. */
function steadySetup(model: string, more: { tombstones?: boolean } = {}): fc.Arbitrary<Setup> {
  return fc.record({
    options: fc
      .record({
        ...{ wire: fc.constant('reference' as const), strategy: option.strategy },
        provider: fc.constantFrom('anthropic', 'bedrock', 'vertex', 'foundry'),
      })
      .map((options) => ({ ...options, ...more })),
    host: fc.constantFrom('carry', 'own'),
    model: fc.constant(model),
    thinks: fc.constant(true),
  })
}

async function holds(
  setup: fc.Arbitrary<Setup>,
  step: fc.Arbitrary<Step>,
  property: (setup: Setup, steps: readonly Step[]) => Promise<unknown>,
): Promise<void> {
  const parameters = { seed, numRuns: tries, interruptAfterTimeLimit: MAX_TIME / 2, endOnFailure }
  await fc.assert(
    fc.asyncProperty(setup, stepsOf(step), async (one, steps) => void (await property(one, steps))),
    parameters,
  )
}

/** Along any conversation at all, this holds at each request. */
function always(...checks: readonly Check[]): Promise<void> {
  return holds(anySetup, stepOf(everything), plays(...checks))
}

const except = (...kinds: readonly Kind[]) => everything.filter((kind) => !kinds.includes(kind))

function plays(...checks: readonly Check[]) {
  return (setup: Setup, steps: readonly Step[]) => new RandomTalk(setup, checks).play(steps)
}

const isOpen = ({ prepared }: Sent) => prepared.decision.open
const wireOf = ({ prepared }: Sent) => prepared.decision.wire
const speaksReferences = (sent: Sent) => isOpen(sent) && isReferenceType(wireOf(sent))
const namesOf = (tools: Loose[]): string[] => tools.map(({ name }) => name)
const sorted = (names: Iterable<string>) => [...names].sort()

const isAccepted: Check = ({ request, betas }) => {
  expect(validateRequest(request, { betas })?.body.error.message).toBeUndefined()
}

const isAcceptedByOldProxies: Check = (sent) => {
  if (speaksReferences(sent)) return
  // A header stays once it was sent (Q4), but for the kill switch.
  const betas = sent.killed ? sent.betas : []
  expect(validateRequest(sent.request, { betas, isOldProxy: true })?.body.error.message).toBeUndefined()
}

const nothingLeaks: Check = (sent) => {
  if (sent.killed) expect(sent.prepared.headers).toEqual({})
  if (speaksReferences(sent)) return
  const traces = [
    'tool_reference',
    'defer_loading',
    '"caller"',
    'server_tool_use',
    '"tool_search_tool',
    'tool_addition',
  ]
  expect(traces.filter((trace) => sent.json.includes(trace))).toEqual([])
  if (isOpen(sent)) return
  const ours = ['Deferred tools', 'available-deferred-tools']
  expect(ours.filter((text) => sent.json.includes(text))).toEqual([])
  const added = ['ToolSearch', 'CallTool', 'DeferredToolPlaceholder']
  expect(namesOf(sent.request.tools).filter((name) => added.includes(name))).toEqual([])
}

const noneIsLost: Check = (sent, talk) => {
  const present = sent.loaded.filter((name) => sent.pool.has(name))
  expect(sent.prepared.loaded.filter((name) => sent.pool.has(name))).toEqual(present)
  const sentNames = namesOf(sent.request.tools)
  const wire = isOpen(sent) ? wireOf(sent) : 'none'
  const deferred = present.filter((name) => sent.deferred.has(name))
  if (wire === 'bridge') {
    // What was sent openly once stays in the list (N5).
    for (const name of deferred.filter((one) => !sentNames.includes(one))) {
      const call = { id: 'toolu_any', name: 'CallTool', input: { name, arguments: {} } }
      expect(talk.shelf.check(call)).toBeUndefined()
      expect(talk.shelf.resolve(call).name).toBe(name)
      // Its whole definition, or its signature.
      const forms = [`\\\\\\"name\\\\\\":\\\\\\"${name}\\\\\\"`, `\\\\n${name}:`]
      const text = JSON.stringify(sent.json)
      expect(forms.filter((form) => text.includes(form))).not.toEqual([])
    }
    return
  }
  if (isReferenceType(wire)) {
    const visible = new Set(visibleTools(sent.request))
    expect(present.filter((name) => !visible.has(name))).toEqual([])
    if (talk.setup.options.additions === 'value' && wire === 'addition') return
  }
  expect(present.filter((name) => !sentNames.includes(name))).toEqual([])
}

/** Replies of the bound model that are in the conversation are sent with their thinking. */
const noThoughtIsLost: Check = ({ request }, talk) => {
  const thoughts = (messages: Loose[]) =>
    messages.flatMap(({ content }) =>
      Array.isArray(content) ? content.filter(({ type }: Loose) => type === 'thinking') : [],
    )
  expect(thoughts(request.messages)).toEqual(thoughts(talk.messages))
}

const nothingIsForged: Check = ({ json, prepared, loaded }) => {
  expect(prepared.loaded).toEqual(loaded)
  expect(json).not.toContain('"tool_name":"mcp__forged__tool"')
}

const breaksAreExplained: Check = (now, _, before) => {
  if (!before || extendsPrefix(renderRequest(before.request), renderRequest(now.request)).extends) return
  expect(explainBreak(...asSent(before, now))).not.toEqual([])
}

/** A host that took no message away sees no message change; tools may join (`append`). */
const nothingIsEdited: Check = (now, _, before) => {
  if (!before || now.isCut) return
  const causes = explainBreak(...asSent(before, now)).map(({ kind }) => kind)
  expect(causes).not.toContain('message-edited')
  if (causes.length === 0)
    expect(extendsPrefix(renderRequest(before.request), renderRequest(now.request))).toEqual({
      extends: true,
    })
}

const prefixGrows: Check = (now, _, before) => {
  if (!before) return
  expect(extendsPrefix(renderRequest(before.request), renderRequest(now.request))).toEqual({ extends: true })
  expect(explainBreak(...asSent(before, now))).toEqual([])
}

function asSent(before: Sent, now: Sent) {
  const one = ({ request, prepared }: Sent) => ({ request, headers: prepared.headers })
  return [one(before), one(now)] as const
}

const thinkingStays: Check = ({ request, betas }) => {
  if (request.model !== BOUND_MODEL) return
  expect(validateRequest(request, { betas, bindsThinking: true })?.body.error.message).toBeUndefined()
}

/** With calls of unloaded tools refused: exactly the tools that the request carried can be called (V2). */
const whatWasSentIsKnown: Check = (sent, talk) => {
  if (!isOpen(sent) || wireOf(sent) === 'bridge') return
  const visible = new Set(visibleTools(sent.request))
  const isRefused = (name: string) => talk.shelf.check({ id: 'toolu_any', name, input: {} }) !== undefined
  expect([...sent.pool].filter(isRefused).sort()).toEqual(
    [...sent.pool].filter((name) => !visible.has(name)).sort(),
  )
}

/** A second shelf may put its list of names before the messages, and nothing else anywhere. */
const isStable: Check = async (sent, talk) => {
  if (sent.request.model === BOUND_MODEL) return
  const second = talk.openShelf({ announce: 'prepend', state: sent.prepared.state })
  const { request } = await second.prepare({
    ...sent.request,
    tools: undefined,
    messages: sent.request.messages,
  })
  const again = JSON.parse(JSON.stringify(request.messages))
  const added = again.length - sent.request.messages.length
  expect(again.slice(added)).toEqual(sent.request.messages)
  expect(again.slice(0, added).every(({ content }: Loose) => content.startsWith('<available-deferred'))).toBe(
    true,
  )
}

const isRepeatable: Check = async (sent, talk) => {
  const again = await talk.shelf.prepare({
    model: sent.request.model,
    max_tokens: 100,
    messages: talk.messages,
  })
  expect(JSON.stringify(again.request)).toBe(sent.json)
  expect(again.headers).toEqual(sent.prepared.headers)
}

const isTheSameElsewhere: Check = async (sent, talk) => {
  const { messages, state } = sent.saved
  const other = talk.openShelf({ state: JSON.parse(state) })
  const { request, headers } = await other.prepare({
    model: sent.request.model,
    max_tokens: 100,
    messages: JSON.parse(messages),
  })
  expect(JSON.stringify(request)).toBe(sent.json)
  expect(headers).toEqual(sent.prepared.headers)
}

const foldsAgree: Check = (sent) => {
  if (!isOpen(sent) || wireOf(sent) === 'append') return
  const open = namesOf(sent.request.tools.filter((tool: Loose) => tool.defer_loading !== true))
  const known = (messages: Loose[]) =>
    sorted(
      [...foldHistory(messages, 'ToolSearch').loaded].filter(
        (name) => sent.deferred.has(name) && sent.pool.has(name) && !open.includes(name),
      ),
    )
  expect(known(sent.request.messages)).toEqual(known(sent.prepared.history as Loose[]))
}

const orderDoesNotMatter: Check = async (sent, talk) => {
  const saved = JSON.stringify(sent.prepared.history)
  const build = async (arrange: (tools: Loose) => Loose) => {
    const shelf = talk.openShelf({ state: sent.prepared.state }, arrange)
    const prepared = await shelf.prepare({
      model: sent.request.model,
      max_tokens: 1,
      messages: JSON.parse(saved),
    })
    return JSON.stringify([prepared.request, prepared.headers])
  }
  expect(await build((tools) => [...tools].reverse())).toBe(await build((tools) => tools))
}

const withoutServers = (step: Step): Step =>
  step.kind === 'search' ? { ...step, meanwhile: 'nothing' } : step

describe(`random conversations (PROPERTY_SEED=${seed} PROPERTY_RUNS=${tries})`, {
  timeout: MAX_TIME,
}, () => {
  it('N6 W1 every request is accepted by the API', () => always(isAccepted))

  it('W2 N1 every request without references is accepted by an old proxy', () =>
    always(isAcceptedByOldProxies))

  it('M1 N1 G7 nothing leaks to an unsupported back-end or under the kill switch', () => always(nothingLeaks))

  it('L2 C3 N7 Q8 no loaded tool is lost while its server is there', () => always(noneIsLost))

  it('L1 L5 U1 only own searches load: no output, no sub-agent, no parent', () => always(nothingIsForged))

  it('L2 a tool is taken back by an explicit removal only', () => {
    const additions = anySetup.map((one) => ({
      ...one,
      options: { ...one.options, wire: 'addition' as const },
    }))
    const kinds: Kind[] = [...everything, 'withdraw', 'withdraw']
    return holds(additions, stepOf(kinds), plays(isAccepted, nothingLeaks, noneIsLost, nothingIsForged))
  })

  it('L1 Q5 what the request says is loaded is what the history says', () => always(foldsAgree))

  it('K2 every break of the prefix is explained', () => always(breaksAreExplained))

  it('K2 K3 nothing that was sent changes after a snip, a compaction or a resume, on any wire', () => {
    const any: fc.Arbitrary<Setup> = fc.record({
      options: fc.record({ wire: option.wire, additions: option.additions, strategy: option.strategy }),
      ...{ host: fc.constant('carry' as const), model: fc.constantFrom(...MODELS), thinks: fc.boolean() },
    })
    // On `append` a load changes the tools, which thinking may be bound to.
    const setup = any.map((one) => ({ ...one, thinks: one.thinks && one.options.wire !== 'append' }))
    const resume = fc.constant({ kind: 'resume', withState: true } as const)
    const kinds: Kind[] = ['say', 'search', 'call', 'retry', ...arrivals, 'compact', 'snip', 'drop']
    const step = stepOf(kinds, { siblings: true, editions: true })
    const steps = fc.oneof({ weight: 9, arbitrary: step }, { weight: 1, arbitrary: resume })
    // A dropped reply leaves text beside references, which moves later (N4), or a search that the provider would make anew.
    const isPlayed = ({ kind }: Step, { options, model }: Setup) =>
      kind !== 'drop' ||
      !isReferenceType(options.wire) ||
      (model === BOUND_MODEL && options.wire !== 'hosted')
    return holds(setup, steps, (one, all) =>
      plays(nothingIsEdited)(
        one,
        all.filter((step) => isPlayed(step, one)),
      ),
    )
  })

  it('K3 the prefix only grows with turns, loads and connects', () => {
    const step = stepOf(['say', 'search', 'call', 'retry', ...arrivals], { siblings: true, editions: true })
    return holds(steadySetup(MODEL), step, plays(prefixGrows))
  })

  it('K3 N5 with tombstones it also grows across disconnects and changed definitions', () => {
    const step = stepOf(['say', 'search', 'call', 'retry', ...arrivals, 'leave'], { siblings: true })
    return holds(steadySetup(MODEL, { tombstones: true }), step, plays(prefixGrows))
  })

  it('V2 exactly the tools that the last request carried count as sent', () => {
    // The plain catalogue: an empty input fits all its schemas.
    const refusing = anySetup.map((one) => ({
      ...{ ...one, catalogue: undefined },
      options: { ...one.options, unloadedCalls: 'refuse' as const, results: false },
    }))
    return holds(refusing, stepOf(everything), plays(whatWasSentIsKnown))
  })

  it('N5 thinking of prefix-bound models stays whole while nothing that was sent must change', () => {
    const step = stepOf([...turns, ...arrivals, 'leave', 'fork'])
    return holds(
      steadySetup(BOUND_MODEL),
      step,
      plays(isAccepted, thinkingStays, noThoughtIsLost, noneIsLost),
    )
  })

  it('N5 N7 whatever happens, no thinking is sent that is bound to something else', () => {
    const bound = fc.tuple(anySetup, fc.boolean()).map(([one, isBound]) => ({
      ...{ ...one, thinks: true },
      model: isBound ? BOUND_MODEL : one.model,
    }))
    const resume = fc.constant({ kind: 'resume', withState: true } as const)
    const step = stepOf(except('resume'))
    const steps = fc.oneof({ weight: 9, arbitrary: step }, { weight: 1, arbitrary: resume })
    return holds(bound, steps, plays(isAccepted, thinkingStays, noneIsLost))
  })

  it('N5 it stays valid when the last deferrable tool leaves', () => {
    const bare = steadySetup(BOUND_MODEL).map((setup) => ({ ...setup, bare: true }))
    return holds(bare, stepOf(['say', 'search', 'connect', 'leave']), plays(thinkingStays))
  })

  // A second shelf knows of no refusal.
  it('N6 normalising twice is normalising once', () =>
    holds(anySetup, stepOf(except('refuse')), plays(isStable)))

  it('Q3 the same state gives the same bytes again', () => always(isRepeatable))

  it('Q3 the same steps give the same bytes on another shelf', () =>
    holds(anySetup, stepOf(everything), async (setup, steps) => {
      const bytes = async () => (await new RandomTalk(setup, []).play(steps)).sent.map(({ json }) => json)
      expect(await bytes()).toEqual(await bytes())
    }))

  it('Q3 a host that keeps its own array sends the same bytes as one that carries ours', () =>
    holds(
      anySetup,
      stepOf(except('snip', 'drop', 'resume', 'wire', 'mode', 'edit')),
      async (setup, steps) => {
        const bytes = async (host: Setup['host']) =>
          (await new RandomTalk({ ...setup, host }, []).play(steps)).sent.map(({ json }) => json)
        expect(await bytes('own')).toEqual(await bytes('carry'))
      },
    ))

  it('Q3 another process that has the messages and the state sends the same bytes', () => {
    const carrying = anySetup.map((one) => ({ ...one, host: 'carry' as const }))
    return holds(carrying, stepOf(except('refuse', 'fork', 'drop')), plays(isTheSameElsewhere))
  })

  it('L5 U1 no sub-agent changes a byte of the conversation that started it', () => {
    const kinds: Kind[] = [...everything, 'fork', 'fork']
    // What servers do meanwhile is no sub-agent's doing.
    const calm = stepOf(kinds).map((step) =>
      step.kind === 'fork' ? { ...step, steps: step.steps.map(withoutServers) } : step,
    )
    return holds(anySetup, calm, async (setup, steps) => {
      const bytes = async (played: readonly Step[]) =>
        (await new RandomTalk(setup, []).play(played)).sent.map(({ json }) => json)
      const [alone, beside] = [await bytes(steps.filter(({ kind }) => kind !== 'fork')), await bytes(steps)]
      const first = alone.findIndex((json, index) => json !== beside[index])
      expect(beside[first]).toBe(alone[first])
    })
  })

  it('C4 what a compaction of the API loads is loaded', () => {
    const steady = anySetup.map((one) => ({ ...one, model: MODEL }))
    const kinds: Kind[] = [
      'say',
      'search',
      'call',
      'connect',
      'squeeze',
      'squeeze',
      'compact',
      'wire',
      'resume',
    ]
    return holds(steady, stepOf(kinds), plays(isAccepted, noneIsLost, nothingIsForged))
  })

  it('C4 a compaction of the API is sent again as it came', () => {
    const step = stepOf(['say', 'search', 'call', 'squeeze', 'squeeze', 'connect'])
    const compactions = (messages: readonly Loose[]) =>
      messages.flatMap(({ content }) =>
        Array.isArray(content) ? content.filter(({ type }: Loose) => type === 'compaction') : [],
      )
    const areKept: Check = ({ request }, { messages }) =>
      expect(compactions(request.messages)).toEqual(compactions(messages))
    return holds(steadySetup(MODEL), step, plays(areKept))
  })

  it('Q3 the order in which tools were added does not matter', () => always(orderDoesNotMatter))
})

// Whatever happens to the model's API, and wherever: the client gets the whole reply or a clear error, and can go on.
import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { runs, seedOr } from '../../../packages/testkit/src/runs.ts'
import type { Api } from './clients.ts'
import { anySetup, converse } from './conversation.ts'
import { upstreams, wires } from './gateways.ts'
import { anyScript, type Block, type Failure, shownOf } from './model.ts'

const seed = seedOr(20261119)
const numRuns = runs(24)
const parameters = { seed, numRuns, ...(process.env.PROPERTY_SHRINK === 'off' ? { endOnFailure: true } : {}) }
const apis: readonly Api[] = ['messages', 'chat', 'responses']

const anyFailure: fc.Arbitrary<Failure> = fc.record({
  sampling: fc.nat(4),
  event: fc.nat(24),
  how: fc.constantFrom('refuses', 'throws', 'ends', 'reports', 'hangs'),
})

describe(`an API that fails (PROPERTY_SEED=${seed} PROPERTY_RUNS=${numRuns})`, () => {
  for (const api of apis)
    it.each(upstreams)(
      `a client of ${api} gets the whole reply or an error, and goes on, before %s`,
      (kind) =>
        fc.assert(
          fc.asyncProperty(anySetup(api, kind), anyScript, anyFailure, async (setup, script, failure) => {
            const { exchanges, errors, model } = await converse(setup, script, failure)
            for (const { reply, samplings } of exchanges) {
              const { blocks, stop, usage } = shownOf(samplings)
              const said = (all: readonly Block[]) =>
                all.map((block) => ('text' in block ? block.text : '')).join('')
              const called = (all: readonly Block[]) => all.filter((block) => 'call' in block)
              expect([reply.stop, reply.usage, said(reply.blocks), called(reply.blocks)]).toEqual([
                ...[stop, usage, said(blocks), called(blocks)],
              ])
            }
            if (model.failed.length === 0) expect(errors).toEqual([])
            // What cannot be reached for a moment is tried again.
            else if (failure.how !== 'ends' && wires.some((wire) => wire === kind))
              expect(errors).toHaveLength(1)
            const isPassed = setup.mode === 'pass'
            for (const error of errors) {
              const message = String((error as Error).message)
              if (failure.how === 'hangs')
                expect(error).toBeInstanceOf(
                  api === 'messages' ? Anthropic.APIUserAbortError : OpenAI.APIUserAbortError,
                )
              else if (failure.how === 'refuses' || failure.how === 'reports') expect(message).toMatch(/busy/)
              else if (!isPassed) expect(message).toMatch(/broke|ended before|does not start|upstream/)
              else expect(message).not.toBe('')
            }
            if (failure.how === 'hangs' && model.failed.length > 0) expect(model.aborted).toContain(true)
          }),
          parameters,
        ),
    )
})

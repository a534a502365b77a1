// What can happen in a random conversation, as plain data that fast-check makes and shrinks.

import fc from 'fast-check'

/** The forms of a query (S1–S4), and what no query should be (S12). */
export type Form =
  | 'keyword'
  | 'select'
  | 'required'
  | 'exact'
  | 'prefix'
  | 'mixed'
  | 'odd'
  | 'nonsense'
  | 'empty'
  | 'broken'

/** A second search, a tool that is loaded, or any tool. */
export type Beside = 'search' | 'loaded' | 'any'

export type Step =
  | { readonly kind: 'say' | 'interrupt' | 'retry' }
  | {
      readonly kind: 'search'
      readonly form: Form
      readonly pick: number
      readonly limit: number | undefined
      /** What is called in the same message. */
      readonly beside: readonly Beside[]
      /** Each result in a user message of its own. */
      readonly spread: boolean
      readonly sibling: 'none' | 'same' | 'next'
      /** What a server does between the call and its answer. */
      readonly meanwhile: 'nothing' | 'connect' | 'leave'
    }
  | {
      readonly kind: 'call'
      readonly which: 'loaded' | 'any' | 'unknown'
      readonly pick: number
      readonly sibling: 'none' | 'same' | 'next'
    }
  | { readonly kind: 'connect' | 'relist'; readonly pick: number; readonly edition: number }
  /** A call whose result is too long to be sent whole. */
  | { readonly kind: 'long'; readonly pick: number }
  /** The back-end refuses our blocks. */
  | { readonly kind: 'refuse' }
  /** The API compacts by itself. */
  | { readonly kind: 'squeeze'; readonly pick: number }
  | { readonly kind: 'mode'; readonly to: boolean | 'auto' | 'auto:1' }
  | { readonly kind: 'leave' | 'pending' | 'failed' | 'model' | 'withdraw' | 'wire'; readonly pick: number }
  | { readonly kind: 'steady' | 'switch'; readonly on: boolean }
  /** A built-in becomes critical or ordinary; one starts or is ready (D5, D6). */
  | { readonly kind: 'flip'; readonly which: 'isCritical' | 'isStarting'; readonly on: boolean }
  /** The host replaces one of its own earlier messages. */
  | { readonly kind: 'edit'; readonly pick: number }
  | { readonly kind: 'fork'; readonly steps: readonly Step[] }
  | { readonly kind: 'compact'; readonly way: 'full' | 'keep' | 'memory'; readonly keep: number }
  | { readonly kind: 'snip'; readonly every: number }
  /** Single messages go, halves of pairs among them: by the shelf, or by the host itself. */
  | {
      readonly kind: 'drop'
      readonly pick: number
      readonly every: number
      readonly by: 'shelf' | 'host'
    }
  | { readonly kind: 'resume'; readonly withState: boolean }

export type Kind = Step['kind']

const pick = fc.nat(11)
const sibling = fc.constantFrom('none', 'none', 'same', 'next')
const kind = <Name extends Kind>(name: Name) => fc.constant(name)

/** What is kept out: text beside results, definitions that change under their name. */
export type Without = { readonly siblings?: boolean; readonly editions?: boolean }

/** Arbitrary steps of these kinds. */
export function stepOf(kinds: readonly Kind[], without: Without = {}): fc.Arbitrary<Step> {
  const beside = without.siblings
    ? fc.constant('none' as const)
    : (sibling as fc.Arbitrary<'none' | 'same' | 'next'>)
  const meanwhiles = [
    'nothing',
    'nothing',
    'connect',
    ...(kinds.includes('leave') ? ['leave' as const] : []),
  ] as const
  const form = fc.constantFrom<Form>(
    ...(['keyword', 'select', 'select', 'required', 'exact', 'prefix', 'mixed'] as const),
    ...(['odd', 'nonsense', 'empty', 'broken'] as const),
  )
  const search = fc.record({
    ...{ kind: kind('search'), form, pick, spread: fc.boolean() },
    limit: fc.constantFrom(undefined, undefined, 1, 0, 1e9),
    beside: fc.array(fc.constantFrom<Beside>('search', 'loaded', 'any'), { maxLength: 3 }),
    sibling: beside,
    meanwhile: fc.constantFrom(...meanwhiles),
  })
  const which = fc.constantFrom('loaded', 'loaded', 'any', 'unknown')
  const small = fc.array(fc.oneof(fc.record({ kind: kind('say') }), search), { minLength: 1, maxLength: 3 })
  const choices: Record<Kind, fc.Arbitrary<object>> = {
    say: fc.record({ kind: kind('say') }),
    interrupt: fc.record({ kind: kind('interrupt') }),
    retry: fc.record({ kind: kind('retry') }),
    search,
    call: fc.record({ kind: kind('call'), which, pick, sibling: beside }),
    connect: fc.record({
      kind: kind('connect'),
      pick,
      edition: without.editions ? fc.constant(0) : fc.nat(2),
    }),
    relist: fc.record({ kind: kind('relist'), pick, edition: fc.nat(2) }),
    long: fc.record({ kind: kind('long'), pick: fc.nat(2) }),
    refuse: fc.record({ kind: kind('refuse') }),
    squeeze: fc.record({ kind: kind('squeeze'), pick }),
    mode: fc.record({ kind: kind('mode'), to: fc.constantFrom(true, true, false, 'auto', 'auto:1') }),
    leave: fc.record({ kind: kind('leave'), pick }),
    pending: fc.record({ kind: kind('pending'), pick }),
    failed: fc.record({ kind: kind('failed'), pick }),
    model: fc.record({ kind: kind('model'), pick }),
    withdraw: fc.record({ kind: kind('withdraw'), pick }),
    steady: fc.record({ kind: kind('steady'), on: fc.boolean() }),
    flip: fc.record({
      ...{ kind: kind('flip'), which: fc.constantFrom('isCritical', 'isStarting') },
      on: fc.boolean(),
    }),
    edit: fc.record({ kind: kind('edit'), pick }),
    switch: fc.record({ kind: kind('switch'), on: fc.constantFrom(true, false, false) }),
    fork: fc.record({ kind: kind('fork'), steps: small }),
    compact: fc.record({
      ...{ kind: kind('compact'), way: fc.constantFrom('full', 'keep', 'memory') },
      keep: fc.integer({ min: 1, max: 9 }),
    }),
    snip: fc.record({ kind: kind('snip'), every: fc.integer({ min: 1, max: 4 }) }),
    drop: fc.record({
      ...{ kind: kind('drop'), pick, every: fc.integer({ min: 2, max: 9 }) },
      by: fc.constantFrom('shelf', 'host'),
    }),
    wire: fc.record({ kind: kind('wire'), pick }),
    resume: fc.record({ kind: kind('resume'), withState: fc.boolean() }),
  }
  const weights: Partial<Record<Kind, number>> = {
    ...{ search: 6, call: 4, connect: 3, say: 2, leave: 2, compact: 2, snip: 2, resume: 2 },
  }
  const arbitraries = kinds.map((name) => ({ weight: weights[name] ?? 1, arbitrary: choices[name] }))
  return fc.oneof(...arbitraries) as fc.Arbitrary<Step>
}

/** Mostly a few dozen steps, at times a few hundred. */
export function stepsOf(step: fc.Arbitrary<Step>, longest = 300): fc.Arbitrary<readonly Step[]> {
  return fc.oneof(
    { weight: 15, arbitrary: fc.array(step, { maxLength: 12, size: 'max' }) },
    { weight: 15, arbitrary: fc.array(step, { maxLength: 40, size: 'max' }) },
    { weight: 1, arbitrary: fc.array(step, { minLength: 100, maxLength: longest, size: 'max' }) },
  )
}

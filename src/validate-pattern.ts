// Regular expressions from untrusted schemas, matched in time linear in the text: the pattern becomes a
// graph of states that are all followed at once, so no pattern, however nested, can make us backtrack.

/** A pattern ready to test texts; `size` times the text's length bounds the work of one test. */
export type Pattern = { readonly size: number; readonly test: (text: string) => boolean }

/** Undefined: not a JavaScript pattern, too large, or one with look-around or back-references. */
export function compilePattern(source: string): Pattern | undefined {
  try {
    new RegExp(source, 'u')
    const reader: Reader = { source, position: 0, size: 1 }
    const start = readChoice(reader)(accepted)
    return { size: reader.size, test: (text) => search(start, text) }
  } catch {
    return undefined
  }
}

/** Whether JavaScript's own engine is fast enough too: at most one group, one quantifier, and not on the group. */
export function isPlainPattern(source: string): boolean {
  const plain = source.replaceAll('(?:', '(')
  const groups = plain.split('(').length - 1
  const quantifiers = plain.split(/[*+?{]/).length - 1
  return (
    groups <= 1 && quantifiers <= 1 && !/\(\?|\)[*+?{]/.test(plain) && compilePattern(source) !== undefined
  )
}

const mostStates = 5_000
const mostRepeats = 1_000

/** A state reads one character, or asserts something between two, or (neither) leads on freely. */
type State = {
  readonly reads?: (character: string) => boolean
  readonly asserts?: (before: string, after: string) => boolean
  readonly next: State[]
}

/** A part of the pattern: given the state that follows it, builds its own and returns the first. */
type Part = (next: State) => State

type Reader = { readonly source: string; position: number; size: number }

const accepted: State = { next: [] }

function search(start: State, text: string): boolean {
  let heads: State[] = []
  let before = ''
  for (const after of text) {
    const reached = follow([...heads, start], before, after)
    if (reached.has(accepted)) return true
    heads = []
    for (const state of reached) if (state.reads?.(after)) heads.push(...state.next)
    before = after
  }
  return follow([...heads, start], before, '').has(accepted)
}

function follow(pending: State[], before: string, after: string): Set<State> {
  const reached = new Set<State>()
  for (let state = pending.pop(); state; state = pending.pop()) {
    if (reached.has(state)) continue
    reached.add(state)
    if (!state.reads && (!state.asserts || state.asserts(before, after))) pending.push(...state.next)
  }
  return reached
}

function readChoice(reader: Reader): Part {
  const choices = [readSequence(reader)]
  while (take(reader, /\|/y)) choices.push(readSequence(reader))
  const [only] = choices
  if (only && choices.length === 1) return only
  return (next) => grow(reader, { next: choices.map((choice) => choice(next)) })
}

function readSequence(reader: Reader): Part {
  const parts: Part[] = []
  while (reader.position < reader.source.length && !/[|)]/.test(reader.source[reader.position] ?? '')) {
    parts.push(readRepeats(reader, readAtom(reader)))
  }
  return (next) => parts.reduceRight((following, part) => part(following), next)
}

function readAtom(reader: Reader): Part {
  if (take(reader, /\((?:\?:|\?<\w+>|(?!\?))/y)) {
    const inside = readChoice(reader)
    take(reader, /\)/y)
    return inside
  }
  const assertion = take(reader, /\^|\$|\\[bB]/y)
  if (assertion) return (next) => grow(reader, { asserts: assertions[assertion], next: [next] })
  const character = take(
    reader,
    /\[(?:\\.|[^\]\\])*\]|\\(?:x..|u\{\w+\}|u(?![dD][89a-fA-F])\w{4}|c.|[pP]\{.+?\}|[^1-9xuckpP])|[^\\(]/suy,
  )
  if (!character) throw new Error('unsupported')
  const reads = readsOne(character)
  return (next) => grow(reader, { reads, next: [next] })
}

const isWord = (character: string) => /^\w$/.test(character)

const assertions: { readonly [text: string]: (before: string, after: string) => boolean } = {
  '^': (before) => before === '',
  $: (_before, after) => after === '',
  '\\b': (before, after) => isWord(before) !== isWord(after),
  '\\B': (before, after) => isWord(before) === isWord(after),
}

function readsOne(source: string): (character: string) => boolean {
  if (!/^[[\\.]/.test(source)) return (character) => character === source
  const expression = new RegExp(`^${source}$`, 'u')
  return (character) => expression.test(character)
}

function readRepeats(reader: Reader, part: Part): Part {
  const quantifier = take(reader, /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y)
  if (!quantifier) return part
  const [least, most] = bounds(quantifier)
  if (least > mostRepeats || (most !== Infinity && most > mostRepeats)) throw new Error('too many repeats')
  return (next) => {
    let first = next
    if (most === Infinity) {
      first = grow(reader, { next: [next] })
      first.next.push(part(first))
    } else {
      for (let count = least; count < most; count += 1) first = grow(reader, { next: [part(first), next] })
    }
    for (let count = 0; count < least; count += 1) first = grow(reader, part(first))
    return first
  }
}

function bounds(quantifier: string): [number, number] {
  if (quantifier.startsWith('*')) return [0, Infinity]
  if (quantifier.startsWith('+')) return [1, Infinity]
  if (quantifier.startsWith('?')) return [0, 1]
  const [least = '', most = least] = quantifier.replace(/[{}?]/g, '').split(',')
  return [Number(least), most === '' ? Infinity : Number(most)]
}

function grow(reader: Reader, state: State): State {
  reader.size += 1
  if (reader.size > mostStates) throw new Error('too large')
  return state
}

function take(reader: Reader, token: RegExp): string {
  token.lastIndex = reader.position
  const text = token.exec(reader.source)?.[0] ?? ''
  reader.position += text.length
  return text
}

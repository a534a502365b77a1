// What may run: asked one by one, in the order of the calls; an answer may hold for the rest of the session.
import type { Permission } from '../../agent/types.ts'
import { matchesAny } from '../../core/tools/wildcard.ts'
import { visible } from './rows.ts'

export type Question = {
  readonly name: string
  /** What it would be given. */
  readonly detail: string
  /** How many more are waiting. */
  readonly others: number
}

export type Answer = 'once' | 'always' | 'no'

export type Questions = {
  readonly permission: Permission
  readonly decide: (answer: Answer) => void
}

type Asked = Omit<Question, 'others'> & { readonly answer: (allowed: true | string) => void }

/** `show` is told of the question to answer now, and of none. */
export function createQuestions(
  allowed: readonly string[],
  show: (question: Question | undefined) => void,
): Questions {
  const always = [...allowed]
  let open: Asked[] = []
  const showFirst = () => {
    const [first] = open
    show(first && { name: first.name, detail: first.detail, others: open.length - 1 })
  }
  const settle = (isSettled: (asked: Asked) => boolean, allow: true | string) => {
    const settled = open.filter(isSettled)
    open = open.filter((asked) => !isSettled(asked))
    for (const { answer } of settled) answer(allow)
    showFirst()
  }
  return {
    permission({ call, signal }) {
      if (matchesAny(always, call.name)) return true
      return new Promise((answer) => {
        const asked = { name: call.name, detail: detailOf(call.input), answer }
        open.push(asked)
        signal.addEventListener('abort', () => settle((one) => one === asked, STOPPED), { once: true })
        showFirst()
      })
    },
    decide(answer) {
      const [first] = open
      if (!first) return
      if (answer === 'always') always.push(first.name)
      const isAnswered = (one: Asked) => one === first || (answer === 'always' && one.name === first.name)
      settle(isAnswered, answer === 'no' ? REFUSED : true)
    },
  }
}

const STOPPED = 'The user stopped this call.'
const REFUSED = 'The user does not allow this call. Ask what to do instead.'

function detailOf(input: unknown): string {
  const fields = Object.entries((input ?? {}) as object)
  const lines = fields.map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return visible(lines.join('\n'))
}

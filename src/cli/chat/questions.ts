// What may run: asked one by one, in the order of the calls; an answer may hold for the rest of the session.
import type { Permission } from '../../agent/types.ts'
import type { ToolUse } from '../../core/index.ts'
import { matchesAny } from '../../core/tools/wildcard.ts'
import { visible } from './rows.ts'

export type Question = {
  readonly name: string
  /** What it would be given. */
  readonly detail: string
  /** The task of the sub-agent that asks. */
  readonly task: string | undefined
  /** How many more are waiting. */
  readonly others: number
}

export type Answer = 'once' | 'always' | 'no'

export type Questions = {
  readonly permission: Permission
  readonly decide: (answer: Answer) => void
}

type Asked = {
  readonly question: Omit<Question, 'others'>
  readonly answer: (allowed: true | string) => void
}

/** `show` is told of the question to answer now, and of none. */
export function createQuestions(
  allowed: readonly string[],
  show: (question: Question | undefined) => void,
): Questions {
  const always = [...allowed]
  let open: Asked[] = []
  const showFirst = () => {
    const [first] = open
    show(first && { ...first.question, others: open.length - 1 })
  }
  const settle = (isSettled: (asked: Asked) => boolean, allow: true | string) => {
    const settled = open.filter(isSettled)
    open = open.filter((asked) => !isSettled(asked))
    for (const { answer } of settled) answer(allow)
    showFirst()
  }
  return {
    permission({ call, signal, agent }) {
      if (matchesAny(always, call.name)) return true
      return new Promise((answer) => {
        const question = { name: call.name, detail: detailOf(call.input), task: agent && taskOf(agent) }
        const asked = { question, answer }
        open.push(asked)
        signal.addEventListener('abort', () => settle((one) => one === asked, STOPPED), { once: true })
        showFirst()
      })
    },
    decide(answer) {
      const [first] = open
      if (!first) return
      const { name } = first.question
      if (answer === 'always') always.push(name)
      const isAnswered = (one: Asked) => one === first || (answer === 'always' && one.question.name === name)
      settle(isAnswered, answer === 'no' ? REFUSED : true)
    },
  }
}

const STOPPED = 'The user stopped this call.'
const REFUSED = 'The user does not allow this call. Ask what to do instead.'

const LONGEST_TASK = 40

function taskOf({ input }: ToolUse): string {
  const { description } = (input ?? {}) as { readonly description?: unknown }
  const text = visible(String(description ?? '')).replaceAll('\n', ' ')
  return text.length > LONGEST_TASK ? `${text.slice(0, LONGEST_TASK - 1)}…` : text
}

function detailOf(input: unknown): string {
  const fields = Object.entries((input ?? {}) as object)
  const lines = fields.map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return visible(lines.join('\n'))
}

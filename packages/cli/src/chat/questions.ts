// Asks the user about calls one at a time, in order of arrival; an answer may apply to later calls, too.
import type { PermissionAnswer, PermissionQuestion, ScriptPlan } from '@toolshelf/agent/internal'
import type { ToolUse } from '@toolshelf/core'
import { visible } from '../terminal/table.ts'
import { changeTitle, diffLines } from './parts.ts'
import { plainText, type StyledLine } from './styled.ts'

export type Question = {
  readonly name: string
  /** What the call would do: its input, or the change of a file. */
  readonly detail: readonly StyledLine[]
  /** Rules that a lasting answer would add; empty if the call can only be allowed once. */
  readonly suggested: readonly string[]
  /** The task of the sub-agent that asks. */
  readonly task: string | undefined
  /** How many more are waiting. */
  readonly others: number
}

/** What the user can answer: allow once or by a rule, or refuse. */
export type Answer = 'once' | 'session' | 'project' | 'user' | 'no'

export type Questions = ReturnType<typeof createQuestions>

type Asked = {
  readonly shown: Omit<Question, 'others'>
  readonly question: PermissionQuestion
  readonly answer: (answer: PermissionAnswer) => void
}

/** Creates a queue. It calls `show` with the question to answer now, or with undefined if there is none. */
export function createQuestions(show: (question: Question | undefined) => void) {
  let open: Asked[] = []
  const showFirst = () => {
    const [first] = open
    show(first && { ...first.shown, others: open.length - 1 })
  }
  const settle = (isSettled: (asked: Asked) => boolean, answer: PermissionAnswer) => {
    const settled = open.filter(isSettled)
    open = open.filter((asked) => !isSettled(asked))
    for (const one of settled) one.answer(answer)
    showFirst()
  }
  return {
    async ask(question: PermissionQuestion) {
      const { call, agent, suggested, signal } = question
      const detail = await detailOf(question)
      if (signal.aborted) return STOPPED
      const shown = { name: call.name, detail, suggested, task: agent && taskOf(agent) }
      return new Promise<PermissionAnswer>((answer) => {
        const asked = { shown, question, answer }
        open.push(asked)
        signal.addEventListener('abort', () => settle((one) => one === asked, STOPPED), { once: true })
        showFirst()
      })
    },
    decide(answer: Answer) {
      const [first] = open
      if (!first) return
      const isLasting = answer !== 'once' && answer !== 'no'
      if (isLasting && first.shown.suggested.length === 0) return
      settle((one) => one === first, answer)
      // The added rules, or the approved script, may answer other questions.
      if (isLasting || (answer === 'once' && first.question.script))
        setImmediate(() => settle(({ question }) => question.isAllowed(), 'once'))
    },
  }
}

const STOPPED = { refusal: 'The user stopped this call.' }

const MAX_TASK_LENGTH = 40

function taskOf({ input }: ToolUse): string {
  const { description } = (input ?? {}) as { readonly description?: unknown }
  const text = visible(String(description ?? '')).replaceAll('\n', ' ')
  return text.length > MAX_TASK_LENGTH ? `${text.slice(0, MAX_TASK_LENGTH - 1)}…` : text
}

const MAX_LINES = 400

async function detailOf(question: PermissionQuestion): Promise<StyledLine[]> {
  return [...(await callLines(question)), ...(question.script ? scriptLines(question.script) : [])]
}

/** The whole plan: the script, and how often it has called which tools. */
function scriptLines({ source, calls }: ScriptPlan): StyledLine[] {
  const counts = new Map<string, number>()
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1)
  const made = [...counts].map(([name, count]) => `${visible(name)} × ${count}`).join(', ')
  return [
    line('A script makes this call; "once" allows all its calls of this tool. The script:', 'yellow'),
    ...visible(source)
      .split('\n')
      .map((one) => line(one)),
    line(`Its calls so far: ${made}`, 'yellow'),
  ]
}

async function callLines({ call, accesses, change }: PermissionQuestion): Promise<StyledLine[]> {
  const places = accesses.flatMap(({ path, kind, isInside, isLinked }) => {
    const does = kind === 'read' ? 'reads' : 'changes'
    if (!isInside) return [line(`${does} outside of the working folder: ${visible(path)}`, 'yellow')]
    return isLinked ? [line(`by a link, ${does}: ${visible(path)}`, 'yellow')] : []
  })
  const made = await change()
  if (made) return [...places, line(changeTitle(made)), ...diffLines(made, MAX_LINES)]
  return [...places, ...inputLines(call.input)]
}

function inputLines(input: unknown): StyledLine[] {
  const fields = Object.entries((input ?? {}) as object)
  const text = fields
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')
  return visible(text)
    .split('\n')
    .map((one) => line(one))
}

function line(text: string, color?: string): StyledLine {
  return { spans: [color === undefined ? { text } : { text, color }] }
}

/** Returns how many characters of a question are not in these lines. */
export function hiddenIn({ detail }: Question, shown: readonly StyledLine[]): number {
  const length = (lines: readonly StyledLine[]) =>
    lines.reduce((sum, one) => sum + plainText(one).length + 1, 0)
  return length(detail) - length(shown)
}

const ALWAYS = ['[a] always in this session', '[p] in this folder', '[u] everywhere']

/** The keys that answer a question, in lines of at most this many columns; none is broken. */
export function choiceLines(mayAlways: boolean, columns: number): string[] {
  const lines: string[] = []
  for (const choice of ['[y] yes', ...(mayAlways ? ALWAYS : []), '[n] no']) {
    const longer = `${lines.at(-1)}  ${choice}`
    if (lines.length > 0 && longer.length <= columns) lines[lines.length - 1] = longer
    else lines.push(choice)
  }
  return lines
}

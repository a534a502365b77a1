// A chat as state that changes and tells so; the screen only shows it. Nothing here knows of a terminal.
import type { Permission } from '../../agent/types.ts'
import { matchesAny } from '../permissions.ts'
import type { Session } from '../session.ts'
import { type Desk, runSlash, slashes } from './commands.ts'
import { follow, newTurn, type Turn, type TurnLine, turnLines } from './turn.ts'

/** A line that has been said and will not change. */
export type Item = TurnLine | { readonly kind: 'user' | 'told'; readonly text: string }

export type ChatState = {
  readonly items: readonly Item[]
  readonly turn: Turn | undefined
  readonly asking: { readonly name: string; readonly detail: string } | undefined
  readonly isVerbose: boolean
  /** Below the line to type in. */
  readonly hint: string
}

export type Chat = {
  readonly state: () => ChatState
  readonly subscribe: (listener: () => void) => () => void
  /** The session that it is about, which needs the chat's permission to be opened. */
  readonly attach: (session: Session) => void
  readonly permission: Permission
  readonly send: (text: string) => Promise<void>
  /** Stops the turn; with none running, asks once more and then ends. */
  readonly interrupt: () => void
  readonly decide: (answer: 'once' | 'always' | 'no') => void
  readonly quit: () => void
  readonly onEnd: (listener: () => void) => void
  /** Something that servers or the disk have to say. */
  readonly notify: (message: string) => void
}

type Question = {
  readonly name: string
  readonly detail: string
  readonly answer: (allowed: true | string) => void
}

const HINT = '/help shows the commands'

export function createChat(options: {
  readonly welcome: readonly string[]
  readonly allowed: readonly string[]
}): Chat {
  const listeners = new Set<() => void>()
  const always = [...options.allowed]
  let state: ChatState = {
    items: options.welcome.map((text) => ({ kind: 'told', text })),
    turn: undefined,
    asking: undefined,
    isVerbose: false,
    hint: HINT,
  }
  let session: Session | undefined
  let questions: Question[] = []
  let stop: AbortController | undefined
  let isLeaving = false
  let lastRequest: object | undefined
  let loaded: readonly string[] = []
  let end = () => {}

  const change = (next: Partial<ChatState>) => {
    state = { ...state, ...next }
    for (const listener of listeners) listener()
  }
  const say = (items: readonly Item[]) => change({ items: [...state.items, ...items] })
  const tell = (lines: readonly string[]) => say(lines.map((text) => ({ kind: 'told', text })))
  const showQuestion = () => change({ asking: questions[0] })

  async function run(events: AsyncIterable<Parameters<typeof follow>[1]>): Promise<Turn> {
    for await (const event of events) {
      if (event.type === 'request') {
        lastRequest = event.sent.request
        loaded = event.sent.loaded
      }
      if (event.type === 'result') loaded = [...new Set([...loaded, ...event.loaded])]
      change({ turn: follow(state.turn ?? newTurn, event) })
    }
    return state.turn ?? newTurn
  }

  /** A turn, or whatever else can be stopped. */
  async function working(
    work: (signal: AbortSignal) => AsyncIterable<Parameters<typeof follow>[1]>,
  ): Promise<Turn> {
    stop = new AbortController()
    change({ turn: newTurn, hint: HINT })
    const turn = await run(work(stop.signal))
    stop = undefined
    change({ turn: undefined })
    return turn
  }

  const desk = (open: Session): Desk => ({
    session: open,
    lastRequest: () => lastRequest,
    loaded: () => loaded,
    isVerbose: () => state.isVerbose,
    setVerbose: (isVerbose) => change({ isVerbose }),
    compact: async () => (await working((signal) => open.agent.compact({ signal }))).notices,
    quit: () => end(),
  })

  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    attach(opened) {
      session = opened
    },
    permission({ call, signal }) {
      if (matchesAny(always, call.name)) return true
      return new Promise((resolve) => {
        const question = { name: call.name, detail: detailOf(call.input), answer: resolve }
        questions.push(question)
        signal.addEventListener('abort', () => {
          questions = questions.filter((one) => one !== question)
          showQuestion()
          resolve('The user stopped this call.')
        })
        showQuestion()
      })
    },
    decide(answer) {
      const question = questions.shift()
      if (!question) return
      if (answer === 'always') always.push(question.name)
      question.answer(answer === 'no' ? 'The user does not allow this call. Ask what to do instead.' : true)
      const isNowAllowed = ({ name }: Question) => answer === 'always' && name === question.name
      for (const same of questions.filter(isNowAllowed)) same.answer(true)
      questions = questions.filter((one) => !isNowAllowed(one))
      showQuestion()
    },
    async send(text) {
      if (!session || state.turn) return
      isLeaving = false
      say([{ kind: 'user', text }])
      if (text.startsWith('/')) return tell(await runSlash(text, desk(session)))
      const turn = await working((signal) => (session as Session).agent.send(text, { signal }))
      say(turnLines(turn, state.isVerbose))
    },
    interrupt() {
      if (stop) {
        stop.abort()
        change({ hint: 'Stopped.' })
      } else if (isLeaving) end()
      else {
        isLeaving = true
        change({ hint: 'Press Ctrl-C again to end the session; it is kept.' })
      }
    },
    quit: () => end(),
    onEnd(listener) {
      end = listener
    },
    notify: (message) => say([{ kind: 'notice', text: message }]),
  }
}

/** Commands that a line begins like. */
export function slashHint(text: string): string {
  if (!/^\/\S*$/.test(text)) return ''
  const found = slashes.filter(({ name }) => `/${name}`.startsWith(text))
  return found.map(({ name, about }) => `/${name}: ${about}`).join(' · ')
}

function detailOf(input: unknown): string {
  const fields = Object.entries((input ?? {}) as object)
  const lines = fields.map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return lines.join('\n').slice(0, 1500)
}

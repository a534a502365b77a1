// A chat with an agent: turns, commands and questions. The view only renders its state. Independent of a terminal.
import type { AgentEvent } from '@toolshelf/agent'
import type { PermissionAnswer, PermissionQuestion } from '@toolshelf/agent/internal'
import type { PriceTable } from '@toolshelf/core/internal'
import type { AgentSession } from '../session.ts'
import { type ChatState, type ChatStore, createChatStore } from './chat-state.ts'
import { type CommandContext, isCommand, runSlash } from './commands.ts'
import { withLabel } from './output-line.ts'
import { type Answer, createQuestions, type Questions } from './questions.ts'
import { resumedItems, watchServers } from './servers.ts'
import { finalItems } from './settle.ts'
import { Spending } from './spending.ts'
import { applyEvent, newTurn, pauseWhileAsking, spentItem, type TurnState, withAside } from './turn.ts'
import type { TypedLines } from './typed-lines.ts'

/** A chat, as the view and the command use it. */
export type Chat = {
  readonly state: () => ChatState
  readonly subscribe: (listener: () => void) => () => void
  /** Sets the session once it is open: messages sent earlier have waited for it. */
  readonly attach: (session: AgentSession) => void
  /** Asks the user about a call. */
  readonly ask: (question: PermissionQuestion) => Promise<PermissionAnswer>
  /** Sends a message or a command. While a turn runs, accepts only commands that do not change the conversation. */
  readonly send: (line: string) => Promise<void>
  /** Stops the turn; if none is running, asks for confirmation and then exits. */
  readonly interrupt: () => void
  /** The user continues: clears the remark and a first Ctrl-C. */
  readonly stay: () => void
  /** Reports that a line must wait for the end of the turn. */
  readonly wait: (line: string) => void
  readonly decide: (answer: Answer) => void
  readonly quit: () => void
  /** Shows a message from servers or the disk. */
  readonly notify: (message: string) => void
  /** Earlier input lines, oldest first. */
  readonly typed: () => readonly string[]
}

/** Hint until the session is open. */
export const STARTING = 'Starting …'
const HINT = '/help shows the commands'
const LEAVING = 'Press Ctrl-C again to end the session; it is saved.'

type ChatOptions = {
  readonly welcome: readonly string[]
  readonly directory: string
  readonly typedLines: TypedLines
  readonly prices: PriceTable
}

/** Creates a chat without a session; `attach` sets it. */
export function createChat(options: ChatOptions): Chat {
  return new OpenChat(options)
}

class OpenChat implements Chat {
  readonly #options: ChatOptions
  readonly #store: ChatStore
  readonly #spending: Spending
  readonly #questions: Questions
  readonly #session: Promise<AgentSession>
  #open: (session: AgentSession) => void = () => {}
  /** Stops the running turn. */
  #stop: AbortController | undefined
  #lastRequest: object | undefined
  #unwatch = () => {}

  constructor(options: ChatOptions) {
    this.#options = options
    this.#store = createChatStore({
      items: options.welcome.map((text) => ({ kind: 'welcome', text })),
      turn: undefined,
      asking: undefined,
      isVerbose: false,
      hint: STARTING,
      remark: undefined,
      waiting: undefined,
      servers: '',
      status: undefined,
      isOver: false,
    })
    this.#spending = new Spending(options.prices)
    this.#questions = createQuestions((asking) => {
      const { turn } = this.state()
      this.#store.change({ asking, turn: turn && pauseWhileAsking(turn, asking !== undefined) })
    })
    this.#session = new Promise<AgentSession>((resolve) => {
      this.#open = resolve
    })
  }

  // Arrow functions, because the view passes these on without their object.
  readonly state = () => this.#store.state()
  readonly subscribe = (listener: () => void) => this.#store.subscribe(listener)
  readonly ask = (question: PermissionQuestion) => this.#questions.ask(question)
  readonly decide = (answer: Answer) => this.#questions.decide(answer)
  readonly notify = (message: string) => this.#store.notify([message], 'notice')
  readonly typed = () => this.#options.typedLines.read()

  readonly attach = (session: AgentSession) => {
    const { change, notify, reportServers, say, joinServers } = this.#store
    if (this.state().isOver) return
    notify([withLabel('Folder', this.#options.directory, 9), withLabel('Session', session.file, 9)])
    say(resumedItems(session.agent.messages))
    joinServers()
    this.#spending.attach(session)
    change({ hint: HINT, status: this.#spending.ofSession() })
    this.#unwatch = watchServers(session.host, {
      show: (servers) => change({ servers }),
      notify: (line) => reportServers('output', line),
      warn: (text) => reportServers('notice', text),
    })
    this.#open(session)
  }

  readonly send = async (line: string) => {
    const text = line.trim()
    this.#options.typedLines.keep(line)
    this.#store.say([{ kind: 'user', text }])
    if (isCommand(text)) await this.#command(text)
    else await this.#working((signal) => this.#converse(text, signal))
  }

  readonly interrupt = () => {
    if (this.#stop) {
      this.#stop.abort()
      this.#store.change({ remark: 'Stopping …' })
    } else if (this.state().remark === LEAVING) this.quit()
    else this.#store.change({ remark: LEAVING })
  }

  readonly wait = (line: string) =>
    this.#store.change({
      remark: isCommand(line)
        ? 'This command cannot run during a turn: press Enter when the turn ends, or Ctrl-C to stop it.'
        : 'A turn is running: press Enter when it ends, or Ctrl-C to stop it.',
    })

  readonly stay = () => {
    if (this.state().remark !== undefined && !this.#stop?.signal.aborted)
      this.#store.change({ remark: undefined })
  }

  readonly quit = () => {
    const { isOver, turn } = this.state()
    if (isOver) return
    this.#stop?.abort()
    this.#unwatch()
    if (turn) this.#close(withAside(turn, { kind: 'notice', text: 'Stopped.' }), { isOver: true })
    else this.#store.change({ isOver: true })
  }

  /** Runs a turn, or another task that can be stopped. */
  async #working(work: (signal: AbortSignal) => AsyncIterable<AgentEvent>): Promise<void> {
    this.#stop = new AbortController()
    this.#store.change({ turn: newTurn(), remark: undefined })
    try {
      for await (const event of work(this.#stop.signal)) this.#applyEvent(event)
    } catch (error) {
      this.#store.notify([(error as Error).message], 'notice')
    }
    this.#stop = undefined
    const { turn } = this.state()
    if (turn) this.#close(turn)
  }

  #applyEvent(event: AgentEvent): void {
    if (event.type === 'request') this.#lastRequest = event.sent.request
    if (event.type === 'compacted') this.#lastRequest = undefined
    this.#spending.follow(event)
    if (event.type === 'reply') this.#store.change({ status: this.#spending.ofSession() })
    const { turn } = this.state()
    if (turn) this.#store.update(applyEvent(turn, event))
  }

  /** Ends the turn and shows its outcome once. */
  #close(turn: TurnState, next: Partial<ChatState> = {}): void {
    const { items, isVerbose } = this.state()
    const said = finalItems(turn.parts, isVerbose)
    this.#store.change({
      items: [...items, ...said, spentItem(turn, this.#spending.ofTurn())],
      turn: undefined,
      remark: undefined,
      status: this.#spending.ofSession(),
      ...next,
    })
    this.#spending.endTurn()
  }

  async *#converse(text: string, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    yield* (await this.#session).agent.send(text, { signal })
  }

  async #command(text: string): Promise<void> {
    const { notify, change } = this.#store
    try {
      notify(await runSlash(text, this.#commandContext(await this.#session)))
      change({ status: this.#spending.ofSession() })
    } catch (error) {
      notify([(error as Error).message], 'notice')
    }
  }

  #commandContext(session: AgentSession): CommandContext {
    const { change } = this.#store
    return {
      session,
      directory: this.#options.directory,
      lastRequest: () => this.#lastRequest,
      isVerbose: () => this.state().isVerbose,
      setVerbose: (isVerbose) => change({ isVerbose }),
      waiting: async (text, work) => {
        change({ waiting: text })
        try {
          return await work()
        } finally {
          change({ waiting: undefined })
        }
      },
      compact: async () => {
        if (this.state().turn)
          throw new Error('A turn has started in the meantime; repeat the command when it ends.')
        await this.#working((signal) => session.agent.compact({ signal }))
      },
      quit: this.quit,
    }
  }
}

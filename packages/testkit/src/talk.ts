// A conversation as a host holds it, every request of which is checked by the oracle.

import {
  createShelf,
  type Prepared,
  type Shelf,
  type ShelfOptions,
  type Tool,
  validateRequest,
  visibleTools,
} from '../../../test/doors.ts'

export const MODEL = 'claude-opus-4-6'
export const BOUND_MODEL = 'claude-opus-5-5'
export const OLD_MODEL = 'claude-3-5-haiku-20241022'

// biome-ignore lint/suspicious/noExplicitAny: tests look into blocks freely
export type Loose = any

/** A shelf that hears nothing of the machine it runs on. */
export function quietShelf(options: ShelfOptions = {}): Shelf {
  return createShelf({ environment: {}, notify: () => {}, rank: 'classic', ...options })
}

export function builtIn(name: string, more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `${name} does its work`,
    input_schema: { type: 'object', properties: {} },
    ...more,
  }
}

export function mcp(server: string, name: string, more: Partial<Tool> = {}): Tool {
  return { ...builtIn(name, { description: `${name} of ${server}` }), server, ...more }
}

/** The four tools of the documents' worked example. */
export const exampleTools: readonly Tool[] = [
  mcp('slack', 'send_message', { description: '' }),
  mcp('slack', 'list_channels', { description: '' }),
  mcp('github', 'create_issue', { description: '' }),
  mcp('email', 'send_email', { description: '' }),
]

export class Talk {
  readonly shelf: Shelf
  model: string
  messages: Loose[] = []
  last: Prepared<Loose> | undefined
  #calls = 0

  constructor(shelf: Shelf, model = MODEL) {
    this.shelf = shelf
    this.model = model
  }

  user(content: Loose = 'go on'): this {
    this.messages.push({ role: 'user', content })
    return this
  }

  assistant(content: Loose = 'done'): this {
    this.messages.push({ role: 'assistant', content })
    return this
  }

  /** Prepares the next request and throws when the API would refuse it. */
  async prepare(more: object = {}): Promise<Prepared<Loose>> {
    const prepared = await this.shelf.prepare({
      model: this.model,
      max_tokens: 100,
      messages: this.messages,
      ...more,
    })
    const betas = (prepared.headers['anthropic-beta'] ?? '').split(',').filter((beta) => beta !== '')
    const error = validateRequest(JSON.parse(JSON.stringify(prepared.request)), { betas })
    if (error) throw new Error(error.body.error.message)
    this.last = prepared
    return prepared
  }

  /** The model searches, and the host answers: a whole turn without the next request. */
  async search(query: string, siblings: Loose[] = []): Promise<Loose> {
    const call = this.call('ToolSearch', { query })
    this.assistant([call])
    const result = await this.shelf.answer(call)
    this.user([result, ...siblings])
    return result
  }

  /** The model calls a tool, and the host answers with text. */
  run(name: string, input: Loose = {}, output = 'fine'): this {
    const call = this.call(name, input)
    this.assistant([call])
    return this.user([this.shelf.result(call, output)])
  }

  call(name: string, input: Loose = {}): Loose {
    this.#calls++
    return { type: 'tool_use', id: `toolu_${this.#calls}`, name, input }
  }

  /** What the model sees of tools in the last request. */
  get visible(): string[] {
    return visibleTools(this.last?.request)
  }

  get sentTools(): string[] {
    return (this.last?.request.tools ?? []).map(({ name }: Loose) => name)
  }
}

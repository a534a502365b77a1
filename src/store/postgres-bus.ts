// Passes messages between replicas by LISTEN and NOTIFY, on a separate connection. Stores a message that is too long for
// NOTIFY in a row.
import { createHash } from 'node:crypto'
import { Client, type ClientConfig, type Notification, type Pool, type QueryConfig } from 'pg'
import { createChannels } from './channels.ts'
import { checkRegularly, createLink, type Link } from './link.ts'
import { fromText, toText } from './postgres-text.ts'
import { StoreError } from './types.ts'

/** Options of `createPostgresBus`. */
export type PostgresBusOptions = {
  readonly config: ClientConfig
  readonly pool: Pool
  readonly schema: string
  readonly label: string
  readonly timeoutMs: number
  /** Resolves when the tables exist. */
  readonly prepare: () => Promise<void>
}

/** Longest payload in bytes; Postgres refuses 8,000. */
const MAX_PAYLOAD_BYTES = 7900
/** Messages of one channel that may wait behind a long one. */
const MAX_WAITING = 10_000

/** First character of a payload: the message itself follows, or the id of its row. */
const TEXT = 't'
const ROW = 'r'

/** Creates the bus, which connects at its first use. */
export function createPostgresBus(options: PostgresBusOptions) {
  const { pool, schema } = options
  /** Channels by their names in Postgres. */
  const nameByIdentifier = new Map<string, string>()
  const queues = createQueues(receive, () => channels.reportGap())

  const link: Link<Client> = createLink({
    ...options,
    open,
    onReopened: () => channels.reportGap(),
  })
  /**
   * Runs statements one after the other, which keeps messages in order; one connection runs only one at a time anyway.
   */
  const run = createTurns(link, options.timeoutMs)
  const stopChecks = checkRegularly(link, () => run('select 1'))
  const channels = createChannels({
    async join(name) {
      await options.prepare()
      nameByIdentifier.set(identifierOf(schema, name), name)
      await run(`listen ${identifierOf(schema, name)}`)
    },
    async leave(name) {
      nameByIdentifier.delete(identifierOf(schema, name))
      if (link.current()) await run(`unlisten ${identifierOf(schema, name)}`)
    },
  })

  async function open(signal: AbortSignal, onLost: (error: unknown) => void): Promise<Client> {
    const client = new Client(options.config)
    client.on('error', onLost)
    client.on('end', () => onLost(new Error('the connection was closed')))
    client.on('notification', ({ channel, payload }: Notification) => {
      const name = nameByIdentifier.get(channel)
      if (name !== undefined && payload !== undefined) queues.push(name, payload)
    })
    signal.addEventListener('abort', () => client.connection.stream.destroy(), { once: true })
    await client.connect()
    const statements = channels.names().map((name) => {
      nameByIdentifier.set(identifierOf(schema, name), name)
      return `listen ${identifierOf(schema, name)}`
    })
    // One simple query, because a replica may listen to thousands of channels.
    if (statements.length > 0) await client.query(statements.join(';'))
    return client
  }

  async function receive(name: string, payload: string): Promise<void> {
    const rest = payload.slice(1)
    if (payload.startsWith(TEXT)) return channels.dispatch(name, fromText(rest))
    if (!payload.startsWith(ROW)) return
    const { rows } = await pool.query<{ body: string }>(
      `select body from ${schema}.messages where id = $1::bigint`,
      [rest],
    )
    if (rows[0]) channels.dispatch(name, fromText(rows[0].body))
    else channels.reportGap()
  }

  return {
    subscribe: channels.subscribe,
    onGap: channels.onGap,
    async publish(name: string, message: string): Promise<void> {
      await options.prepare()
      const text = toText(message)
      const identifier = identifierOf(schema, name)
      const isShort = text.length < MAX_PAYLOAD_BYTES && Buffer.byteLength(text) < MAX_PAYLOAD_BYTES
      await run(
        isShort
          ? { name: 'notify', text: 'select pg_notify($1, $2)', values: [identifier, TEXT + text] }
          : { name: 'notify-row', text: notifyRow(schema), values: [identifier, text] },
      )
    },
    close(): void {
      stopChecks()
      link.close()
      channels.clear()
    },
  }
}

/** Queues messages per channel, so that those behind a long one wait until it is fetched. */
function createQueues(handle: (name: string, payload: string) => void | Promise<void>, onGap: () => void) {
  const queueByName = new Map<string, string[]>()
  async function work(name: string, queue: string[]): Promise<void> {
    for (let payload = queue[0]; payload !== undefined; payload = queue[0]) {
      try {
        await handle(name, payload)
      } catch {
        onGap()
      }
      queue.shift()
    }
    queueByName.delete(name)
  }
  return {
    push(name: string, payload: string): void {
      const queue = queueByName.get(name)
      if (queue) {
        if (queue.length < MAX_WAITING) queue.push(payload)
        else onGap()
      } else if (payload.startsWith(TEXT)) void handle(name, payload)
      else {
        const started = [payload]
        queueByName.set(name, started)
        void work(name, started)
      }
    },
  }
}

/** Returns a function that runs statements one by one, except those whose caller has given up. */
function createTurns(link: Link<Client>, timeoutMs: number) {
  let turn: Promise<unknown> = Promise.resolve()
  return (statement: string | QueryConfig): Promise<unknown> => {
    const limit = Date.now() + timeoutMs
    const done = turn.then(() => {
      if (Date.now() > limit) throw new StoreError('statements in front of this one took too long')
      return link.use((client) => client.query(statement))
    })
    turn = done.catch(() => {})
    return done
  }
}

/**
 * Returns the statement that stores and announces a long message. The store sweeps rows after slow replicas had time to
 * fetch them.
 */
function notifyRow(schema: string): string {
  return `with stored as (
    insert into ${schema}.messages (body, expires_at) values ($2, now() + interval '2 minutes') returning id
  ) select pg_notify($1, '${ROW}' || id) from stored`
}

/** Returns the name of a channel in Postgres: an identifier, which must be short. */
function identifierOf(schema: string, channel: string): string {
  return `${schema}_${createHash('sha256').update(channel).digest('hex').slice(0, 32)}`
}
